"""Collect the problems of a query, in its text and in its meaning, and raise those of many together."""

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lark import Token

from weft.errors import Problem, QueryError, QueryText, Span, near_name
from weft.expressions import Aggregate, Attribute, Equivalence, Expression, Literal
from weft.language.lexer import quote_name
from weft.pattern.nodes import Event

MAX_PROBLEMS = 1000  # reported at once; whoever makes more of them is no person
MAX_SUGGESTIONS = 100  # looking for near names takes a while
_MAX_LISTED = 12


class Findings:
    """The problems found in one query so far.

    >>> findings = Findings("q")
    >>> findings.complain("unknown attribute prise", None, findings.suggest("prise", ["price", "volume"]))
    >>> findings.problems
    [Problem(message='unknown attribute prise', span=None, hint='did you mean price?', query='q', first=None)]
    """

    def __init__(self, query: str | None = None) -> None:
        self.query = query
        self.problems: list[Problem] = []

    def complain(self, message: str, span: Span | None, hint: str | None = None) -> None:
        """Note a problem."""
        self.note(Problem(message, span, hint))

    def note(self, problem: Problem) -> None:
        """Note a problem as one of this query."""
        self.problems.append(replace(problem, query=self.query))

    def near(self, word: str, known: Iterable[str]) -> str | None:
        """Return the known word nearest to one that is not known."""
        return near_name(word, known) if len(self.problems) < MAX_SUGGESTIONS else None

    def suggest(self, name: str, known: Iterable[str]) -> str | None:
        """Return a hint that gives the nearest known name, or all of them when they are few."""
        names = sorted(known)
        close = self.near(name, names)
        if close is not None:
            return f"did you mean {quote_name(close)}?"
        if not 0 < len(names) <= _MAX_LISTED or len(self.problems) >= MAX_SUGGESTIONS:
            return None
        return ("there are " if len(names) > 1 else "there is only ") + ", ".join(map(quote_name, names))


class Notes(Findings, threading.local):
    """What the rules of the grammar note beside the tree they build: problems and open questions.

    They are those of the clause being parsed; every thread has its own.
    """

    def __init__(self) -> None:
        self.start_clause()

    def start_clause(self) -> None:
        """Forget the notes of the clause before."""
        super().__init__()
        self.events: list[Event] = []
        self.events_without_variable: list[Event] = []
        self.without_variable: list[Attribute | Aggregate] = []
        self.maybe_texts: list[Attribute] = []
        self.equivalences: list[Equivalence] = []
        self.too_large: list[Literal] = []
        self.chains: dict[int, list[Expression]] = {}  # of CCL, by the id of the expression


def span_of(first: Any, last: Any) -> Span:
    """Return the span from one part of a rule to another; a part is a token or a node with a span."""
    start: Any = first.start_pos if type(first) is Token else first.span.start
    end: Any = last.end_pos if type(last) is Token else last.span.end
    return Span(start, end)


def raise_together(problems: Iterable[Problem], source: str | QueryText, origin: str) -> None:
    """Raise the problems, if any, in the order of the text, each once.

    >>> raise_together([], "", "<query>")
    """
    distinct = {(problem.message, problem.span or problem.query): problem for problem in problems}
    ordered = sorted(distinct.values(), key=lambda problem: problem.span.start if problem.span else -1)
    if len(ordered) > MAX_PROBLEMS:
        more = Problem(f"there are more than {MAX_PROBLEMS} problems; the rest is not shown")
        ordered = [*ordered[:MAX_PROBLEMS], more]
    if ordered:
        raise QueryError(ordered, source, origin)
