"""Put the parsed clauses of one query together, checking what concerns more than one clause."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from weft.errors import Problem, Span, near_name
from weft.expressions import Aggregate, Attribute, CountTrends, Equivalence, conjuncts
from weft.language.bare_names import missing_variable
from weft.language.columns import check_column_names, default_column_name
from weft.language.expression_rules import WrittenColumn
from weft.language.findings import Notes
from weft.language.lexer import quote_name
from weft.language.pattern_rules import WrittenGroupKey
from weft.language.scope import variables_in
from weft.pattern.nodes import Event, Query, ReturnColumn
from weft.tree import transform_up


@dataclass(slots=True)
class QueryDraft:
    """What is known of a query while its clauses are read."""

    clauses: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    without_variable: list[Attribute | Aggregate] = field(default_factory=list)
    maybe_texts: list[Attribute] = field(default_factory=list)

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
        if keyword == "WHERE":
            self.maybe_texts += notes.maybe_texts


def assemble_query(draft: QueryDraft, name: str, span: Span) -> Query | None:
    """Return the query of a draft, or None when it has no pattern; problems are added to the draft."""
    clauses = draft.clauses
    if clauses.get("PATTERN") is None:
        return None
    if draft.without_variable:
        _resolve_missing_variables(draft)
    where = clauses.get("WHERE")
    slide, keys = clauses.get("SLIDE"), clauses.get("GROUP") or ()
    returned = clauses.get("RETURN") or ()
    is_trend = (
        slide is not None or bool(keys) or any(type(part.expression) is CountTrends for part in returned)
    )
    columns = tuple(
        _named_column(column, position, is_trend=is_trend) for position, column in enumerate(returned, 1)
    )
    if columns:
        draft.problems += check_column_names(columns, is_trend=is_trend)
    if keys:
        draft.problems += _check_group(keys, draft.events)
    return Query(
        name,
        clauses["PATTERN"],
        () if where is None else conjuncts(where),
        clauses.get("WITHIN"),
        clauses.get("PARTITION") or (),
        columns,
        span,
        slide,
        tuple(dict.fromkeys(key.name for key in keys)),
    )


def _named_column(column: WrittenColumn, position: int, *, is_trend: bool) -> ReturnColumn:
    name = column.name
    if name is None:
        name = default_column_name(column.expression, position, is_trend=is_trend)
    return ReturnColumn(name, column.expression, column.span)


def _check_group(keys: Sequence[WrittenGroupKey], events: Sequence[Event]) -> Iterator[Problem]:
    """Yield a problem for each variable of GROUP BY that is none: all events agree, whichever is named."""
    variables = {event.variable for event in events}
    for key in keys:
        if key.variable is not None and key.variable not in variables:
            close = near_name(key.variable, variables)
            hint = f"did you mean {quote_name(close)}?" if close else f"write {quote_name(key.name)} alone"
            yield Problem(f"unknown variable {quote_name(key.variable)}", key.span, hint)


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
    allowed = {id(part) for part in conjuncts(value)} if keyword == "WHERE" and value is not None else set()
    for found in equivalences:
        if id(found) not in allowed:
            shown = "[" + ", ".join(map(quote_name, found.attributes)) + "]"
            message = f"{shown} may only stand by itself in WHERE, joined to the rest with AND"
            yield Problem(message, found.span)


def _resolve_missing_variables(draft: QueryDraft) -> None:
    """Give attributes written without a variable the one they can only belong to, or complain."""
    variables = {event.variable for event in draft.events}
    only = next(iter(variables)) if len(variables) == 1 else None
    settled = set[int]()
    if only is None:
        settled |= {id(found) for found in draft.maybe_texts if found.name not in variables}
        settled |= _resolve_group_columns(draft)
    for found in draft.without_variable:
        if id(found) not in settled and (only is None or found.name == only):
            draft.problems.append(missing_variable(found, variables))
    if only is not None:
        for keyword in ("WHERE", "RETURN"):
            if draft.clauses.get(keyword):
                draft.clauses[keyword] = _with_variable(draft.clauses[keyword], only)


def _resolve_group_columns(draft: QueryDraft) -> set[int]:
    """Let a column that is an attribute of GROUP BY be that of the first event, as all events agree on it.

    Return the ids of the attributes that were written without a variable.
    """
    names = {key.name for key in draft.clauses.get("GROUP") or ()}
    positive = (one.event.variable for one in variables_in(draft.clauses["PATTERN"]) if not one.negations)
    first = next(positive, None)
    settled = set()
    columns = draft.clauses.get("RETURN") or []
    for place, column in enumerate(columns):
        found = column.expression
        bare = type(found) is Attribute and not found.variable and found.place == "each"
        if first and bare and found.name in names:
            settled.add(id(found))
            columns[place] = column._replace(expression=replace(found, variable=first))
    return settled


def _with_variable(clause: Any, variable: str) -> Any:
    def fill(node: Any) -> Any:
        if isinstance(node, Attribute | Aggregate) and not node.variable:
            return replace(node, variable=variable)
        return node

    if isinstance(clause, list):
        return [column._replace(expression=transform_up(column.expression, fill)) for column in clause]
    return transform_up(clause, fill)
