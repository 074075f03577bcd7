"""Turn query text into the terminals of the grammar: words, numbers, quoted texts, symbols."""

import re
from collections.abc import Collection, Iterator

from lark import Token

CLAUSES = frozenset({"QUERY", "PATTERN", "WHERE", "WITHIN", "RETURN"})
OPERATOR_WORDS = frozenset({"AND", "OR", "NOT", "AS", "IS", "IN", "BETWEEN", "LIKE", "NULL", "TRUE", "FALSE"})
KEYWORDS = CLAUSES | OPERATOR_WORDS

# Words that are names unless what follows them says otherwise: `v.date`, `Seq s`, `DATE '2024-01-31'`.
_SOFT_KEYWORDS = {
    "SEQ": re.compile(r"\s*\("),
    "SOME": re.compile(r"\s*\("),
    "TIMESTAMP": re.compile(r"\s*'"),
    "DATE": re.compile(r"\s*'"),
}

# The word after `COUNT(` that is a keyword before a name, and nowhere else.
_COUNT_OF = re.compile(r"\bCOUNT\s*\(\s*$", re.IGNORECASE)
_DISTINCT = re.compile(r"DISTINCT\s+[\w\"]|DISTINCT\"", re.IGNORECASE)
_LONGEST_GAP = 60  # between COUNT and DISTINCT

# Words that start a clause where no name can stand. After `PATTERN A` one can: there what follows decides.
_LENGTH = r"\s*-?\s*\.?\d"
_SOFT_CLAUSES = {
    "SLIDE": re.compile(_LENGTH),
    "STRATEGY": re.compile(r"\s+(?:ANY|NEXT|STRICT)\b(?!\s*:)", re.IGNORECASE),
    "PREFER": re.compile(r"\s+LONGEST\b(?!\s*:)", re.IGNORECASE),
    "SUPPRESS": re.compile(_LENGTH),
    "HAVING": re.compile(
        r"""\s*["'(\d-]|\s+(?:NOT|TRUE|FALSE|NULL)\b
          | \s+(?!(?:QUERY|PATTERN|WHERE|WITHIN|RETURN|SLIDE|GROUP|PARTITION|SUPPRESS)\b)[^\W\d]\w*
            \s*(?:[(.\[<>=!*/%+-]|(?:IN|IS|LIKE|BETWEEN|AND|OR|NOT)\b)""",
        re.IGNORECASE | re.VERBOSE,
    ),
    "TIMEOUTS": re.compile(r"(?!)"),  # nothing follows that no variable has
}
_PHRASES = frozenset({"PARTITION", "GROUP", "AFTER"})  # the first words of PARTITION BY, AFTER MATCH SKIP ...
_CLAUSE_KINDS = CLAUSES | _SOFT_CLAUSES.keys() | _PHRASES
RESERVED = KEYWORDS | frozenset(_SOFT_KEYWORDS) | frozenset(_SOFT_CLAUSES) | _PHRASES

# Words that are keywords after one other alone: STRATEGY NEXT, AFTER MATCH SKIP TO NEXT, 1 hour PER u.user.
_FOLLOWERS = {
    "STRATEGY": frozenset({"ANY", "NEXT", "STRICT"}),
    "AFTER": frozenset({"NONE", "TO", "PAST"}),
    "TO": frozenset({"NEXT"}),
    "PAST": frozenset({"LAST"}),
    "PREFER": frozenset({"LONGEST"}),
    "UNIT": frozenset({"PER"}),
    "NUMBER": frozenset({"PER"}),
}
POLICY_WORDS = frozenset[str]().union(*_FOLLOWERS.values())

# After these nothing but a clause begins with a word; after a name too, save that an event has a variable.
_COMPLETE = frozenset(
    {
        *("", "RPAR", "RBRACK", "STRING", "NUMBER", "UNIT", "NULL", "TRUE", "FALSE"),
        *("ANY", "NEXT", "STRICT", "NONE", "LAST", "LONGEST", "TIMEOUTS"),
    }
)
_BEFORE_VARIABLE = frozenset({"NAME", "PLUS", "STAR", "QUESTION", "RBRACE"})

IDENTIFIER = re.compile(r"[^\W\d]\w*")

COMMENT = r"--[^\n]*|\#[^\n]*|/\*.*?\*/"
_QUOTED = r'"(?:[^"]|"")++"'


def token_pattern(special: str, symbols: str) -> re.Pattern[str]:
    """Return the pattern of a token: what is special to a language, its symbols, and what all write alike."""
    return re.compile(
        rf"""
          {special}
        | (?P<open>/\*.*)
        | (?P<call>[^\W\d]\w*(?=\s*\())
        | (?P<word>[^\W\d]\w*)
        | (?P<number>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+(?!\w))?)
        | (?P<string>'(?:[^']|'')*+')
        | (?P<quoted>{_QUOTED})
        | (?P<symbol><=|>=|!=|<>|==|{symbols})
        | (?P<bad>["'][^\n]*|.)
        """,
        re.VERBOSE | re.DOTALL,
    )


_TOKEN = token_pattern(
    rf"""
      (?P<skip>\s+|{COMMENT})
    | (?P<comment>//[^\n]*)
    | (?P<phrase>(?i:partition|group)(?:\s+|\s*-\s*)(?i:by)\b|(?i:after\s+match\s+skip)\b(?!\s*:))
    | (?P<label>[^\W\d]\w*(?=\s*:))
    """,
    symbols=r"[=<>+\-*/%?!()\[\]{},.]",
)

SYMBOLS = {
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "DIVIDE",
    "%": "DIVIDE",
    "?": "QUESTION",
    "!": "BANG",
    "(": "LPAR",
    ")": "RPAR",
    "[": "LBRACK",
    "]": "RBRACK",
    "{": "LBRACE",
    "}": "RBRACE",
    ",": "COMMA",
    ".": "DOT",
    "&": "AMPERSAND",
    "&&": "AMPERSAND",
    "|": "PIPE",
    "||": "PIPE",
    ":": "COLON",
} | dict.fromkeys(("=", "==", "!=", "<>", "<", "<=", ">", ">="), "COMPARE")

_KIND_OF_NAME = {"word": "NAME", "call": "CALL", "label": "NAME"}

_CLAUSE_WORD = (
    r"(?:(?:PATTERN|WHERE|WITHIN|RETURN|SLIDE)\b|(?:GROUP|PARTITION)[\s-]|AFTER\s+MATCH\s+SKIP\b"
    r"|STRATEGY\s+(?:ANY|NEXT|STRICT)\b|PREFER\s+LONGEST\b|SUPPRESS\s+(?=\d))(?!\s*\.)"
)
_LABEL = rf"[^\W\d]\w*\s*:\s*{_CLAUSE_WORD}"
_BETWEEN = rf"(?:\s+|//[^\n]*|{COMMENT})*+"
_BEFORE_CLAUSE = re.compile(rf"[^\W\d]\w*\s*:{_BETWEEN}{_CLAUSE_WORD}", re.IGNORECASE | re.DOTALL)
_NAMED_QUERY = re.compile(
    rf"QUERY\b{_BETWEEN}(?P<name>[^\W\d]\w*|{_QUOTED})(?P<clause>{_BETWEEN}{_CLAUSE_WORD})?",
    re.IGNORECASE | re.DOTALL,
)
_QUERY_LINE = re.compile(rf"\n[^\S\n]*(?:QUERY\s|CREATE\s|SELECT\s|{_LABEL})", re.IGNORECASE)


def tokenize(text: str, start: int = 0, *, doubt_long_texts: bool = False) -> Iterator[Token]:
    """Yield the terminals of a query text from `start` on; what is none of them becomes a token of type BAD.

    A label that starts a query, `name:`, gives the same terminals as QUERY name. With
    `doubt_long_texts`, a quoted text in which a line starts a query counts as one whose closing
    quote is missing.

    >>> [(token.type, token.value) for token in tokenize("WITHIN 10 min -- or so")]
    [('WITHIN', 'WITHIN'), ('NUMBER', '10'), ('UNIT', 'min')]
    """
    previous = ""
    in_pattern = False
    position = start + int(text.startswith("\ufeff", start))
    end = len(text)
    while position < end:
        for match in _TOKEN.finditer(text, position):
            group = match.lastgroup
            if group == "skip" or (group == "comment" and _starts_line(text, match.start())):
                continue
            gap = position
            start, position = match.span()
            value = match.group()
            if group == "symbol":
                kind = SYMBOLS[value]
            elif group == "comment":  # of CCL, unless something stands before it: `a.x // 2` is a mistake
                kind, value, position = "DIVIDE", "/", start + 1
            elif group == "label" and _starts_query(value, previous, text, gap, start):
                kind, position = "NAME", text.index(":", position) + 1
                yield Token("QUERY", value, start, None, None, None, None, position)
            elif group == "word" or group == "call" or group == "label":
                known = _kind_of_word(value, previous, text, position, in_pattern=in_pattern)
                kind = known or _KIND_OF_NAME[group]
            elif group == "phrase":
                kind = value.split("-")[0].split()[0].upper()
            else:
                kind, value, length = read_constant(match, doubt_long_texts=doubt_long_texts)
                position = start + length
            yield Token(kind, value, start, None, None, None, None, position)
            previous = kind
            if kind in _CLAUSE_KINDS:
                in_pattern = kind == "PATTERN"
            if position != match.end():
                break  # go on after the first line of a doubted text, the colon of a label, or a slash
        else:
            return


def read_constant(token: re.Match[str], *, doubt_long_texts: bool) -> tuple[str, str, int]:
    """Return the kind and the value of a number, a quoted text or what is no token, and its length."""
    group, text = token.lastgroup, token.group()
    if group == "number":
        return "NUMBER", text, len(text)
    if group == "bad" or group == "open":
        return "BAD", text, len(text)
    if doubt_long_texts and _QUERY_LINE.search(text):  # a line in the quotes looks like the start of a query
        return "BAD", text[: text.index("\n")], text.index("\n")
    if group == "string":
        return "STRING", text[1:-1].replace("''", "'"), len(text)
    return "NAME", text[1:-1].replace('""', '"'), len(text)


def starts_labeled_query(text: str, position: int) -> bool:
    """Return whether `name:` and a clause stand at a place of a text."""
    return _BEFORE_CLAUSE.match(text, position) is not None


def starts_named_query(text: str, position: int, keywords: Collection[str]) -> bool:
    """Return whether QUERY and a name stand at a place of a text; before a clause, a keyword is a name."""
    named = _NAMED_QUERY.match(text, position)
    return named is not None and (named["clause"] is not None or named["name"].upper() not in keywords)


def _starts_line(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip()


def _starts_query(word: str, previous: str, text: str, gap: int, start: int) -> bool:
    """Return whether a word before a colon is the label of a query: first on its line, or before a clause."""
    if word.upper() in KEYWORDS or previous in ("QUERY", "DOT", "AS"):
        return False
    if not previous or "\n" in text[gap:start]:
        return True
    return starts_labeled_query(text, start)


def _kind_of_word(word: str, previous: str, text: str, end: int, *, in_pattern: bool) -> str | None:
    """Return the kind of a word that context or the list of keywords decides, None for others."""
    if previous == "DOT" or previous == "AS":
        return "NAME"
    upper = word.upper()
    if upper in KEYWORDS:
        return upper
    if upper in _SOFT_KEYWORDS and _SOFT_KEYWORDS[upper].match(text, end):
        return upper
    if upper == "DISTINCT" and _is_distinct(text, end - len(word)):
        return upper
    if upper in _FOLLOWERS.get(previous, ()):
        return upper
    if upper in _SOFT_CLAUSES and _may_start_clause(upper, previous, text, end, in_pattern=in_pattern):
        return upper
    return "UNIT" if previous == "NUMBER" else None


def _is_distinct(text: str, start: int) -> bool:
    is_counted = _COUNT_OF.search(text, max(start - _LONGEST_GAP, 0), start)
    return is_counted is not None and _DISTINCT.match(text, start) is not None


def _may_start_clause(word: str, previous: str, text: str, end: int, *, in_pattern: bool) -> bool:
    if previous in _COMPLETE:
        return True
    if in_pattern:
        return previous in _BEFORE_VARIABLE and _SOFT_CLAUSES[word].match(text, end) is not None
    return previous == "NAME"


def quote_name(name: str, *, after_dot: bool = False) -> str:
    """Return a name as the language writes it, in double quotes where it is no plain identifier.

    >>> print(quote_name("price"), quote_name("BRK.A"), quote_name("query"))
    price "BRK.A" "query"
    """
    if IDENTIFIER.fullmatch(name) and (after_dot or name.upper() not in RESERVED):
        return name
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return a text as the language writes it, in single quotes."""
    return "'" + text.replace("'", "''") + "'"
