"""Words of other languages of patterns, and how ours says the same."""

from collections.abc import Sequence
from itertools import pairwise

from lark import Token

from weft.language.lexer import quote_name

_SEQUENCE = "write SEQ(A a, B b) for A followed by B"
_STRICT = "write SEQ(A a, B b) and STRATEGY STRICT for events with no other in between"
_ABSENT = "write NOT in the pattern, as in SEQ(A a, NOT B b, C c)"
_ALTERNATIVES = "write OR(A a, B b) for any one of them"
_ALL = "write AND(A a, B b) for all of them, in any order"
_CONDITION = "write conditions in WHERE, after the pattern, as in WHERE a.x > 3"
_COLUMNS = "write RETURN a.x AS x to show values"
_WINDOW = "write WITHIN 10 minutes after the pattern, for the time from the first event to the last"
_REPEATED = "write A+ a, A{3} a or A{3,} a for a list of events"
_EVERY = "leave out EVERY: a match may begin with every event that fits; AFTER MATCH SKIP says otherwise"
_ORDER = "leave out ORDER BY: events are in the order of their time, as SEQ wants them"
_TEXT = "write a.x LIKE '%text%': % is any run of characters, _ is one"
_WHOLE = (
    "write PATTERN SEQ(A a, B b), then WHERE for the conditions (DEFINE there), WITHIN, and RETURN (MEASURES)"
)
_NOW = "there is no current time: compare events with each other, or with TIMESTAMP '...'"
_MEANT = {
    "after": "AFTER MATCH SKIP is the clause; that b is after a is said by SEQ(A a, B b), how soon by WITHIN",
    "match_recognize": _WHOLE,
    "matchrecognize": _WHOLE,
    "define": _CONDITION,
    "measures": _COLUMNS,
    "emit": _COLUMNS,
    "select": _COLUMNS,
    "output": _COLUMNS,
    "subset": "write OR(A a, B b) for events of one of several types",
    "followedby": f"{_SEQUENCE}; STRATEGY NEXT takes the next that fits, as followedBy does",
    "followed": _SEQUENCE,
    "followed_by": _SEQUENCE,
    "followedbyany": f"{_SEQUENCE}; every choice is a match unless a STRATEGY is given",
    "then": _SEQUENCE,
    "next": _STRICT,
    "notfollowedby": _ABSENT,
    "notnext": _ABSENT,
    "without": _ABSENT,
    "absent": _ABSENT,
    "every": _EVERY,
    "begin": _SEQUENCE,
    "sequence": _SEQUENCE,
    "from": f"a query begins with PATTERN (or QUERY name); {_SEQUENCE}",
    "on": f"a query begins with PATTERN (or QUERY name); {_SEQUENCE}",
    "any": _ALTERNATIVES,
    "either": _ALTERNATIVES,
    "one_of": _ALTERNATIVES,
    "all": _ALL,
    "permute": _ALL,
    "times": _REPEATED,
    "oneormore": _REPEATED,
    "timesormore": _REPEATED,
    "repeat": _REPEATED,
    "greedy": "write STRATEGY NEXT and PREFER LONGEST for a run that is taken whole",
    "consecutive": _STRICT,
    "having": "write it in WHERE too, as in WHERE COUNT(l) >= 3",
    "if": _CONDITION,
    "when": _CONDITION,
    "filter": _CONDITION,
    "such": _CONDITION,
    "with": f"{_CONDITION}; {_WINDOW}",
    "for": _WINDOW,
    "in": _WINDOW,
    "during": _WINDOW,
    "timeframe": _WINDOW,
    "maxspan": _WINDOW,
    "order": _ORDER,
    "sort": _ORDER,
    "limit": "leave out LIMIT, and take as many rows of the result as you want",
    "contains": _TEXT,
    "startswith": _TEXT,
    "endswith": _TEXT,
    "matches": _TEXT,
    "rlike": _TEXT,
    "ilike": _TEXT,
    "regexp": _TEXT,
    "similar": _TEXT,
}
_OPERATORS = frozenset(  # that stand where SEQ and AND do, before parentheses
    {
        *("followedby", "followed_by", "followedbyany", "next", "notfollowedby", "notnext", "every", "then"),
        *("sequence", "any", "either", "one_of", "all", "permute", "times", "repeat", "oneormore", "begin"),
    }
)
_IN_CONDITIONS = frozenset(
    ("contains", "startswith", "endswith", "matches", "rlike", "ilike", "regexp", "similar")
)
_BETWEEN_CLAUSES = frozenset(  # in a condition these may be what is said otherwise
    {
        *("after", "match_recognize", "define", "measures", "emit", "select", "output", "having", "if"),
        *("when", "filter", "for", "during", "order", "sort", "limit", "every"),
        *("followed", "followedby", "followedbyany", "then"),
    }
)
_SIGNS = frozenset({"MINUS", "DOT", "DIVIDE"})  # that may stand in a type: `log-in`, `acme.Login`
_FUNCTIONS = {
    "prev": "of a list, l[i-1].x is the value before l[i].x",
    "lag": "of a list, l[i-1].x is the value before l[i].x",
    "lead": "of a list, l[i].x is the value after l[i-1].x",
    "datediff": "times subtract to durations, as in b.ts - a.ts > 5 minutes",
    "timestampdiff": "times subtract to durations, as in b.ts - a.ts > 5 minutes",
    "timediff": "times subtract to durations, as in b.ts - a.ts > 5 minutes",
    "upper": "there are no functions of texts: put the value in a column first",
    "lower": "there are no functions of texts: put the value in a column first",
    "substring": "there are no functions of texts: compare with LIKE, or put the value in a column first",
    "coalesce": "NULL satisfies no comparison: write a.x IS NULL OR a.x > 3",
    "now": _NOW,
    "current_timestamp": _NOW,
}


def meant_by_word(clause: str, tokens: Sequence[Token], place: int) -> str | None:
    """Return what to write for a word of another language, at a place of a clause or just before it.

    >>> from weft.language.lexer import tokenize
    >>> meant_by_word("PATTERN", list(tokenize("A a -> B b")), 2)
    'write SEQ(A a, B b) for A followed by B'
    """
    token = tokens[place]
    following = tokens[place + 1] if place + 1 < len(tokens) else Token("", "")
    if (token.value, following.value) in (("-", ">"), ("=", ">"), ("|", ">")):
        return _SEQUENCE
    if clause == "AFTER MATCH SKIP":
        return _skip_meant(tokens, place)
    begins = token.type in ("DOT", "LBRACK")
    reach = 2 if clause == "PATTERN" else 1
    for word in (token, *tokens[max(0, place - reach) : place], *([following] if begins else [])):
        folded = word.value.casefold()
        if word.type in ("STRING", "NUMBER", "DOT") or not _may_mean(folded, clause):
            continue
        is_skip = folded == "after" and following.value.casefold()[:1] == "m"
        if not is_skip:
            return _MEANT[folded]
    return None


def _may_mean(word: str, clause: str) -> bool:
    """Return whether a word may be one of another language where a clause is written."""
    if clause in ("WHERE", "ON"):
        return word in _IN_CONDITIONS or word in _BETWEEN_CLAUSES
    if clause in ("PATTERN", "the text", "MATCHING"):
        return word in _MEANT and word not in _IN_CONDITIONS
    return word in _BETWEEN_CLAUSES and clause != "CREATE"


def _skip_meant(tokens: Sequence[Token], place: int) -> str | None:
    match tokens[place].value.casefold():
        case "row":
            kept = " ".join(token.value.upper() for token in tokens[max(0, place - 2) : place])
            return f"leave out ROW: AFTER MATCH SKIP {kept}"
        case "first" | "last" | "past" | "to":
            return "write AFTER MATCH SKIP NONE, TO NEXT or PAST LAST"
    return None


def meant_by_operator(word: str) -> str | None:
    """Return what to write for an operator of another language.

    >>> meant_by_operator("ALL")
    'write AND(A a, B b) for all of them, in any order'
    """
    folded = word.casefold()
    return _MEANT[folded] if folded in _OPERATORS else None


def meant_by_function(word: str) -> str | None:
    """Return what to write for a function that our language does not have.

    >>> meant_by_function("PREV")
    'of a list, l[i-1].x is the value before l[i].x'
    """
    return _FUNCTIONS.get(word.casefold())


def name_to_quote(clause: str, tokens: Sequence[Token], place: int) -> str:
    """Return how to write what stands where a name is expected, or how a name goes on that has ended.

    >>> from weft.language.lexer import tokenize
    >>> name_to_quote("QUERY", list(tokenize("brute-force")), 1)
    'write "brute-force" in double quotes, or brute_force'
    >>> name_to_quote("PATTERN", list(tokenize("SEQ(log-in a)")), 3)
    'a name that is no plain word stands in double quotes: "log-in"'
    """
    token = tokens[place]
    if token.type == "STRING":
        return f"names have no single quotes: write {quote_name(token.value)}"
    start = end = place
    while start and _goes_on(clause, tokens, start):
        start -= 1
    while end + 1 < len(tokens) and _goes_on(clause, tokens, end + 1):
        end += 1
    name = "".join(part.value for part in tokens[start : end + 1])
    if clause != "QUERY":
        return f"a name that is no plain word stands in double quotes: {quote_name(name)}"
    return _quoted_or_plain(name)


def is_inside_name(clause: str, tokens: Sequence[Token], place: int) -> bool:
    """Return whether a word goes on at a place: in a name of a query, or with a sign in a type.

    >>> from weft.language.lexer import tokenize
    >>> [is_inside_name("PATTERN", list(tokenize(text)), 1) for text in ("log-in a", "log - in", "A->B")]
    [True, False, False]
    """
    if not place or not _goes_on(clause, tokens, place):
        return False
    around = tokens[place - 1 : place + 2]
    return clause == "QUERY" or (
        tokens[place].type in _SIGNS
        and [_is_word(part) for part in around] == [True, False, True]
        and _goes_on(clause, tokens, place + 1)
    )


def _goes_on(clause: str, tokens: Sequence[Token], place: int) -> bool:
    """Return whether nothing stands between a token and the one before, and both may be of one name."""
    both = tokens[place - 1 : place + 1]
    is_name = clause == "QUERY" or all(part.type in _SIGNS or _is_word(part) for part in both)
    return is_name and both[0].end_pos == both[1].start_pos


def _is_word(token: Token) -> bool:
    return token.type == "NUMBER" or (token.type != "CALL" and token.value[:1].isalnum())


def label_to_quote(tokens: Sequence[Token], following: Token | None) -> str | None:
    """Return how to write a name with signs in it before a colon; what follows them is its last word.

    >>> from weft.language.lexer import tokenize
    >>> tokens = list(tokenize("brute-force: PATTERN A"))
    >>> label_to_quote(tokens[:2], tokens[2])
    'write QUERY "brute-force" in double quotes, or brute_force'
    """
    if following is None or following.type != "QUERY" or following.value.upper() == "QUERY":
        return None
    parts = [*tokens, following]
    if any(one.end_pos != other.start_pos for one, other in pairwise(parts)):
        return None
    return _quoted_or_plain("".join(part.value for part in parts), "QUERY ")


def _quoted_or_plain(name: str, keyword: str = "") -> str:
    plain = "".join(letter if letter.isalnum() else "_" for letter in name)
    instead = f", or {plain}" if plain != name and not plain[:1].isdigit() else ""
    return f"write {keyword}{quote_name(name)} in double quotes{instead}"
