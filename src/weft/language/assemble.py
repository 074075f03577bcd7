"""Put the parsed clauses of one query together, checking what concerns more than one clause."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.errors import Problem, Span, near_name
from weft.expressions import Aggregate, Attribute, Equivalence, Expression, conjuncts
from weft.language.bare_names import missing_variable
from weft.language.columns import check_column_names, name_columns
from weft.language.findings import Findings, Notes
from weft.language.lexer import quote_name
from weft.language.pattern_rules import WrittenGroupKey
from weft.language.printer import expression_to_text
from weft.language.scope import variables_in
from weft.pattern.nodes import Event, Query
from weft.pattern.policies import Policy
from weft.tree import transform_up

CONDITIONS = ("WHERE", "ON")


class QueryDraft(Findings):
    """What is known of a query while its clauses are read, and the problems found in them."""

    def __init__(self) -> None:
        super().__init__()
        self.clauses: dict[str, Any] = {}
        self.events: list[Event] = []
        self.without_variable: list[Attribute | Aggregate] = []
        self.maybe_texts: list[Attribute] = []
        self.chains: dict[int, list[Expression]] = {}

    def add_clause(self, keyword: str, value: Any, notes: Notes) -> None:
        """Keep the value of a clause and what was noted beside it."""
        self.clauses[keyword] = value
        self.problems += notes.problems
        for number in notes.too_large:
            self.complain("this number is too large", number.span)
        if keyword == "PATTERN":
            self.events = notes.events
            self.problems += _check_missing_variables(notes.events, notes.events_without_variable)
        self.problems += _check_equivalences(keyword, value, notes.equivalences)
        self.without_variable += notes.without_variable
        if keyword in CONDITIONS:
            self.maybe_texts += notes.maybe_texts
        self.chains |= notes.chains


def assemble_query(draft: QueryDraft, name: str, span: Span) -> Query | None:
    """Return the query of a draft, or None when it has no pattern; problems are added to the draft."""
    clauses = draft.clauses
    if clauses.get("PATTERN") is None:
        return None
    where, keys = clauses.get("WHERE"), clauses.get("GROUP") or ()
    having = clauses.get("HAVING")
    query = Query(
        name,
        clauses["PATTERN"],
        () if where is None else conjuncts(where),
        clauses.get("WITHIN"),
        clauses.get("PARTITION") or (),
        tuple(clauses.get("RETURN") or ()),
        span,
        clauses.get("SLIDE"),
        tuple(dict.fromkeys(key.name for key in keys)),
        _policy(clauses),
        () if having is None else conjuncts(having),
    )
    if draft.without_variable:
        query = _resolve_missing_variables(query, draft)
    query = name_columns(query)
    draft.problems += check_column_names(query.returns, is_trend=query.is_trend)
    draft.problems += _check_group(keys, draft.events)
    return query


def _policy(clauses: Mapping[str, Any]) -> Policy:
    return Policy(
        clauses.get("STRATEGY"),
        clauses.get("AFTER"),
        clauses.get("PREFER") is not None,
        clauses.get("SUPPRESS"),
        clauses.get("TIMEOUTS") is not None,
    )


def _check_group(keys: Sequence[WrittenGroupKey], events: Sequence[Event]) -> Iterator[Problem]:
    """Yield a problem for each variable of GROUP BY that is none: all events agree, whichever is named."""
    variables = {event.variable for event in events}
    for key in keys:
        if key.variable is not None and key.variable not in variables:
            close = near_name(key.variable, variables)
            hint = f"did you mean {quote_name(close)}?" if close else f"write {quote_name(key.name)} alone"
            yield Problem(f"unknown variable {quote_name(key.variable)}", key.span, hint)


def _check_missing_variables(events: Sequence[Event], unnamed: Sequence[Event]) -> Iterator[Problem]:
    counts = Counter(event.type for event in events)
    for event in unnamed:
        if counts[event.type] > 1:
            shown = quote_name(event.type)
            message = f"the type {shown} occurs {counts[event.type]} times, so each needs a variable"
            yield Problem(message, event.span, f"write {shown} {event.type[:1].lower()}1")


def _check_equivalences(keyword: str, value: Any, equivalences: Sequence[Equivalence]) -> Iterator[Problem]:
    if not equivalences:
        return
    allowed = {id(part) for part in conjuncts(value)} if keyword in CONDITIONS else set()
    for equivalence in equivalences:
        if id(equivalence) not in allowed:
            shown = expression_to_text(equivalence)
            message = f"{shown} may only stand by itself in WHERE, joined to the rest with AND"
            yield Problem(message, equivalence.span)


def _resolve_missing_variables(query: Query, draft: QueryDraft) -> Query:
    """Give attributes written without a variable the one they can only belong to, or complain."""
    variables = {event.variable for event in draft.events}
    if len(variables) == 1:
        (only,) = variables
        unsettled = [mention for mention in draft.without_variable if mention.name == only]
        query = transform_up(query, lambda node: _with_variable(node, only))
    else:
        settled = {id(name) for name in draft.maybe_texts if name.name not in variables}
        query = _with_first_event(query, settled)
        unsettled = [mention for mention in draft.without_variable if id(mention) not in settled]
    draft.problems += (missing_variable(mention, variables) for mention in unsettled)
    return query


def _with_variable(node: Any, variable: str) -> Any:
    if isinstance(node, Attribute | Aggregate) and not node.variable:
        return replace(node, variable=variable)
    return node


def _with_first_event(query: Query, settled: set[int]) -> Query:
    """Let bare attributes of GROUP BY in what is said of results be those of the first event: all agree."""
    first = next((own.event.variable for own in variables_in(query.pattern) if not own.negations), None)
    if first is None or not query.group_by:
        return query

    def owned(node: Any) -> Any:
        match node:
            case Attribute(variable="", place="each", name=name) if name in query.group_by:
                settled.add(id(node))
                return replace(node, variable=first)
        return node

    columns = tuple(transform_up(column, owned) for column in query.returns)
    having = tuple(transform_up(predicate, owned) for predicate in query.having)
    return replace(query, returns=columns, having=having, policy=transform_up(query.policy, owned))
