"""Search for a cheaper shared plan by tabu search.

Idea        Look at some random neighbors and move to the cheapest, also when it is dearer than the
            present plan, but to none that was visited lately. The cheapest plan seen is the result.
Reference   Appendix B of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event Streams.
            SIGMOD 2019, with its parameters.
Differs     A plan is remembered by the sum of the hashes of its trees.
Complexity  A move costs `n_neighbors` proposals and the nodes that they change.
"""

import random
from collections import deque
from collections.abc import Mapping

from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.sharing.sub_patterns import Key
from weft.optimizer.trees import Tree

N_NEIGHBORS = 100
CAPACITY = 10_000
PATIENCE = 20  # times the size of the neighborhood without an improvement end the search


def tabu_search(
    neighborhood: Neighborhood[Key],
    limit: Limit,
    dice: random.Random,
    *,
    n_neighbors: int = N_NEIGHBORS,
    capacity: int = CAPACITY,
) -> None:
    """Leave the multitree with the cheapest trees found; never dearer than it was."""
    multitree = neighborhood.multitree
    best_total = multitree.nodes.total
    best: dict[Key, Tree] = {}  # what differs from the present trees
    best_at = limit.taken
    state = sum(hash(entry) for entry in multitree.trees.items())
    visited, order = {state}, deque([state])
    while limit.taken - best_at < PATIENCE * neighborhood.size:
        options: list[tuple[int, int, dict[Key, Tree]]] = []
        for _ in range(min(n_neighbors, neighborhood.size)):
            changes = neighborhood.propose(dice) if limit.allows_step() else None
            if changes is None:
                break
            following = state + _shift(multitree, changes)
            if following not in visited:
                options.append((multitree.change_by(changes), following, changes))
        if not options:
            break
        _, state, changes = min(options, key=lambda option: option[0])
        best = {**{key: multitree.trees[key] for key in changes}, **best}
        multitree.replace(changes)
        if multitree.nodes.total < best_total:
            best_total, best, best_at = multitree.nodes.total, {}, limit.taken
        visited.add(state)
        order.append(state)
        if len(order) > capacity:
            visited.discard(order.popleft())
        limit.tell(multitree.cost)
    multitree.replace(best)


def _shift(multitree: MultiTree[Key], changes: Mapping[Key, Tree]) -> int:
    """Return by how much changes move the sum of hashes."""
    return sum(hash((key, tree)) - hash((key, multitree.trees[key])) for key, tree in changes.items())
