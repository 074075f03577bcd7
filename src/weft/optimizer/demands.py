"""What a normal form asks of all nodes that are assembled from it: keys, extents, events used once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from weft.expressions import Attribute, Comparison, Expression
from weft.optimizer.trees import Demands, Tree
from weft.pattern.nodes import CountWindow
from weft.pattern.normal_form import NormalForm
from weft.plan.nodes import Extent
from weft.schema import Type

LONGEST = 1 << 59  # microseconds: more than from year 1 to year 9999, and far from overflow


@dataclass(frozen=True, slots=True)
class Context:
    """What assembling needs to know besides the form.

    `attribute_type` gives the type of a key attribute; `types_overlap` says that one event may have
    several types, so that two items of different types may compete for it; `tree_of` chooses the tree
    of a negated pattern; scans with different `copy` numbers are not shared.
    """

    attribute_type: Callable[[str], Type | None]
    types_overlap: bool
    tree_of: Callable[[NormalForm], Tree]
    copy: int = 0


def anchor_of(variables: Sequence[str], form: NormalForm) -> str:
    """Return the variable that stands for all in an equality of keys: a single event if there is one."""
    lists = {item.variable for item in form.items if item.is_list}
    return next((variable for variable in variables if variable not in lists), variables[0])


def may_collide(type_a: str, type_b: str, pair: tuple[str, str], form: NormalForm, context: Context) -> bool:
    """Say whether one event could be bound to both variables of a pair."""
    ordered = pair in form.order or (pair[1], pair[0]) in form.order
    return not ordered and (type_a == type_b or context.types_overlap)


def demands_of(form: NormalForm) -> Demands:
    """Return what a form demands of its matches, its items by their numbers."""
    numbers = {variable: number for number, variable in enumerate(form.variables)}
    return Demands(frozenset((numbers[a], numbers[b]) for a, b in form.order), extent_of(form))


def extent_of(form: NormalForm) -> Extent | None:
    """Return the extent that the window of a form gives to all its nodes."""
    if form.window is None:
        return None
    length = min(form.window.length, LONGEST)
    if isinstance(form.window, CountWindow):
        return Extent("position", length - 1, tuple(sorted(form.partition_by)))
    return Extent("time", length)


def key_equalities(a: str, b: str, form: NormalForm, context: Context) -> list[Expression]:
    """Return that the events of two variables agree on all keys."""
    return [Comparison("=", key_of(a, key, context), key_of(b, key, context)) for key in form.keys]


def key_of(variable: str, key: str, context: Context) -> Attribute:
    """Return a key of the event of a variable."""
    return Attribute(variable, key, type=context.attribute_type(key))


def same_key(variable: str, key: str, context: Context) -> Expression:
    """All elements of a list agree with its first one on a key."""
    first = Attribute(variable, key, "first", context.attribute_type(key))
    return Comparison("=", key_of(variable, key, context), first)
