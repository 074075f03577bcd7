"""Assemble the plan node of a SOME of single events."""

from itertools import combinations

from weft.cost.model import CostModel, PlanStep
from weft.expressions import variables_of
from weft.optimizer.assemble import Assembled, leaf_node
from weft.optimizer.demands import Context, extent_of, may_collide
from weft.optimizer.shape_of import shape_of
from weft.pattern.canonical import in_columns
from weft.pattern.normal_form import NormalForm
from weft.plan.nodes import Node, SubsetJoin, inputs_of
from weft.statistics.model import Statistics


def assemble_some(form: NormalForm, context: Context) -> Assembled:
    """Return the plan node that computes all combinations of the items of a form.

    >>> from weft.optimizer.pipeline import context_of
    >>> from weft.pattern.normal_form import Item
    >>> form = NormalForm((Item("a", "A"), Item("b", "A"), Item("c", "C")), frozenset(), is_some=True)
    >>> assemble_some(form, context_of(None)).node.distinct
    ((0, 1),)
    """
    variables = form.variables
    among = [predicate for predicate in form.predicates if len(variables_of(predicate)) > 1]
    node = SubsetJoin(
        tuple(leaf_node(item, form, context) for item in form.items),
        form.keys,
        _distinct(form, context),
        in_columns(among, variables),
        extent_of(form),
    )
    return Assembled(node, variables)


def _distinct(form: NormalForm, context: Context) -> tuple[tuple[int, int], ...]:
    """Return the pairs of items that one event could be bound to."""
    return tuple(
        (a, b)
        for (a, one), (b, other) in combinations(enumerate(form.items), 2)
        if may_collide(one.type, other.type, (one.variable, other.variable), form, context)
    )


def expected_of_some(
    form: NormalForm, node: Node, statistics: Statistics, context: Context
) -> dict[Node, float]:
    """Return how many rows per second are expected of the combinations and of the events they are made of."""
    shape = shape_of(form, statistics, context)
    return {**dict(zip(inputs_of(node), shape.rates, strict=True)), node: shape.matches_per_second}


def price_of_some(form: NormalForm, model: CostModel, statistics: Statistics, context: Context) -> float:
    """Return what the combinations cost, whatever the plan."""
    shape = shape_of(form, statistics, context)
    return model.node(shape, PlanStep(shape.everything, is_some=True), shape.window)
