"""Split predicates into conjuncts in canonical spelling."""

from collections.abc import Iterable

from weft.expressions import Attribute, Expression, Literal, conjuncts
from weft.pattern.canonical import canonical
from weft.tree import find


def simplify_predicates(predicates: Iterable[Expression]) -> tuple[Expression, ...]:
    """Return the conjuncts of the predicates, each in canonical form, each once, in first-seen order.

    >>> from weft.expressions import Comparison, Not
    >>> from weft.schema import LONG
    >>> a, b = Attribute("a", "x", type=LONG), Attribute("b", "x", type=LONG)
    >>> less = Comparison("<", a, b)
    >>> simplify_predicates([Not(Comparison(">=", a, b)), Comparison(">", b, a)]) == (less,)
    True
    """
    parts: dict[Expression, None] = {}
    for predicate in predicates:
        for part in _separable(canonical(predicate)):
            if not (isinstance(part, Literal) and part.value is True):
                parts.setdefault(part)
    return tuple(parts)


def _separable(predicate: Expression) -> tuple[Expression, ...]:
    """Split at the ANDs, unless that would let a part speak of more elements than the whole did.

    With `v[i-1]` the whole speaks of pairs of consecutive elements, of which a short list has none;
    a part without `v[i-1]` would speak of every element.
    """
    parts = conjuncts(predicate)
    speaks_of_pairs = [any(a.place == "previous" for a in find(part, Attribute)) for part in parts]
    return parts if all(speaks_of_pairs) or not any(speaks_of_pairs) else (predicate,)
