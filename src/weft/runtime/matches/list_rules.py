"""What is asked of the lists of a KleeneExpand, and the candidates that they are made of."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weft.expressions import Attribute, Comparison, Expression
from weft.kernels.matches.kleene import Elements, Rows
from weft.pattern.canonical import canonical
from weft.pattern.normal_form import EVERY_TYPE
from weft.plan.nodes import Await, KleeneExpand, Scan
from weft.runtime.columns.compare import Comparisons
from weft.runtime.columns.evaluate import column_number
from weft.runtime.columns.events import Array
from weft.runtime.matches.table import Table
from weft.tree import find, transform_up


@dataclass(frozen=True, slots=True)
class ListRule:
    """Row against element, element against the next, and the rest.

    A rule that `is_nearest` has lists go on with the next candidate alone, and leaves to them what it does
    not ask of candidates. What `breaks` a list need not hold for neighbors; where it does not, none follows.
    """

    comparisons: Comparisons
    edges: tuple[Comparison, ...]
    breaks: tuple[Expression, ...] = ()
    is_nearest: bool = False


@dataclass(frozen=True)
class Candidates:
    """Rows to expand, and elements in runs that have the hash of what must be equal."""

    table: Table
    rows: Rows
    element_rows: Array
    elements: Elements
    hashes: Array
    is_growing: bool

    @cached_property
    def _are_together(self) -> Array:
        """Which elements are in the run of the next."""
        return np.asarray(self.hashes[1:] == self.hashes[:-1])

    @cached_property
    def has_ties(self) -> bool:
        """Whether some run has two elements at one place in the order."""
        return bool(np.any(self._are_together & (np.diff(self.elements.ranks) == 0)))

    def are_runs(self, comparisons: Comparisons) -> bool:
        """Whether the candidates of a row are all elements of its run between its bounds, one by one."""
        if not self.is_growing or self.has_ties or any(test.operator != "=" for test in comparisons.tests):
            return False
        differ = (np.diff(self.elements.values, axis=1) != 0).any(axis=0)
        return not np.any(differ & self._are_together)

    def ends(self, broken: Array) -> Array:
        """Return the last element that a list may have which begins with each."""
        places = np.arange(broken.size)
        last = np.where(broken, places, broken.size)
        return np.ascontiguousarray(np.minimum.accumulate(last[::-1])[::-1])


def is_strict(node: KleeneExpand) -> bool:
    """Say whether no event at all is passed over between two elements of a list."""
    return node.passed is not None and node.passed.negated == Scan(EVERY_TYPE, _copy_of(node))


def _copy_of(node: KleeneExpand) -> int:
    return next(find(node.elements, Scan)).copy


def asked_predicates(
    node: KleeneExpand, column: int, predicates: Collection[Expression]
) -> set[Expression] | None:
    """Return which predicates of a node an event that is passed over must satisfy.

    None where that is not one of the elements. On the keys, it agrees with the element before it, as that
    does with all of its list.
    """
    absence = node.passed
    elements = node.elements.input if isinstance(node.elements, Await) else node.elements
    if absence is None or not (is_strict(node) or absence.negated == elements):
        return None
    asked: set[Expression] = set()
    for predicate in absence.predicates:
        key = _key_of_pair(predicate)
        agreeing = {p for p in predicates if key is not None and _agrees_on(p, key, column)}
        asked |= agreeing or {_about_element(predicate, column)}
    return asked


def _key_of_pair(predicate: Expression) -> str | None:
    """Return the attribute on which an event must agree with the element before it."""
    match predicate:
        case Comparison(operator="=", left=Attribute() as a, right=Attribute() as b):
            if a.name == b.name and {a.place, b.place} == {"previous", "each"}:
                return a.name
    return None


def _agrees_on(predicate: Expression, key: str, column: int) -> bool:
    """Say whether a predicate has the elements of a list agree on an attribute, with each other or a row."""
    match predicate:
        case Comparison(operator="=", left=Attribute() as a, right=Attribute() as b):
            own = f"${column}"
            return a.name == b.name == key and own in (a.variable, b.variable)
    return False


def _about_element(predicate: Expression, column: int) -> Expression:
    """Return a predicate on an event that is passed over as one on an element."""
    speaks_of_pairs = any(attribute.place == "previous" for attribute in find(predicate, Attribute))

    def rename(node: object) -> object:
        if isinstance(node, Attribute) and column_number(node.variable) > column:
            return replace(node, variable=f"${column}", place="current" if speaks_of_pairs else "each")
        return node

    return canonical(transform_up(predicate, rename))
