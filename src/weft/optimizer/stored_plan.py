"""The plan that an optimizer chose, as data: a tree of variable names for every alternative of a query.

It holds no conditions: these come from the queries whenever the plan is put together, so a stored
plan can be out of date but never wrong.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any, TypeAlias

from weft.codec import VERSION
from weft.errors import WeftError
from weft.optimizer.demands import LONGEST
from weft.optimizer.trees import Demands, Tree, leaf, nodes_of, pair
from weft.plan.nodes import Extent

DEEPEST = 300  # levels of a tree

Named: TypeAlias = "str | list[Named] | dict[str, Any]"


@dataclass(frozen=True)
class StoredPlan:
    """For each query, the trees of its alternatives; and whether equal nodes are shared at all."""

    trees: Mapping[str, tuple[Named, ...]]
    is_shared: bool = True

    def to_json(self) -> str:
        """Return the plan as JSON text.

        >>> StoredPlan({"q": ([["a", "c"], "b"],)}).to_json()
        '{"version": 4, "shared": true, "queries": {"q": [[["a", "c"], "b"]]}}'
        """
        queries = {name: list(trees) for name, trees in self.trees.items()}
        return json.dumps(
            {"version": VERSION, "shared": self.is_shared, "queries": queries}, ensure_ascii=False
        )

    @staticmethod
    def from_json(text: str, origin: str = "the plan") -> "StoredPlan":
        """Return the plan written by `to_json`; what is wrong with the text is said."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise WeftError(
                f"{origin} is not JSON: {error}; expected what `weft run --save-plan` writes"
            ) from None
        if not isinstance(document, dict) or document.get("version") != VERSION:
            version = document.get("version") if isinstance(document, dict) else type(document).__name__
            raise WeftError(
                f"{origin} has version {version!r}, expected {VERSION}; make the plan anew with --save-plan"
            )
        queries, is_shared = document.get("queries"), document.get("shared", True)
        if not isinstance(queries, dict):
            raise WeftError(f'{origin} lacks "queries", an object of trees by query name')
        if not isinstance(is_shared, bool):
            raise WeftError(f'{origin} has "shared": {json.dumps(is_shared)[:60]}, expected true or false')
        return StoredPlan(
            {str(name): _trees(trees, name, origin) for name, trees in queries.items()}, is_shared
        )


def _trees(trees: Any, query: str, origin: str) -> tuple[Named, ...]:
    try:
        if not isinstance(trees, list):
            raise TypeError
        for tree in trees:
            _read(tree, defaultdict(count().__next__))
    except (TypeError, ValueError):
        raise WeftError(
            f"{origin}, query {query}: found {json.dumps(trees)[:60]}, expected a list of trees such as "
            f'[["a", "c"], "b"], one for each alternative of the query'
        ) from None
    return tuple(trees)


def tree_to_names(tree: Tree, variables: tuple[str, ...]) -> Named:
    """Return a tree with variables for items.

    >>> tree_to_names(pair(pair(leaf(0), leaf(2)), leaf(1)), ("a", "b", "c"))
    [['a', 'c'], 'b']
    """
    if tree.is_leaf:
        return variables[tree.mask.bit_length() - 1]
    parts: list[Named] = [tree_to_names(part, variables) for part in tree.parts]
    if tree.computed_for is None:
        return {"bare": parts} if tree.unchecked else parts
    order, extent = tree.computed_for
    return {
        "bare" if tree.unchecked else "parts": parts,
        "order": sorted([variables[a], variables[b]] for a, b in order),
        "extent": None if extent is None else {**asdict(extent), "partition_by": list(extent.partition_by)},
    }


def tree_from_names(tree: Named, variables: tuple[str, ...]) -> Tree | None:
    """Return a tree over the items of a pattern; None unless it names each of its variables once."""
    try:
        read = _read(tree, {variable: item for item, variable in enumerate(variables)})
    except KeyError:
        return None
    n_leaves = sum(node.is_leaf for node in nodes_of(read))
    return read if n_leaves == len(variables) == read.mask.bit_count() else None


def _read(tree: Any, items: Mapping[str, int], depth: int = 0) -> Tree:
    """Return a tree over items; KeyError where a name is none of them, ValueError where it is no tree."""
    match tree:
        case str():
            return leaf(items[tree])
        case [left, right] if depth < DEEPEST:
            return pair(_read(left, items, depth + 1), _read(right, items, depth + 1))
        case {"bare": [_, _] as parts, **demands}:
            general = _read_demands(demands, items) if demands else None
            return _read(parts, items, depth)._replace(unchecked=True, computed_for=general)
        case {"parts": [_, _] as parts, **demands}:
            return _read(parts, items, depth)._replace(computed_for=_read_demands(demands, items))
    raise ValueError


def _read_demands(demands: Any, items: Mapping[str, int]) -> Demands:
    """Return demands on the items that there are; the order may name others."""
    match demands:
        case {"order": [*order], "extent": extent, **others} if not others and all(map(_is_pair, order)):
            known = [(a, b) for a, b in order if a in items and b in items]
            return Demands(frozenset((items[a], items[b]) for a, b in known), _read_extent(extent))
    raise ValueError


def _is_pair(names: Any) -> bool:
    return isinstance(names, list) and len(names) == 2 and all(isinstance(name, str) for name in names)


def _read_extent(extent: Any) -> Extent | None:
    match extent:
        case None:
            return None
        case {
            "clock": "time" | "position" as clock,
            "length": int() as length,
            "partition_by": [*names],
            **others,
        } if not others and type(length) is int and 0 <= length <= LONGEST:
            if all(isinstance(name, str) for name in names):
                return Extent(clock, length, tuple(names))
    raise ValueError
