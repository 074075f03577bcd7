"""Put the parsed clauses of one query together, checking what concerns more than one clause."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from weft.errors import Problem, Span
from weft.expressions import Aggregate, Attribute, Equivalence, Predicate, conjuncts
from weft.language.columns import check_column_names, default_column_name
from weft.language.expression_rules import Column
from weft.language.lexer import quote_name
from weft.language.notes import Notes
from weft.language.printer import expression_to_text
from weft.pattern.nodes import Event, Query, ReturnColumn
from weft.tree import transform_up


@dataclass(slots=True)
class Draft:
    """What is known of a query while its clauses are read."""

    clauses: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    without_variable: list[Attribute | Aggregate] = field(default_factory=list)

    def add_clause(self, keyword: str, value: Any, notes: Notes) -> None:
        """Keep the value of a clause and what was noted beside it."""
        self.clauses[keyword] = value
        self.problems += notes.problems
        if notes.too_large:
            self.problems += (Problem("this number is too large", number.span) for number in notes.too_large)
        if keyword == "PATTERN":
            self.events = notes.events
            self.problems += _check_missing_variables(notes.events, notes.events_without_variable)
        if notes.equivalences:
            self.problems += _check_equivalences(keyword, value, notes.equivalences)
        self.without_variable += notes.without_variable


def assemble_query(draft: Draft, name: str, span: Span) -> Query | None:
    """Return the query of a draft, or None when it has no pattern; problems are added to the draft."""
    clauses = draft.clauses
    if clauses.get("PATTERN") is None:
        return None
    if draft.without_variable:
        _resolve_missing_variables(draft)
    where = clauses.get("WHERE")
    columns = tuple(
        _named_column(column, position) for position, column in enumerate(clauses.get("RETURN") or (), 1)
    )
    if columns:
        draft.problems += check_column_names(columns)
    return Query(
        name,
        clauses["PATTERN"],
        () if where is None else _top_level(where),
        clauses.get("WITHIN"),
        clauses.get("PARTITION", ()),
        columns,
        span,
    )


def _top_level(where: Any) -> tuple[Predicate, ...]:
    return conjuncts(where)


def _named_column(column: Column, position: int) -> ReturnColumn:
    name = column.name
    if name is None:
        name = default_column_name(column.expression, position)
    return ReturnColumn(name, column.expression, column.span)


def _check_missing_variables(events: Sequence[Event], unnamed: Sequence[Event]) -> Iterator[Problem]:
    if not unnamed:
        return
    counts = Counter(event.type for event in events)
    for event in unnamed:
        if counts[event.type] > 1:
            shown = quote_name(event.type)
            message = f"the type {shown} occurs {counts[event.type]} times, so each needs a variable"
            yield Problem(message, event.span, f"write {shown} {event.type[:1].lower()}1")


def _check_equivalences(keyword: str, value: Any, equivalences: Sequence[Equivalence]) -> Iterator[Problem]:
    allowed = {id(part) for part in _top_level(value)} if keyword == "WHERE" and value is not None else set()
    for found in equivalences:
        if id(found) not in allowed:
            shown = "[" + ", ".join(map(quote_name, found.attributes)) + "]"
            message = f"{shown} may only stand by itself in WHERE, joined to the rest with AND"
            yield Problem(message, found.span)


def _resolve_missing_variables(draft: Draft) -> None:
    """Give attributes written without a variable the only variable there is, or complain."""
    variables = {event.variable for event in draft.events}
    only = next(iter(variables)) if len(variables) == 1 else None
    for found in draft.without_variable:
        assert found.name is not None
        if only is None or found.name == only:
            draft.problems.append(_missing_variable(found, found.name, variables))
    if only is not None:
        for keyword in ("WHERE", "RETURN"):
            if draft.clauses.get(keyword):
                draft.clauses[keyword] = _with_variable(draft.clauses[keyword], only)


def _missing_variable(found: Attribute | Aggregate, name: str, variables: set[str]) -> Problem:
    shown = quote_name(name)
    if name in variables:
        example = expression_to_text(replace(found, variable=name, name="x"))
        return Problem(f"{shown} is a variable, not a value", found.span, f"name an attribute: {example}")
    example = quote_name(min(variables, default="v"))
    hint = f"say whose attribute it is: {example}.{quote_name(name, after_dot=True)}"
    return Problem(f"the attribute {shown} has no variable", found.span, hint)


def _with_variable(clause: Any, variable: str) -> Any:
    def fill(node: Any) -> Any:
        if isinstance(node, Attribute | Aggregate) and not node.variable:
            return replace(node, variable=variable)
        return node

    if isinstance(clause, list):
        return [column._replace(expression=transform_up(column.expression, fill)) for column in clause]
    return transform_up(clause, fill)
