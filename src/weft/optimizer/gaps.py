"""What a node of lists knows of the strategy: what they do not pass over, where they begin and end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from weft.expressions import Aggregate, Attribute, Expression
from weft.pattern.canonical import canonical
from weft.pattern.normal_form import Item, NegatedForm, NormalForm
from weft.tree import find, transform_up


@dataclass(frozen=True, slots=True)
class GapRule:
    """The number of the negation in the gaps of a list, and whether the list begins early and ends late."""

    gap: int
    begins_early: bool
    ends_late: bool


def gap_of(
    item: Item, earlier: Sequence[str], form: NormalForm, needs_of: Callable[[NegatedForm], frozenset[str]]
) -> GapRule | None:
    """Return how the lists of an item go on that are joined to rows with the variables `earlier`.

    None where they may go on with any element, or where other variables, that a negation `needs`, decide it.

    >>> item, gap = Item("b", "B", is_list=True), NormalForm((Item("x", "B"),), frozenset())
    >>> negations = NegatedForm(gap, ("b",), ("b",), scope="gap"), NegatedForm(gap, ("a",), ("b",))
    >>> form = NormalForm((Item("a", "A"), item), frozenset({("a", "b")}), negations=negations)
    >>> gap_of(item, ["a"], form, lambda negation: negation.outer_variables)
    GapRule(gap=0, begins_early=True, ends_late=False)
    """
    bound, own = {*earlier, item.variable}, (item.variable,)
    for number, gap in enumerate(form.negations):
        if gap.scope == "gap" and gap.after == own:
            if not needs_of(gap) <= bound:
                return None
            asked = _asked(gap, item)
            alone = frozenset(p for p in asked if not any(a.place == "previous" for a in find(p, Attribute)))
            others = [n for n in form.negations if n.scope == "window" and needs_of(n) <= bound]
            return GapRule(
                number,
                any(n.before == own and n.after and _is_same(n, gap, item, alone) for n in others),
                any(n.after == own and n.before and _is_same(n, gap, item, asked) for n in others),
            )
    return None


def _is_same(negation: NegatedForm, gap: NegatedForm, item: Item, asked: frozenset[Expression]) -> bool:
    """Say whether a negation forbids what does not lie in the gaps either, as far as that is asked there."""
    is_plain = len(negation.form.items) == 1 and not negation.form.items[0].is_list
    is_same_type = is_plain and negation.form.items[0].type == gap.form.items[0].type
    return is_same_type and not negation.form.negations and _asked(negation, item) == asked


def _asked(negation: NegatedForm, item: Item) -> frozenset[Expression]:
    """Return what is asked of a negated event, which has one name in all; an end of the list is `previous`.

    That the list may still grow is known where it ends.
    """
    (name,) = negation.form.variables

    def rename(node: object) -> object:
        if not isinstance(node, Attribute):
            return node
        if node.variable == name:
            return replace(node, variable="")
        is_end = node.variable == item.variable and node.place == "last"
        return replace(node, place="previous") if is_end else node

    every = (*negation.form.predicates, *negation.predicates)
    counts = {p for p in every if any(a.variable == item.variable for a in find(p, Aggregate))}
    return frozenset(canonical(transform_up(p, rename)) for p in every if p not in counts)
