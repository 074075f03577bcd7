"""What the rules of the grammar note down beside the tree they build: problems and open questions."""

import threading
from collections.abc import Iterable
from typing import Any

from lark import Token

from weft.errors import Problem, Span, near_name
from weft.expressions import Aggregate, Attribute, Equivalence, Literal
from weft.language.findings import MAX_SUGGESTIONS
from weft.pattern.nodes import Event


class Notes(threading.local):
    """The notes of the clause being parsed; every thread has its own."""

    def __init__(self) -> None:
        self.start_clause()

    def start_clause(self) -> None:
        """Forget the notes of the clause before."""
        self.problems: list[Problem] = []
        self.events: list[Event] = []
        self.events_without_variable: list[Event] = []
        self.without_variable: list[Attribute | Aggregate] = []
        self.maybe_texts: list[Attribute] = []
        self.equivalences: list[Equivalence] = []
        self.too_large: list[Literal] = []

    def complain(self, message: str, span: Span | None, hint: str | None = None) -> None:
        """Note a problem."""
        self.problems.append(Problem(message, span, hint))

    def near(self, word: str, known: Iterable[str]) -> str | None:
        """Return the known word nearest to one that is not known."""
        return near_name(word, known) if len(self.problems) < MAX_SUGGESTIONS else None


def span_of(first: Any, last: Any) -> Span:
    """Return the span from one part of a rule to another; a part is a token or a node with a span."""
    start: Any = first.start_pos if type(first) is Token else first.span.start
    end: Any = last.end_pos if type(last) is Token else last.span.end
    return Span(start, end)
