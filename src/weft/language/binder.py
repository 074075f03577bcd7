"""Check queries against a schema and give every expression its type."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, cast

from weft.errors import Problem, Span
from weft.expressions import (
    OF_SINGLE_EVENTS,
    Aggregate,
    Attribute,
    CountTrends,
    Equivalence,
    Expression,
    Predicate,
)
from weft.language.bare_names import missing_variable, read_names_as_texts
from weft.language.builder import QueryBuilder, as_query
from weft.language.checks.order import check_order
from weft.language.checks.pattern import check_pattern
from weft.language.checks.policies import check_policy, check_suppressed_column, refuse_suppressed
from weft.language.checks.trends import (
    check_single_events,
    check_trend_expression,
    check_trend_pattern,
    check_trend_predicate,
    check_trend_result,
    check_trend_windows,
)
from weft.language.columns import aggregate_to_text, check_column_names
from weft.language.findings import MAX_PROBLEMS, Findings, raise_together
from weft.language.lexer import quote_name
from weft.language.locate import clause_span
from weft.language.nesting import MAX_NESTING, is_nested_too_deeply
from weft.language.printer import window_to_text
from weft.language.scope import (
    PatternVariable,
    Scope,
    in_different_negations,
    mentions,
    never_together,
)
from weft.language.typing_of_expressions import Typing
from weft.pattern.nodes import Query, ReturnColumn, Window
from weft.pattern.policies import Policy
from weft.schema import Schema
from weft.tree import find, transform_up


def bind(
    queries: Sequence[Query | QueryBuilder],
    schema: Schema | None,
    *,
    source: str = "",
    origin: str = "<query>",
    tie_break: bool = False,
    times: Collection[str] = (),
) -> tuple[Query, ...]:
    """Return the queries with every expression typed and converted, or raise all their problems.

    Without a schema only the structure is checked and types stay None. `tie_break` says that
    events with equal times are ordered by another column, so that a SEQ may hold events of one time. `times`
    are the names of the event time where there is no schema to say so.

    >>> from weft.language.parser import parse
    >>> from weft.schema import DOUBLE, TIMESTAMP
    >>> schema = Schema({"price": DOUBLE, "ts": TIMESTAMP}, time="ts")
    >>> bind(parse("PATTERN Stock s WHERE s.price > 3"), schema)[0].where[0].right
    Literal(value=3.0, type=Type(kind='double', scale=0))
    """
    bound = []
    problems: list[Problem] = []
    named: dict[str, Span | None] = {}
    for given in queries:
        query = as_query(given)
        findings = Findings(query.name)
        if query.name in named:
            findings.note(same_name(query.name, query.span, named[query.name]))
        named.setdefault(query.name, query.span)
        bound.append(_Binding(query, schema, findings, source).bind(tie_break=tie_break, times=times))
        problems += findings.problems
        if len(problems) > MAX_PROBLEMS:
            break
    raise_together(problems, source, origin)
    return tuple(bound)


def same_name(name: str, span: Span | None = None, first: Span | None = None) -> Problem:
    """Return the problem of a query that is named like another, the first of the two."""
    hint = "give each query a name of its own"
    return Problem(f"two queries are named {quote_name(name)}", span, hint, name, first)


class _Binding:
    """The binding of one query: its parts, its variables, and the problems found so far."""

    def __init__(self, query: Query, schema: Schema | None, findings: Findings, source: str) -> None:
        self.query = query
        self.schema = schema
        self.findings = findings
        self.complain = findings.complain
        self.source = source
        self.scope: Scope = {}
        self.is_trend = query.is_trend
        self.typing = None if schema is None else Typing(schema, findings, is_trend=self.is_trend)

    def bind(self, *, tie_break: bool, times: Collection[str]) -> Query:
        query = self.query
        if self._refuse_deep_nesting():
            return query
        self._bind_pattern()
        where = tuple(self._bind_conjunct(predicate) for predicate in query.where)
        partition_by = tuple(self._bind_key(name, "PARTITION") for name in query.partition_by)
        group_by = tuple(dict.fromkeys(self._bind_key(name, "GROUP") for name in query.group_by))
        columns = tuple(self._bind_column(column, group_by) for column in query.returns)
        having = tuple(self._bind_threshold(predicate, group_by) for predicate in query.having)
        if columns:
            for problem in check_column_names(columns, is_trend=self.is_trend):
                self.findings.note(problem)
        self._check_window(query.window)
        is_guess = self.schema is None
        order = (query.pattern, where, self.scope, times if self.schema is None else {self.schema.time})
        check_order(*order, tie_break=tie_break, is_guess=is_guess, findings=self.findings)
        rest = (query.window, partition_by, columns, query.span, query.slide, group_by, self._bind_policy())
        bound = Query(query.name, query.pattern, where, *rest, having)
        check_policy(bound, self.scope, self.source, self.findings)
        if self.is_trend:
            check_trend_windows(bound, self.source, self.findings)
            check_trend_result(bound, self.source, self.findings)
        return bound

    def _bind_pattern(self) -> None:
        schema, findings = self.schema, self.findings
        known = len(findings.problems)
        types = None if schema is None else schema.types
        self.scope = check_pattern(self.query.pattern, types, findings, is_trend=self.is_trend)
        if self.is_trend and len(findings.problems) == known:
            types_overlap = schema is not None and schema.types_overlap
            check_trend_pattern(self.query.pattern, findings, types_overlap=types_overlap)

    def _refuse_deep_nesting(self) -> bool:
        columns = (column.expression for column in self.query.returns)
        parts = (self.query.pattern, *self.query.where, *columns, *self.query.having)
        deep = [part for part in parts if is_nested_too_deeply(part)]
        for part in deep:
            self.complain(f"this nests more than {MAX_NESTING} levels deep", part.span)
        return bool(deep)

    def _bind_key(self, name: str, clause: str) -> str:
        if self.schema is None or name in self.schema.attributes:
            return name
        return self._column(name, clause_span(self.source, self.query, clause, name))

    def _column(self, name: str, span: Span | None) -> str:
        return name if self.typing is None else self.typing.column(name, span)[0]

    def _bind_conjunct(self, predicate: Predicate) -> Predicate:
        if isinstance(predicate, Equivalence):
            names = tuple(self._column(name, predicate.span) for name in predicate.attributes)
            return Equivalence(names, predicate.span)
        known = len(self.findings.problems)
        self._refuse_count_of_trends(predicate)
        refuse_suppressed(predicate, self.findings)
        if not self.is_trend:
            self._check_single_events(predicate)
        checked = self._check_mentions(predicate)
        if self.typing is not None:
            checked = self.typing.predicate(checked)
        if self.is_trend and len(self.findings.problems) == known:
            check_trend_predicate(checked, self.query.pattern, self.scope, self.findings)
        return checked

    def _bind_column(self, column: ReturnColumn, group_by: tuple[str, ...]) -> ReturnColumn:
        known = len(self.findings.problems)
        if not self.is_trend:
            check_suppressed_column(column, self.query.policy, self.findings)
        checked = self._check_mentions(column.expression, clause="RETURN")
        if self.typing is not None:
            checked = self.typing.value(checked)
        bound = ReturnColumn(column.name, checked, column.span)
        self._check_single_events(checked)
        if self.is_trend and len(self.findings.problems) == known:
            check_trend_expression(checked, group_by, "RETURN", self.findings)
        return bound

    def _bind_threshold(self, predicate: Expression, group_by: tuple[str, ...]) -> Expression:
        """Return a conjunct of HAVING with its types."""
        known = len(self.findings.problems)
        if not self.is_trend and predicate is self.query.having[0]:
            message = "HAVING chooses among the results of a trend query, but this query returns matches"
            hint = "write conditions on matches in WHERE, or count trends, as in HAVING COUNT(*) > 3"
            self.complain(message, predicate.span, hint)
        refuse_suppressed(predicate, self.findings)
        checked = self._check_mentions(predicate, clause="HAVING")
        if self.typing is not None:
            checked = self.typing.predicate(checked)
        self._check_single_events(checked)
        if self.is_trend and len(self.findings.problems) == known:
            check_trend_expression(checked, group_by, "HAVING", self.findings)
        return checked

    def _check_single_events(self, expression: Expression) -> None:
        """Check aggregates that trend queries of a single event have, and no others."""
        if self.is_trend:
            check_single_events(expression, self.query, self.findings)
            return
        for aggregate in find(expression, Aggregate):
            if aggregate.function in OF_SINGLE_EVENTS:
                message = (
                    f"{aggregate_to_text(aggregate)} is for trend queries, but this query returns matches"
                )
                hint = "make it one with GROUP BY, SLIDE or COUNT(*), of a single event: PATTERN A a"
                self.complain(message, aggregate.span, hint)

    def _bind_policy(self) -> Policy:
        policy = self.query.policy
        suppression = policy.suppression
        if suppression is None or not suppression.per:
            return policy
        per = dict.fromkeys(self._bind_attribute(attribute) for attribute in suppression.per)
        return replace(policy, suppression=replace(suppression, per=tuple(per)))

    def _bind_attribute(self, attribute: Attribute) -> Attribute:
        """Return an attribute of one event with its type; whose it is may not be known."""
        if not attribute.variable:
            self.findings.note(missing_variable(attribute, self.scope))
        elif attribute.variable not in self.scope:
            self._complain_of_variable(attribute)
        typed = attribute if self.typing is None else self.typing.value(attribute)
        return cast(Attribute, typed)

    def _complain_of_variable(self, mention: Attribute | Aggregate) -> None:
        message = f"unknown variable {quote_name(mention.variable)}"
        self.complain(message, mention.span, self.findings.suggest(mention.variable, self.scope))

    def _refuse_count_of_trends(self, expression: Expression) -> None:
        for count in find(expression, CountTrends):
            message = "COUNT(*) is known of all trends together, but WHERE asks each of them"
            self.complain(message, count.span, "write it in HAVING, as in HAVING COUNT(*) > 3")

    def _check_mentions(self, expression: Expression, *, clause: str = "WHERE") -> Expression:
        """Check the variables of a conjunct or a column; say `each` where v[i] or FIRST(v) mean no more."""
        scope = self.scope
        mentioned = mentions(expression)
        if any(not mention.variable for mention in mentioned):
            expression = read_names_as_texts(expression, self.schema, scope, self.findings)
            mentioned = mentions(expression)
        known = []
        with_previous = set()
        adjust = False
        for mention in mentioned:
            variable = scope.get(mention.variable)
            if not mention.variable:
                self.findings.note(missing_variable(mention, scope))
                continue
            if variable is None:
                self._complain_of_variable(mention)
                continue
            known.append(mention)
            place = mention.place if type(mention) is Attribute else None
            if place == "previous":
                with_previous.add(mention.variable)
            adjust = adjust or (place is not None and place != "each")
            if place in ("current", "previous") and not variable.is_list:
                self._complain_of_index(mention)
            elif clause != "WHERE":
                self._check_shown(mention, variable, clause)
        if len(with_previous) > 1:
            names = " and ".join(f"{name}[i-1]" for name in sorted(with_previous))
            hint = "compare consecutive elements of one list in one predicate, of another in the next"
            self.complain(f"one predicate speaks of {names}", expression.span, hint)
        if len(known) > 1 and (clause == "WHERE" or not self.is_trend):
            self._check_together(known, expression.span, in_return=clause == "RETURN")
        return self._with_plain_places(expression, with_previous) if adjust else expression

    def _complain_of_index(self, mention: Attribute | Aggregate) -> None:
        name = quote_name(mention.variable)
        message = f"{name}[i] and {name}[i-1] need a list, but {name} is one event"
        event = self.scope[mention.variable].event
        hint = f"write {name}.{mention.name}, or declare a list: {quote_name(event.type)}+ {name}[]"
        self.complain(message, mention.span, hint)

    def _check_shown(self, mention: Attribute | Aggregate, variable: PatternVariable, clause: str) -> None:
        name, is_list = quote_name(mention.variable), variable.is_list
        if variable.negations:
            verb, what = ("show", "match") if clause == "RETURN" else ("ask for", "trend")
            message = f"{clause} cannot {verb} {name}: it is negated, so no {what} binds it"
            self.complain(message, mention.span, None)
        elif self.is_trend:
            return
        elif is_list and isinstance(mention, Attribute) and mention.place not in ("first", "last"):
            attribute = quote_name(mention.name, after_dot=True)
            message = f"{name} is a list, so {name}.{attribute} is no single value"
            hint = f"write FIRST({name}).{attribute}, LAST({name}).{attribute} or COUNT({name})"
            self.complain(message, mention.span, hint)

    def _check_together(
        self, known: list[Attribute | Aggregate], span: Span | None, *, in_return: bool
    ) -> None:
        mentioned = dict.fromkeys(mention.variable for mention in known)
        names = [name for name in mentioned if self.scope[name].branches or self.scope[name].negations]
        unit = "one RETURN column" if in_return else "one predicate"
        for place, name in enumerate(names):
            variable = self.scope[name]
            for earlier in names[:place]:
                other = self.scope[earlier]
                pair = f"{quote_name(earlier)} and {quote_name(name)}"
                if never_together(other, variable):
                    message = f"{pair} are in different branches of OR and never bound together"
                    self.complain(message, span, f"split it so that {unit} mentions one of them")
                    return
                if in_different_negations(other, variable) and not in_return:
                    message = f"{unit} mentions {pair}, which are in two different NOTs"
                    self.complain(message, span, "write a predicate for each of them")
                    return

    def _with_plain_places(self, expression: Expression, with_previous: set[str]) -> Expression:
        def plain(node: Any) -> Any:
            if isinstance(node, Attribute) and node.variable in self.scope:
                single = not self.scope[node.variable].is_list
                lone_current = node.place == "current" and node.variable not in with_previous
                if lone_current or (single and node.place in ("first", "last")):
                    return replace(node, place="each")
            return node

        return transform_up(expression, plain)

    def _check_window(self, window: Window | None) -> None:
        if window is None or window.length > 0:
            return
        message = f"WITHIN needs a length above 0, found {window_to_text(window)}"
        self.complain(message, window.span, "write for example WITHIN 10 minutes")
