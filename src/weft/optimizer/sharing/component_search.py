"""Search for a cheaper plan of patterns that can share, turn by turn, by the method that pays.

Idea        In a turn, one method takes a number of steps: best replies and giving up what does not pay, or
            annealing, which changes two patterns (an edge) or several (a vertex) in a step and begins cold
            or warm. Each method is tried once; then the one that lately gained most for its effort has the
            next turn, and every so often the one that has waited longest.
Reference   Our own: a bandit (exploration every few turns, as in epsilon-greedy, without chance) over the
            searches and neighborhoods of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over
            Event Streams. SIGMOD 2019, appendix B and section 4.2.
Differs     The effort is time, or steps where these are the limit, which makes a search repeatable: what a
            turn does depends on the turns before it alone, so a longer search begins as a shorter one does,
            and is never worse.
Complexity  That of the steps, and of the neighborhood: O(n m) labels for n patterns of m common sub-patterns.
"""

import random
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Generic, NamedTuple

from weft.optimizer.sharing.best_reply import best_reply
from weft.optimizer.sharing.compiled_annealing import CompiledAnnealing, compiled_annealing
from weft.optimizer.sharing.efforts import Efforts
from weft.optimizer.sharing.give_up_sharing import give_up_sharing
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.sharing.sharables import Sharables
from weft.optimizer.sharing.simulated_annealing import PATIENCE, simulated_annealing
from weft.optimizer.sharing.sub_patterns import Key

TURN_STEPS = 128  # of annealing in a first turn; each further turn of a method is longer by as many
MOST_TURN_STEPS = 2_048
EXPLORED_EVERY = 4  # turns, one goes to the method that has waited longest
COLD, WARM = 0.001, 0.1  # of the first threshold of the papers, as the trees are good already
COOLED = 0.001  # of the threshold that is left at the end of a turn
LESS_SHARING = "less sharing"


class SearchMethod(NamedTuple):
    """Replies, which change one pattern at a time; or annealing of so many, and how warm it begins."""

    name: str
    n_changed: int
    warmth: float = 0.0


REPLIES = SearchMethod("replies", 1)


def search_methods(sizes: Iterable[int]) -> list[SearchMethod]:
    """Return the methods that change so many patterns at once, and replies.

    >>> [method.name for method in search_methods([2, 4])]
    ['replies', 'edge', 'vertex of 4', 'warm edge', 'warm vertex of 4']
    """
    named = {size: "edge" if size == 2 else f"vertex of {size}" for size in sizes}
    ways = (("", COLD), ("warm ", WARM))
    annealing = [
        SearchMethod(way + name, size, warmth) for way, warmth in ways for size, name in named.items()
    ]
    return [REPLIES, *annealing]


class ComponentSearch(Generic[Key]):
    """The search among the patterns of one connected component; `efforts` says what was done."""

    def __init__(
        self,
        multitree: MultiTree[Key],
        sharables: Sharables[Key],
        plans: LocalPlans,
        keys: Sequence[Key],
        sizes: Sequence[int],
        seed: int,
    ) -> None:
        self.efforts = Efforts(multitree.nodes)
        self.n_steps = 0
        self._multitree, self._sharables, self._plans, self._keys = multitree, sharables, plans, keys
        self._methods = search_methods(sizes)
        self._dice = random.Random(seed)
        self._pays = dict.fromkeys(self._methods, 0.0)  # gain for the effort, of late
        self._last_turn = dict.fromkeys(self._methods, 0)
        self._n_turns = dict.fromkeys(self._methods, 0)
        self._n_idle = 0  # steps since the last gain
        self._is_answered = False  # whether replies have nothing to gain
        self._compiled: CompiledAnnealing[Key] | None = None

    @cached_property
    def _neighborhood(self) -> Neighborhood[Key]:
        return Neighborhood(self._multitree, self._sharables, self._plans, self._keys)

    @property
    def is_settled(self) -> bool:
        """Whether nothing was gained for long."""
        return self._is_answered and self._n_idle >= PATIENCE * self._neighborhood.size

    def take_turn(self, limit: Limit) -> None:
        """Go on with what pays most; the plan is never dearer afterwards."""
        method, total = self._next_method(), self._multitree.nodes.total
        taken, started = limit.taken, limit.clock()
        if method is REPLIES:
            self._answer(limit)
        else:
            self._anneal(method, limit)
        n_steps, gain = limit.taken - taken, total - self._multitree.nodes.total
        self.n_steps += n_steps
        effort = limit.clock() - started if limit.is_timed else float(n_steps)
        self._pays[method] = (self._pays[method] + gain / max(effort, 1e-9)) / 2
        self._n_turns[method] += 1
        self._last_turn[method] = sum(self._n_turns.values())
        self._is_answered = method is REPLIES or (self._is_answered and not gain)
        if gain:
            self._n_idle = 0

    def _next_method(self) -> SearchMethod:
        methods = [method for method in self._methods if method is not REPLIES or not self._is_answered]
        waiting = min(methods, key=self._last_turn.__getitem__)
        if not self._n_turns[waiting] or sum(self._n_turns.values()) % EXPLORED_EVERY == 0:
            return waiting
        return max(methods, key=lambda method: (self._pays[method], -self._last_turn[method]))

    def _answer(self, limit: Limit) -> None:
        with self.efforts.of(REPLIES.name, limit):
            best_reply(self._multitree, self._sharables, self._plans, self._keys, limit)
        with self.efforts.of(LESS_SHARING, limit):
            give_up_sharing(self._multitree, self._plans, self._keys, limit)

    def _anneal(self, method: SearchMethod, limit: Limit) -> None:
        n_steps = min(MOST_TURN_STEPS, TURN_STEPS * (1 + self._n_turns[method]))
        neighborhood = self._neighborhood.changing(method.n_changed)
        if limit.is_over():  # to find the neighbors takes a while, the first time
            return
        if self._compiled is None:
            self._compiled = compiled_annealing(neighborhood, limit)
        with self.efforts.of(method.name, limit):
            simulated_annealing(
                neighborhood,
                limit.turn(n_steps),
                self._dice,
                compiled=self._compiled,
                alpha=COOLED ** (1 / n_steps),
                warmth=method.warmth,
            )
        self._n_idle += n_steps  # also when there was nothing else to propose


def search_components(
    searches: Sequence[ComponentSearch[Key]], weights: Sequence[float], limit: Limit
) -> None:
    """Let components take turns, each as often as its weight says, until all are settled or time is up.

    The heaviest comes first; what a settled component does not need goes to the others.
    """
    waiting = [(search, max(weight, 1e-9)) for search, weight in zip(searches, weights, strict=True)]
    while waiting and not limit.is_over():
        search, _ = min(waiting, key=lambda entry: (entry[0].n_steps + TURN_STEPS) / entry[1])
        search.take_turn(limit)
        if not limit.is_over() and search.is_settled:
            waiting = [entry for entry in waiting if entry[0] is not search]
