"""Show normal forms and the shared plan as text: one tree per query, shared nodes drawn once."""

import re
from collections.abc import Iterable, Sequence

from weft.expressions import And, Expression, Or
from weft.language.literals import format_duration
from weft.language.printer import expression_to_text, window_to_text
from weft.normalize.pipeline import normalize
from weft.optimizer.pipeline import optimize
from weft.pattern.nodes import Query
from weft.pattern.normal_form import Item, NegatedForm, NormalForm
from weft.plan.dag import readers, topological_order
from weft.plan.nodes import (
    Absence,
    DistinctUnion,
    Extent,
    Filter,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Plan,
    Scan,
    inputs_of,
)
from weft.schema import Schema


def explain(queries: Sequence[Query], schema: Schema | None = None) -> str:
    """Return the normal forms of bound queries and their shared plan as text.

    >>> from weft.language.parser import parse
    >>> print(explain(parse("QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 minute")))
    Normal forms
      q
        items   a: A, b: B
        order   a < b
        where   a.x < b.x
        within  1 minute
    <BLANKLINE>
    Shared plan: 3 nodes, 0 shared
      q
        n3 join $0 < $1 where $0.x < $1.x within 1 minute
          n1 scan A
          n2 scan B
    """
    forms = [line for query in queries for line in _query_lines(query)]
    return "\n".join(["Normal forms", *forms, "", *_plan_lines(optimize(queries, schema))])


def _query_lines(query: Query) -> list[str]:
    forms = normalize(query)
    lines = [f"  {query.name}"]
    for number, form in enumerate(forms, start=1):
        if len(forms) > 1:
            lines.append(f"    alternative {number}")
        lines += [f"    {line}" for line in _form_lines(form)]
    return lines


def _form_lines(form: NormalForm) -> list[str]:
    lines = [f"items   {', '.join(map(_item_text, form.items))}"]
    if form.order:
        lines.append(f"order   {', '.join(_order_text(form))}")
    if form.keys:
        lines.append(f"keys    {', '.join(form.keys)}")
    if form.predicates:
        lines.append(f"where   {_conjunction(form.predicates)}")
    for negation in form.negations:
        lines += _negation_lines(negation)
    lines.append(f"within  {window_to_text(form.window) if form.window else 'no window'}")
    return lines


def _item_text(item: Item) -> str:
    if not item.is_list:
        return f"{item.variable}: {item.type}"
    most = "" if item.most is None else item.most
    return f"{item.variable}: {item.type}{{{item.least},{most}}}"


def _order_text(form: NormalForm) -> list[str]:
    """The order without the pairs that follow from others, in the order of the items."""
    places = {variable: place for place, variable in enumerate(form.variables)}
    direct = [
        (a, b)
        for a, b in form.order
        if not any((a, c) in form.order and (c, b) in form.order for c in form.variables)
    ]
    return [f"{a} < {b}" for a, b in sorted(direct, key=lambda pair: (places[pair[0]], places[pair[1]]))]


def _negation_lines(negation: NegatedForm) -> list[str]:
    after = f"after {', '.join(negation.after)}" if negation.after else ""
    before = f"before {', '.join(negation.before)}" if negation.before else ""
    scope = " and ".join(part for part in (after, before) if part) or "anywhere in the window"
    items = ", ".join(map(_item_text, negation.form.items))
    conditions = (*negation.form.predicates, *negation.predicates)
    where = f" where {_conjunction(conditions)}" if conditions else ""
    inner = [f"  {line}" for nested in negation.form.negations for line in _negation_lines(nested)]
    return [f"not     {items} {scope}{where}", *inner]


def _conjunction(predicates: Iterable[Expression]) -> str:
    """Write predicates; columns of the plan stand without the quotes a query would need."""
    listed = list(predicates)
    parts = [expression_to_text(part) for part in listed]
    if len(parts) > 1:
        parts = [
            f"({text})" if isinstance(part, And | Or) else text
            for part, text in zip(listed, parts, strict=True)
        ]
    text = " AND ".join(parts)
    return re.sub(r'"(\$\d+)"', r"\1", text)


def _plan_lines(plan: Plan) -> list[str]:
    nodes = topological_order(plan)
    names = {node: f"n{number}" for number, node in enumerate(nodes, start=1)}
    queries = readers(plan)
    n_shared = sum(len(found) > 1 for found in queries.values())
    lines = [f"Shared plan: {len(nodes)} nodes, {n_shared} shared"]
    drawn: set[Node] = set()

    def draw(node: Node, depth: int) -> None:
        indent = "  " * depth
        mark = f"  [shared by {_named(queries[node])}]" if len(queries[node]) > 1 else ""
        if node in drawn:
            lines.append(f"{indent}{names[node]} (shown above)")
            return
        drawn.add(node)
        lines.append(f"{indent}{names[node]} {_node_text(node)}{mark}")
        for source in inputs_of(node):
            draw(source, depth + 1)

    for output in plan.outputs:
        lines.append(f"  {output.query}")
        for branch in output.branches:
            draw(branch.node, 2)
    return lines


def _named(queries: frozenset[str]) -> str:
    ordered = sorted(queries)
    more = f" and {len(ordered) - 4} more" if len(ordered) > 4 else ""
    return ", ".join(ordered[:4]) + more


def _node_text(node: Node) -> str:
    match node:
        case Scan(type=name):
            return f"scan {name}"
        case Filter(predicates=predicates):
            return f"filter {_conjunction(predicates)}"
        case Join(order=order):
            return "join" + _pairs(order) + _conditions(node.predicates, node.extent)
        case KleeneExpand(least=least, most=most, order=order):
            lengths = f" {{{least},{'' if most is None else most}}}"
            return "kleene" + lengths + _pairs(order) + _conditions(node.predicates, node.extent)
        case NegationCheck(absence=absence):
            return _absence_text(absence)
        case DistinctUnion():
            return "union"


def _absence_text(absence: Absence) -> str:
    opens = f" after {_columns(absence.after)}" if absence.after else ""
    closes = f" before {_columns(absence.before)}" if absence.before else ""
    unless = "".join(f" unless {_absence_text(inner)}" for inner in absence.unless)
    return "no match" + opens + closes + _conditions(absence.predicates, absence.extent) + unless


def _pairs(order: Iterable[tuple[int, int]]) -> str:
    shown = ", ".join(f"${a} < ${b}" for a, b in order)
    return f" {shown}" if shown else ""


def _columns(columns: Iterable[int]) -> str:
    return ", ".join(f"${column}" for column in columns)


def _conditions(predicates: Sequence[Expression], extent: Extent | None) -> str:
    where = f" where {_conjunction(predicates)}" if predicates else ""
    return where + _extent_text(extent)


def _extent_text(extent: Extent | None) -> str:
    if extent is None:
        return ""
    if extent.clock == "time":
        return f" within {format_duration(extent.length)}"
    partition = f" of each {', '.join(extent.partition_by)}" if extent.partition_by else ""
    return f" within {extent.length + 1} events{partition}"
