"""The plan that an optimizer chose, as data: a tree of variable names for every alternative of a query.

It holds no conditions: these come from the queries whenever the plan is put together, so a stored
plan can be out of date but never wrong.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from weft.codec import VERSION
from weft.cost.shape import items_of
from weft.errors import WeftError
from weft.optimizer.assemble import LONGEST
from weft.optimizer.trees import Demands, Tree, leaf, pair
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
        '{"version": 3, "shared": true, "queries": {"q": [[["a", "c"], "b"]]}}'
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
            found = document.get("version") if isinstance(document, dict) else type(document).__name__
            raise WeftError(
                f"{origin} has version {found!r}, expected {VERSION}; make the plan anew with --save-plan"
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
    if not isinstance(trees, list) or not all(map(_is_tree, trees)):
        raise WeftError(
            f"{origin}, query {query}: found {json.dumps(trees)[:60]}, expected a list of trees such as "
            f'[["a", "c"], "b"], one for each alternative of the query'
        )
    return tuple(trees)


def _is_tree(tree: Any, depth: int = 0) -> bool:
    if depth > DEEPEST:
        return False
    if isinstance(tree, dict):
        parts = tree.get("bare", tree.get("parts"))
        general = {key: value for key, value in tree.items() if key not in ("bare", "parts")}
        is_general = set(general) == {"order", "extent"} and _is_order(general["order"])
        return (
            isinstance(parts, list)
            and _is_tree(parts, depth)
            and ("bare" in tree) != ("parts" in tree)
            and (is_general and _is_extent(general["extent"]) if general else "bare" in tree)
        )
    if isinstance(tree, list):
        return len(tree) == 2 and all(_is_tree(part, depth + 1) for part in tree)
    return isinstance(tree, str)


def _is_order(order: Any) -> bool:
    return isinstance(order, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)
        for pair in order
    )


def _is_extent(extent: Any) -> bool:
    if extent is None:
        return True
    return (
        isinstance(extent, dict)
        and set(extent) == {"clock", "length", "partition_by"}
        and extent["clock"] in ("time", "position")
        and type(extent["length"]) is int
        and 0 <= extent["length"] <= LONGEST
        and isinstance(extent["partition_by"], list)
        and all(isinstance(name, str) for name in extent["partition_by"])
    )


def named(tree: Tree, variables: tuple[str, ...]) -> Named:
    """Return a tree with variables for items.

    >>> named(pair(pair(leaf(0), leaf(2)), leaf(1)), ("a", "b", "c"))
    [['a', 'c'], 'b']
    """
    if tree.left is None or tree.right is None:
        return variables[next(items_of(tree.mask))]
    parts: list[Named] = [named(tree.left, variables), named(tree.right, variables)]
    if tree.computed_for is None:
        return {"bare": parts} if tree.unchecked else parts
    order = sorted([variables[a], variables[b]] for a, b in tree.computed_for.order)
    extent = None if tree.computed_for.extent is None else _plain(tree.computed_for.extent)
    return {"bare" if tree.unchecked else "parts": parts, "order": order, "extent": extent}


def _plain(extent: Extent) -> dict[str, Any]:
    """Return an extent as JSON has it."""
    return {**asdict(extent), "partition_by": list(extent.partition_by)}


def unnamed(tree: Named, variables: tuple[str, ...]) -> Tree | None:
    """Return a tree over the items of a pattern; None unless it names each of its variables once."""
    if sorted(_names(tree)) != sorted(variables):
        return None
    known = set(variables)

    def build(part: Named) -> Tree:
        if isinstance(part, str):
            return leaf(variables.index(part))
        if isinstance(part, dict):
            built = build(_parts(part))._replace(unchecked="bare" in part)
            return built._replace(computed_for=_demands(part)) if "order" in part else built
        return pair(build(part[0]), build(part[1]))

    def _demands(part: dict[str, Any]) -> Demands:
        order = [(a, b) for a, b in part["order"] if {a, b} <= known]
        extent = part["extent"]
        if extent is not None:
            extent = Extent(extent["clock"], extent["length"], tuple(extent["partition_by"]))
        return Demands(frozenset((variables.index(a), variables.index(b)) for a, b in order), extent)

    return build(tree)


def _parts(tree: dict[str, Any]) -> Named:
    found: Named = tree["bare"] if "bare" in tree else tree["parts"]
    return found


def _names(tree: Named) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    return [name for part in (_parts(tree) if isinstance(tree, dict) else tree) for name in _names(part)]
