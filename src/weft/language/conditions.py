"""Conditions on single events, which derive types: the predicates of WHERE, with attributes by name."""

import re
from dataclasses import replace
from typing import Any

from lark import Token

from weft.expressions import Aggregate, Attribute, CountTrends, Equivalence, Expression, Suppressed
from weft.language.assemble import QueryDraft
from weft.language.clauses import ClauseTokens, parse_clause
from weft.language.findings import Findings, raise_together
from weft.language.lexer import quote_name, tokenize
from weft.language.parser import LANGUAGE
from weft.language.printer import expression_to_text
from weft.language.typing_of_expressions import Typing
from weft.schema import Schema
from weft.tree import find, transform_up, walk

CONDITION_VARIABLE = "$0"  # as in plans: the first and only column of a table of events
_ONE_EVENT = "the condition of a type speaks of one event"


def parse_condition(text: str, schema: Schema, *, origin: str) -> Expression:
    """Return the predicate of a text, bound for single events; those for which it is NULL do not satisfy it.

    The attributes are those of the schema, written without a variable. In the predicate they belong to the
    variable `CONDITION_VARIABLE`, as `weft.runtime.columns.evaluate` knows the first column of a table, so
    `holds_everywhere(condition, events, events_table(rows))` says for which events it holds. Errors name
    `origin`, for example `type BigTrade`.

    >>> from weft.schema import LONG, TIMESTAMP
    >>> schema = Schema({"ts": TIMESTAMP, "volume": LONG}, time="ts")
    >>> condition = parse_condition("volume > 10000", schema, origin="type BigTrade")
    >>> condition.left
    Attribute(variable='$0', name='volume', place='each', type=Type(kind='long', scale=0))
    >>> parse_condition("volum > 10000", schema, origin="type BigTrade")
    Traceback (most recent call last):
    weft.errors.QueryError: type BigTrade:1:1: unknown attribute volum
      volum > 10000
      ^^^^^
      hint: did you mean volume?
    """
    draft = QueryDraft()
    parse_clause(ClauseTokens(Token("WHERE", "WHERE"), list(tokenize(text)), None), LANGUAGE, draft)
    problems = [
        replace(problem, message=re.sub(r" in WHERE(?=,)", "", problem.message)) for problem in draft.problems
    ]
    written = draft.clauses.get("WHERE")
    bound: Any = None
    if not problems and written is not None:
        findings = Findings()
        _refuse_variables(written, findings)
        if not findings.problems:
            bound = transform_up(Typing(schema, findings).predicate(written), _with_variable)
        problems = findings.problems
    raise_together(problems, text, origin)
    condition: Expression = bound
    return condition


def _with_variable(node: Any) -> Any:
    return replace(node, variable=CONDITION_VARIABLE) if type(node) is Attribute else node


def _refuse_variables(condition: Expression, findings: Findings) -> None:
    """Note what speaks of a variable of a pattern, or of several events."""
    for attribute in find(condition, Attribute):
        if attribute.variable:
            hint = f"leave out the variable: write {quote_name(attribute.name)}"
            findings.complain(f"{_ONE_EVENT}, not of {quote_name(attribute.variable)}", attribute.span, hint)
    for node in walk(condition):
        if isinstance(node, Aggregate | CountTrends | Suppressed | Equivalence):
            shown = expression_to_text(node)
            findings.complain(f"{_ONE_EVENT}, {shown} of several", node.span, "say it in WHERE of a query")
