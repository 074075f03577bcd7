"""Say in the user's words what the parser found, what it expected, and what may have been meant."""

from collections.abc import Collection, Sequence

from lark import Token

from weft.errors import Problem, Span, near_name
from weft.language.expression_rules import FUNCTIONS
from weft.language.foreign_words import is_inside_name, meant_by_word, name_to_quote
from weft.language.lexer import KEYWORDS, POLICY_WORDS, RESERVED, SYMBOLS, quote_name, quote_text

_CLAUSE_WORDS = (
    *("QUERY", "PATTERN", "WHERE", "WITHIN", "SLIDE", "PARTITION BY", "GROUP BY", "HAVING", "RETURN"),
    *("STRATEGY", "AFTER MATCH SKIP", "PREFER LONGEST", "SUPPRESS", "TIMEOUTS"),
)

_QUANTIFIERS = frozenset({"PLUS", "STAR", "QUESTION", "LBRACE"})

# Sets of terminals that a person thinks of as one thing, the most telling first.
_GROUPS: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"NAME", "NUMBER", "STRING", "CALL", "LPAR", "MINUS", "TRUE", "NOT", "LBRACK"}),
        "a predicate or a value",
    ),
    (frozenset({"NAME", "NUMBER", "STRING", "CALL", "LPAR", "MINUS", "TRUE"}), "a value"),
    (frozenset({"NAME", "SEQ", "AND", "OR", "SOME", "NOT"}), "an event type, SEQ, AND, OR, SOME or NOT"),
    (frozenset({"NAME", "BANG", "LPAR"}), "an event, '!' or '('"),
    (frozenset({"COMPARE", "IS", "IN", "LIKE", "BETWEEN"}), "a comparison"),
    (_QUANTIFIERS, "a quantifier"),
    (frozenset({"PLUS", "MINUS", "STAR", "DIVIDE"}), "an arithmetic operator"),
)
_IMPLIED = frozenset({"TIMESTAMP", "DATE", "FALSE", "NULL", "BANG", "CALL", "LPAR", "LBRACK"})

_HINTS_OF_CHARACTERS = {
    ";": 'queries need no ";" between them',
    "&": "write AND",
    "|": "write OR",
    ":": 'a ":" follows the name that starts a query, as in q1: PATTERN SEQ(A a, B b)',
}
_SHOWN = {kind: f"'{symbol}'" for symbol, kind in reversed(SYMBOLS.items())} | {
    "NAME": "a name",
    "CALL": "a function",
    "NUMBER": "a number",
    "UNIT": "a unit of time",
    "STRING": "a text in single quotes",
    "COMPARE": "a comparison",
    "$END": "the end of the clause",
    "TO": "TO NEXT",
    "PAST": "PAST LAST",
}


def describe_expected(terminals: Collection[str]) -> str:
    """Return what may come next, in words.

    >>> describe_expected({"COMMA", "RPAR"})
    "')' or ','"
    """
    left = set(terminals)
    words = []
    for group, word in _GROUPS:
        if group <= left:
            words.append(word)
            left -= group | (_IMPLIED if "NAME" in group else frozenset())
    words += sorted((_SHOWN.get(terminal, terminal) for terminal in left), key=_names_last)
    if len(words) > 1:
        return ", ".join(words[:-1]) + " or " + words[-1]
    return words[0] if words else "nothing more"


def _names_last(word: str) -> tuple[bool, str]:
    return word == _SHOWN["$END"], word


def describe_found(token: Token) -> str:
    """Return a token as the user wrote it."""
    text = token.value
    if token.type == "STRING":
        text = quote_text(text)
    elif token.type == "NAME":
        text = quote_name(text, after_dot=True)
    text = text if len(text) <= 40 else text[:37] + "..."
    return f"'{text}'" if not text[:1].isalnum() and text[:1] not in "'\"" else text


def unexpected_token(
    clause: str, tokens: Sequence[Token], place: int, expected: Collection[str], keywords: Sequence[str] = ()
) -> Problem:
    """Return the problem of a token, `tokens[place]`, that cannot come where it stands.

    `keywords` are those that a misspelling may mean, of our own language unless given.
    """
    token = tokens[place]
    span = Span(token.start_pos or 0, token.end_pos or 0)
    if token.type == "BAD":
        return bad_token(token)
    if expected == {"$END"} and clause == "WHERE":
        expected = {"AND", "OR", "$END"}  # the parser had already closed the predicate
    if clause == "PATTERN" and "NAME" not in expected:
        expected = set(expected) - _QUANTIFIERS  # after a group or a variable: legal, but hardly meant
    message = f"found {describe_found(token)} in {clause}, expected {describe_expected(expected)}"
    return Problem(message, span, _hint(clause, tokens, place, expected, keywords))


def unexpected_end(clause: str, after: Token, expected: Collection[str], following: Token | None) -> Problem:
    """Return the problem of a clause that ends too early, before `following` or the end of the text."""
    wanted = describe_expected(set(expected) - {"$END"})
    if following is not None:
        shown = describe_found(following)
        span = Span(following.start_pos or 0, following.end_pos or 0)
    else:
        shown = "the end of the text"
        span = Span(after.end_pos or 0, (after.end_pos or 0) + 1)
    hint = None
    is_in_parentheses = clause == "PATTERN" and "RPAR" in expected
    if is_in_parentheses and following is not None and following.type in ("WHERE", "WITHIN"):
        hint = f"close the parentheses first: {following.type} speaks of the whole pattern, after it"
    if following is not None and expected == {"NAME"} and following.value.upper() in KEYWORDS:
        hint = f'to use {following.value} as a name, write it in double quotes: "{following.value}"'
    return Problem(f"found {shown} in {clause}, expected {wanted}", span, hint)


def bad_token(token: Token) -> Problem:
    """Return the problem of characters that are no part of the language."""
    text, start = token.value, token.start_pos or 0
    if text.startswith('""'):
        return Problem("a name in double quotes must not be empty", Span(start, start + 2))
    if text.startswith("/*"):
        return Problem("this comment is never closed", Span(start, start + 2), "close it with */")
    if text[0] in "'\"":
        what = "text" if text[0] == "'" else "name"
        remedy = f"close it with {text[0]}; double the quote to have one inside"
        return Problem(f"this quoted {what} is never closed", Span(start, start + len(text)), remedy)
    return Problem(f"unexpected character {text!r}", Span(start, start + 1), _HINTS_OF_CHARACTERS.get(text))


def _hint(
    clause: str, tokens: Sequence[Token], place: int, expected: Collection[str], keywords: Sequence[str]
) -> str | None:
    token = tokens[place]
    is_name_expected = "NAME" in expected and clause not in ("WHERE", "RETURN", "ON", "SELECT")
    goes_on = clause in ("QUERY", "PATTERN") and is_inside_name(clause, tokens, place)
    if goes_on or (token.type in ("NUMBER", "STRING") and is_name_expected):
        return name_to_quote(clause, tokens, place)
    if (meant := meant_by_word(clause, tokens, place)) is not None:
        return meant
    for word in () if token.type == "DOT" else (token, *tokens[max(0, place - 1) : place]):
        close = _near_keyword(word, expected, keywords)
        if close:
            return f"did you mean {close} instead of {word.value}?"
    if token.type in RESERVED and expected == {"NAME"}:
        return f'to use {token.value} as a name, write it in double quotes: "{token.value}"'
    return _hint_of_clause(clause, tokens, place, expected)


def _near_keyword(token: Token, expected: Collection[str], keywords: Sequence[str]) -> str | None:
    if token.type not in ("NAME", "CALL", "UNIT") or len(token.value) < 3:
        return None
    if policy_words := sorted(POLICY_WORDS & set(expected)):
        return near_name(token.value, policy_words)
    known = [*(keywords or (*_CLAUSE_WORDS, *sorted(KEYWORDS - {"OR", "AS", "IS", "IN"})))]
    if token.type == "CALL":
        known += FUNCTIONS
    word = token.value.upper()
    begun = (phrase for phrase in known if phrase.startswith(f"{word} "))
    return next(begun, None) or near_name(token.value, [other for other in known if other != word])


def _hint_of_clause(
    clause: str, tokens: Sequence[Token], place: int, expected: Collection[str]
) -> str | None:
    token = tokens[place]
    match clause, token.type:
        case "the text", ("SEQ" | "SOME" | "AND" | "OR" | "NOT"):
            return f"a pattern follows the word PATTERN: PATTERN {token.value.upper()} ..."
        case "PATTERN", ("AS" | "COMPARE"):
            return "the variable stands right after the type: A a"
        case (("WHERE" | "ON" | "RETURN"), "BANG"):
            return "write NOT"
        case "PATTERN", "COMMA" if "$END" in expected:
            return "put the events in SEQ(...) or AND(...)"
        case "PATTERN", ("AND" | "OR"):
            return f"write {token.type}(A a, B b)"
        case "SUPPRESS", "CALL":
            return "name an attribute of a single event, as in PER u.user"
        case "PARTITION BY", "DOT":
            return "name the attribute without a variable"
        case "RETURN", "NAME":
            return f"to name the column, write AS {quote_name(token.value)}"
        case (("WHERE" | "RETURN" | "GROUP BY" | "SELECT"), "DOT"):
            return "attributes have no fields of their own; put the field in a column first"
        case "WHERE", "COMPARE":
            return "join two comparisons with AND"
        case (("WHERE" | "ON"), "COMMA"):
            return "join predicates with AND"
        case "MATCHING", ("AND" | "OR" | "NOT"):
            return "write " + {"AND": "A & B", "OR": "A | B", "NOT": "!A"}[token.type]
        case "MATCHING", "NAME" if expected == {"NUMBER"}:
            return "the interval comes first: MATCHING [10 seconds: A, B]"
    return None
