"""The choice that an optimizer made, as data: a tree of variable names for every alternative of a query.

It holds no conditions: these come from the queries whenever the plan is put together, so a stored
choice can be out of date but never wrong.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from weft.cost.shape import items_of
from weft.errors import WeftError
from weft.optimizer.trees import Tree, leaf, pair

VERSION = 1

Named: TypeAlias = "str | list[Named] | dict[str, Named]"


@dataclass(frozen=True)
class Choice:
    """For each query, the trees of its alternatives; and whether equal nodes are shared at all."""

    trees: Mapping[str, tuple[Named, ...]]
    is_shared: bool = True

    def to_json(self) -> str:
        """Return the choice as JSON text.

        >>> Choice({"q": ([["a", "c"], "b"],)}).to_json()
        '{"version": 1, "shared": true, "queries": {"q": [[["a", "c"], "b"]]}}'
        """
        queries = {name: list(trees) for name, trees in self.trees.items()}
        return json.dumps(
            {"version": VERSION, "shared": self.is_shared, "queries": queries}, ensure_ascii=False
        )

    @staticmethod
    def from_json(text: str, origin: str = "the plan") -> "Choice":
        """Return the choice written by `to_json`; what is wrong with the text is said."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
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
        return Choice({str(name): _trees(trees, name, origin) for name, trees in queries.items()}, is_shared)


def _trees(trees: Any, query: str, origin: str) -> tuple[Named, ...]:
    if not isinstance(trees, list) or not all(map(_is_tree, trees)):
        raise WeftError(
            f"{origin}, query {query}: found {json.dumps(trees)[:60]}, expected a list of trees such as "
            f'[["a", "c"], "b"], one for each alternative of the query'
        )
    return tuple(trees)


def _is_tree(tree: Any) -> bool:
    if isinstance(tree, dict):
        return set(tree) == {"bare"} and isinstance(tree["bare"], list) and _is_tree(tree["bare"])
    return isinstance(tree, str) or (isinstance(tree, list) and len(tree) == 2 and all(map(_is_tree, tree)))


def named(tree: Tree, variables: tuple[str, ...]) -> Named:
    """Return a tree with variables for items.

    >>> named(pair(pair(leaf(0), leaf(2)), leaf(1)), ("a", "b", "c"))
    [['a', 'c'], 'b']
    """
    if tree.left is None or tree.right is None:
        return variables[next(items_of(tree.mask))]
    parts: list[Named] = [named(tree.left, variables), named(tree.right, variables)]
    return {"bare": parts} if tree.bare else parts


def unnamed(tree: Named, variables: tuple[str, ...]) -> Tree | None:
    """Return a tree over the items of a pattern; None unless it names each of its variables once."""
    names = list(_names(tree))
    if sorted(names) != sorted(variables):
        return None

    def build(part: Named) -> Tree:
        if isinstance(part, str):
            return leaf(variables.index(part))
        if isinstance(part, dict):
            return build(part["bare"])._replace(bare=True)
        return pair(build(part[0]), build(part[1]))

    return build(tree)


def _names(tree: Named) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    return [name for part in (tree["bare"] if isinstance(tree, dict) else tree) for name in _names(part)]
