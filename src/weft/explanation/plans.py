"""Show normal forms and the shared plan as text: one tree per query, shared nodes drawn once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from weft.explanation.trends import conjunction_text, trend_lines, where_text
from weft.expressions import Expression
from weft.language.literals import format_duration
from weft.language.printer import policy_lines, window_to_text
from weft.language.read import Queries, read_queries
from weft.normalize.cautions import list_cautions
from weft.normalize.pipeline import normalize
from weft.normalize.template import template_of
from weft.notices import Notice
from weft.optimizer.pipeline import optimize
from weft.pattern.nodes import Query
from weft.pattern.normal_form import EVERY_TYPE, Item, NegatedForm, NormalForm
from weft.plan import nodes
from weft.plan.dag import readers, topological_order
from weft.plan.nearest import nearest_joins
from weft.plan.nodes import Absence, Extent, Join, Node, Plan, inputs_of
from weft.runtime.budget import NodeMetrics
from weft.schema import Schema

DEAREST = 20  # nodes in the table of those that took the most time
TEXT_WIDTH = 90  # characters of a node's text in that table


def explain(queries: Queries, schema: Schema | None = None) -> str:
    """Return the normal forms of queries and their shared plan as text, of trend queries the templates.

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
    bound = read_queries(queries, schema, tie_break=True)
    matched = [query for query in bound if not query.is_trend]
    templates = [template_of(query, schema) for query in bound if query.is_trend]
    lines = [*form_lines(matched), "", *plan_lines(optimize(matched, schema))] if matched else []
    if templates:
        lines += ([""] if lines else []) + trend_lines(templates)
    return "\n".join([*lines, *caution_lines(list_cautions(bound).values())])


def caution_lines(cautions: Iterable[Notice]) -> list[str]:
    """Write what is likely to explode, if anything is."""
    lines = [line for caution in cautions for line in str(caution).splitlines()]
    return ["", "Cautions", *(f"  {line}" for line in lines)] if lines else []


def form_lines(queries: Sequence[Query]) -> list[str]:
    """Write the normal forms of queries."""
    return ["Normal forms", *(line for query in queries for line in _query_lines(query))]


def _query_lines(query: Query) -> list[str]:
    forms = normalize(query)
    lines = [f"  {query.name}"]
    for number, form in enumerate(forms, start=1):
        if len(forms) > 1:
            lines.append(f"    alternative {number}")
        lines += [f"    {line}" for line in _form_lines(form)]
    return lines + [f"    counts  {line}" for line in policy_lines(query.policy)]


def _form_lines(form: NormalForm) -> list[str]:
    kind = "some of" if form.is_some else "items"
    lines = [f"{kind:<7} {', '.join(map(_item_text, form.items))}"]
    if form.order:
        lines.append(f"order   {', '.join(_order_text(form))}")
    if form.keys:
        lines.append(f"keys    {', '.join(form.keys)}")
    if form.predicates:
        lines.append(f"where   {conjunction_text(form.predicates)}")
    for negation in form.negations:
        lines += _negation_lines(negation)
    lines.append(f"within  {window_to_text(form.window) if form.window else 'no window'}")
    return lines


def _item_text(item: Item) -> str:
    kind = "any event" if item.type == EVERY_TYPE else item.type
    if not item.is_list:
        return f"{item.variable}: {kind}"
    most = "" if item.most is None else item.most
    return f"{item.variable}: {kind}{{{item.least},{most}}}"


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
    ends = {"after": negation.after, "before": negation.before}
    scope = " and ".join(f"{end} {', '.join(names)}" for end, names in ends.items() if names)
    if negation.scope == "gap":
        scope = f"between neighbors in {', '.join(negation.after)}"
    elif negation.scope == "match":
        scope = f"{scope} within the match".lstrip()
    items = ", ".join(map(_item_text, negation.form.items))
    conditions = (*negation.form.predicates, *negation.predicates)
    inner = [f"  {line}" for nested in negation.form.negations for line in _negation_lines(nested)]
    return [f"not     {items} {scope or 'anywhere in the window'}{where_text(conditions)}", *inner]


def plan_lines(
    plan: Plan,
    estimated: Mapping[Node, float] | None = None,
    actual: Mapping[Node, NodeMetrics] | None = None,
) -> list[str]:
    r"""Draw a plan: one tree per query, with what nodes were expected to do and what they did.

    `estimated` are rows. With `actual`, a table of the nodes that took the most time follows.

    >>> from weft.plan.nodes import Branch, Join, Output, Scan
    >>> a, b = Scan("A"), Scan("B")
    >>> join = Join(a, b, ((0, 1),), (), (), None)
    >>> plan = Plan((Output("q", (), (Branch(join, ("a", "b"), ()),)),))
    >>> did = {a: NodeMetrics(10), b: NodeMetrics(20), join: NodeMetrics(3, 200, 1_500_000)}
    >>> print("\n".join(plan_lines(plan, {join: 2.5}, did)))
    Shared plan: 3 nodes, 0 shared
      queries  estimated  rows  candidates   ms   share
                                                         q
            1        2.5     3         200  1.5  100.0%    n3 join $0 < $1
            1               10           0  0.0    0.0%      n1 scan A
            1               20           0  0.0    0.0%      n2 scan B
    <BLANKLINE>
    Dearest nodes: 1 of 3, 100.0% of 1.5 ms
      queries  estimated  rows  candidates   ms   share
            1        2.5     3         200  1.5  100.0%  n3 join $0 < $1
    """
    drawing = _Drawing(plan, estimated, actual)
    queries = drawing.queries
    n_shared = sum(len(names) > 1 for names in queries.values())
    lines = [f"Shared plan: {len(queries)} nodes, {n_shared} shared"]
    if drawing.columns:
        lines.append(_row(drawing.widths, drawing.columns))
    lines += [drawing.prefix(node) + text for node, text in _tree(drawing)]
    return lines + _dearest_lines(drawing) if actual else lines


@dataclass(frozen=True)
class _Drawing:
    """A plan, and the numbers that stand in columns before its tree."""

    plan: Plan
    estimated: Mapping[Node, float] | None
    actual: Mapping[Node, NodeMetrics] | None

    @cached_property
    def names(self) -> dict[Node, str]:
        return {node: f"n{number}" for number, node in enumerate(topological_order(self.plan), start=1)}

    @cached_property
    def nearest(self) -> Mapping[Join, int]:
        """The joins that give each row the nearest that comes after it, and no other."""
        return nearest_joins(self.plan)

    @cached_property
    def queries(self) -> dict[Node, frozenset[str]]:
        return readers(self.plan)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        expected = ("estimated",) if self.estimated is not None else ()
        measured = ("rows", "candidates", "ms", "share") if self.actual is not None else ()
        return ("queries", *expected, *measured) if expected or measured else ()

    @cached_property
    def nanoseconds(self) -> int:
        return sum(metrics.nanoseconds for metrics in (self.actual or {}).values())

    def cells(self, node: Node) -> list[str]:
        cells = [str(len(self.queries[node]))]
        if self.estimated is not None:
            cells.append(_estimate_text(self.estimated.get(node)))
        if self.actual is not None:
            did = self.actual.get(node, NodeMetrics())
            cells += [f"{did.rows:,}", f"{did.candidates:,}", f"{did.nanoseconds / 1e6:,.1f}"]
            cells.append(_share_text(did.nanoseconds, self.nanoseconds))
        return cells if self.columns else []

    @cached_property
    def widths(self) -> list[int]:
        rows = [self.columns, *map(self.cells, self.names)]
        return [max(map(len, column)) for column in zip(*rows, strict=True)]

    def prefix(self, node: Node | None) -> str:
        """The numbers of a node, or as much space."""
        if not self.columns:
            return ""
        return _row(self.widths, self.cells(node) if node is not None else [""] * len(self.columns))

    def text(self, node: Node, width: int | None = None) -> str:
        nearest = "nearest " if node in self.nearest else ""
        text = f"{self.names[node]} {nearest}{_node_text(node)}"
        if width is not None and len(text) > width:
            text = text[: width - 1] + "…"
        queries = self.queries[node]
        return text + (f"  [shared by {_named(queries)}]" if len(queries) > 1 else "")


def _tree(drawing: _Drawing) -> Iterator[tuple[Node | None, str]]:
    """Yield the lines of the trees, those that draw a node with that node."""
    drawn: set[Node] = set()

    def draw(node: Node, depth: int) -> Iterator[tuple[Node | None, str]]:
        indent = "  " * depth
        if node in drawn:
            yield None, f"{indent}{drawing.names[node]} (shown above)"
            return
        drawn.add(node)
        yield node, indent + drawing.text(node)
        for source in inputs_of(node):
            yield from draw(source, depth + 1)

    for output in drawing.plan.outputs:
        yield None, f"  {output.query}"
        for branch in output.branches:
            yield from draw(branch.node, 2)
        for timeout in output.timeouts:
            missing = "no match" if timeout.missing is None else f"no {timeout.missing}"
            yield None, f"    timeouts with {', '.join(timeout.variables)} and {missing}"
            yield from draw(timeout.node, 3)


def _dearest_lines(drawing: _Drawing) -> list[str]:
    spent = {node: did.nanoseconds for node, did in (drawing.actual or {}).items() if did.nanoseconds}
    dearest = sorted(spent, key=lambda node: -spent[node])[:DEAREST]
    share = _share_text(sum(spent[node] for node in dearest), drawing.nanoseconds)
    total = f"{drawing.nanoseconds / 1e6:,.1f} ms"
    return [
        "",
        f"Dearest nodes: {len(dearest)} of {len(drawing.names)}, {share} of {total}",
        _row(drawing.widths, drawing.columns),
        *(f"{drawing.prefix(node)}  {drawing.text(node, TEXT_WIDTH)}" for node in dearest),
    ]


def _row(widths: Sequence[int], cells: Sequence[str]) -> str:
    return "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _estimate_text(rows: float | None) -> str:
    if rows is None:
        return ""
    return f"{rows:,.0f}" if rows >= 10 else f"{rows:.2g}"


def _share_text(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


def _named(queries: frozenset[str]) -> str:
    ordered = sorted(queries)
    more = f" and {len(ordered) - 4} more" if len(ordered) > 4 else ""
    return ", ".join(ordered[:4]) + more


def _node_text(node: Node) -> str:
    match node:
        case nodes.Scan(type=name, copy=copy):
            kind = "all events" if name == EVERY_TYPE else name
            return f"scan {kind}" + (f" (copy {copy})" if copy else "")
        case nodes.Filter(predicates=predicates):
            return f"filter {conjunction_text(predicates)}"
        case nodes.Join(order=order):
            return "join" + _pairs(order) + _conditions(node.predicates, node.extent)
        case nodes.SubsetJoin(keys=keys):
            agreeing = f" with equal {', '.join(keys)}" if keys else ""
            return "combinations" + agreeing + _conditions(node.predicates, node.extent)
        case nodes.KleeneExpand(least=least, most=most, order=order):
            lengths = f" {{{least},{'' if most is None else most}}}"
            early, late = " from the first" * node.begins_early, " to the last" * node.ends_late
            runs = "" if node.passed is None else f" of neighbors{early}{late}"
            return "kleene" + lengths + runs + _pairs(order) + _conditions(node.predicates, node.extent)
        case nodes.Chain(place=place):
            which = {"single": "", "first": " that begins a list", "next": " that goes on with the list"}
            return f"the nearest{which[place]}" + _conditions(node.predicates, node.extent)
        case nodes.NegationCheck(absence=absence):
            return _absence_text(absence)
        case nodes.Project(columns=columns, extent=extent, order=order):
            moved = f" {_columns(columns)}" if list(columns) != sorted(columns) else ""
            return "project" + moved + _pairs(order) + _extent_text(extent)
        case nodes.DistinctUnion():
            return "union"
        case nodes.Await(extent=extent, since=since):
            return "await the end" if extent is None else f"await {_reach_text(extent)} the {since} event"


def _absence_text(absence: Absence) -> str:
    opens = f" after {_columns(absence.after)}" if absence.after else ""
    closes = f" before {_columns(absence.before)}" if absence.before else ""
    if absence.scope == "gap":
        opens, closes = f" between neighbors in {_columns(absence.after)}", ""
    elif absence.scope == "match":
        closes += " within the match"
    unless = "".join(f" unless {_absence_text(inner)}" for inner in absence.unless)
    return "no match" + opens + closes + _conditions(absence.predicates, absence.extent) + unless


def _pairs(order: Iterable[tuple[int, int]]) -> str:
    shown = ", ".join(f"${a} < ${b}" for a, b in order)
    return f" {shown}" if shown else ""


def _columns(columns: Iterable[int]) -> str:
    return ", ".join(f"${column}" for column in columns)


def _conditions(predicates: Sequence[Expression], extent: Extent | None) -> str:
    return where_text(predicates) + _extent_text(extent)


def _reach_text(extent: Extent) -> str:
    """Say how far an extent reaches, from some event on."""
    if not extent.length:
        return "the time of"
    if extent.clock == "time":
        return f"{format_duration(extent.length)} after"
    partition = f" of each {', '.join(extent.partition_by)}" if extent.partition_by else ""
    return f"{extent.length} events{partition} after"


def _extent_text(extent: Extent | None) -> str:
    if extent is None:
        return ""
    if extent.clock == "time":
        return f" within {format_duration(extent.length)}"
    partition = f" of each {', '.join(extent.partition_by)}" if extent.partition_by else ""
    return f" within {extent.length + 1} events{partition}"
