"""Search for a cheaper shared plan by simulated annealing.

Idea        Take a random neighbor when it is cheaper, and with a probability that shrinks with time
            when it is dearer. The cheapest plan seen is the result.
Reference   Appendix B of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event Streams.
            SIGMOD 2019, with its parameters.
Differs     At most a tenth of the limit is spent on the first threshold.
Complexity  A step costs the proposal and the nodes that it changes.
"""

import math
import random

from weft.optimizer.sharing.compiled_annealing import CompiledAnnealing
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.sharing.sub_patterns import Key
from weft.optimizer.trees import Tree

ALPHA = 0.99  # of the threshold that is left after a step
N_PROBES = 1_000  # neighbors whose differences set the first threshold
PATIENCE = 20  # times the size of the neighborhood without an improvement end the search
TOLD_EVERY = 256


def simulated_annealing(
    neighborhood: Neighborhood[Key],
    limit: Limit,
    dice: random.Random,
    *,
    compiled: CompiledAnnealing[Key] | None = None,
    alpha: float = ALPHA,
    n_probes: int = N_PROBES,
    warmth: float = 1.0,
) -> None:
    """Leave the multitree with the cheapest trees found; never dearer than it was.

    Steps are `compiled` where that is given. The search begins at `warmth` times the threshold: less than 1
    when the trees are good already.
    """
    multitree = neighborhood.multitree
    n_probes = min(n_probes, PATIENCE * neighborhood.size)
    if compiled is not None and compiled.begin(neighborhood.k, dice):
        threshold = warmth * compiled.first_threshold(limit.part(0.1), n_probes)
        compiled.anneal(limit, threshold, alpha, PATIENCE * neighborhood.size)
        compiled.end()
        return
    threshold = warmth * _first_threshold(neighborhood, limit.part(0.1), dice, n_probes)
    best_total = multitree.nodes.total
    best: dict[Key, Tree] = {}  # what differs from the present trees
    best_at = limit.taken
    while limit.taken - best_at < PATIENCE * neighborhood.size and limit.allows_step():
        changes = neighborhood.propose(dice)
        if changes is None:
            break
        before = {key: multitree.trees[key] for key in changes}
        delta = multitree.replace(changes)
        if delta > 0 and not accepts(delta, threshold, dice):
            multitree.replace(before)
        elif multitree.nodes.total < best_total:
            best_total, best, best_at = multitree.nodes.total, {}, limit.taken
        else:
            best = {**before, **best}
        threshold *= alpha
        if limit.taken % TOLD_EVERY == 0:
            limit.tell(multitree.cost)
    multitree.replace(best)


def _first_threshold(
    neighborhood: Neighborhood[Key], limit: Limit, dice: random.Random, n_probes: int
) -> float:
    multitree = neighborhood.multitree
    largest = 0
    for _ in range(n_probes):
        changes = neighborhood.propose(dice) if limit.allows_step() else None
        if changes is None:
            break
        largest = max(largest, abs(multitree.change_by(changes)))
    return float(largest)


def accepts(change: float, threshold: float, dice: random.Random) -> bool:
    """Say whether a change for the worse is taken: the more rarely, the larger it is for the threshold."""
    return threshold > 0 and dice.random() < math.exp(-min(change / threshold, 700.0))
