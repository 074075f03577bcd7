"""Collect the problems of a query, and raise those of many queries together."""

from collections.abc import Iterable

from weft.errors import Problem, QueryError, QueryText, Span, near_name
from weft.language.lexer import quote_name

MAX_PROBLEMS = 1000  # reported at once; whoever makes more of them is no person
MAX_SUGGESTIONS = 100  # looking for near names takes a while
_MAX_LISTED = 12


class Findings:
    """The problems found in one query so far.

    >>> findings = Findings("q")
    >>> findings.complain("unknown attribute prise", None, findings.suggest("prise", ["price", "volume"]))
    >>> findings.problems
    [Problem(message='unknown attribute prise', span=None, hint='did you mean price?', query='q')]
    """

    __slots__ = ("problems", "query")

    def __init__(self, query: str | None = None) -> None:
        self.query = query
        self.problems: list[Problem] = []

    def complain(self, message: str, span: Span | None, hint: str | None = None) -> None:
        """Note a problem."""
        self.problems.append(Problem(message, span, hint, self.query))

    def suggest(self, name: str, known: Iterable[str]) -> str | None:
        """Return a hint that gives the nearest known name, or all of them when they are few."""
        if len(self.problems) >= MAX_SUGGESTIONS:
            return None
        names = sorted(known)
        close = near_name(name, names)
        if close is not None:
            return f"did you mean {quote_name(close)}?"
        if not names or len(names) > _MAX_LISTED:
            return None
        return ("there are " if len(names) > 1 else "there is only ") + ", ".join(map(quote_name, names))


def raise_together(problems: Iterable[Problem], source: str | QueryText, origin: str) -> None:
    """Raise the problems, if any, in the order of the text, each once.

    >>> raise_together([], "", "<query>")
    """
    ordered = sorted(dict.fromkeys(problems), key=lambda problem: problem.span.start if problem.span else -1)
    if len(ordered) > MAX_PROBLEMS:
        more = Problem(f"there are more than {MAX_PROBLEMS} problems; the rest is not shown")
        ordered = [*ordered[:MAX_PROBLEMS], more]
    if ordered:
        raise QueryError(ordered, source, origin)
