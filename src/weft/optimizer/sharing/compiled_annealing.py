"""Simulated annealing whose steps are compiled: thousands of steps where Python takes a hundred.

Idea        Trees are rows of tables; a step looks things up in them and counts. What a step asks for the
            first time (the nodes of a join, whether a part of another fits) is answered by the same code
            that steps in Python use, and the step begins again.
Reference   That of `simulated_annealing`, whose moves these are.
Differs     From steps in Python: other dice; a pair of events that others leave unordered grows in a few
            ways, some of which are drawn anew in each turn; and trees with a node that costs 2^34 or more are
            not taken. Patterns of more than 12 items, mere orders, and latency are left to Python.
Complexity  That of the algorithm for single patterns, and the nodes that a step changes.
"""

import random
from collections.abc import Callable

import numpy as np

from weft.kernels.compilation import is_compiled
from weft.kernels.plans.annealing import RUN, anneal, probe, take_trees
from weft.kernels.plans.neighbors import MOST_ITEMS, VARIANTS, Neighbor, new_neighbor
from weft.kernels.plans.tables import (
    BEST,
    CHECK,
    FIT,
    GENERAL,
    GROW,
    JOIN,
    NOTHING,
    PLACE,
    UNKNOWN,
    WEAKER,
    pair_key,
    placing_key,
)
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.sharing.search_tables import is_expressible
from weft.optimizer.sharing.sub_patterns import Key
from weft.optimizer.sharing.tree_tables import TreeTables
from weft.optimizer.trees import Tree, pair, relabel, specialize, uncheck

LONG_SEARCH = 120.0  # seconds; the kernels take some 20 to compile
CHUNK = 256  # steps after which one looks at the limit
MOST_TOTAL = 1 << 60  # whole costs of a plan; more cannot be added up with those of a step
SEED_BITS = 64


def compiled_annealing(neighborhood: Neighborhood[Key], limit: Limit) -> "CompiledAnnealing[Key] | None":
    """Return what takes steps of annealing; None where these are left to Python.

    So they are in a short search that would be over before the kernels are compiled. Where time is no limit,
    they never are for that reason: what is found depends on the seed alone.
    """
    is_worthwhile = not limit.is_timed or limit.time_left() > LONG_SEARCH or is_compiled(anneal)
    return CompiledAnnealing(neighborhood) if is_worthwhile and is_expressible(neighborhood) else None


class CompiledAnnealing(TreeTables[Key]):
    """Takes steps of annealing, in turns between which the multitree may change."""

    def __init__(self, neighborhood: Neighborhood[Key]) -> None:
        super().__init__(neighborhood)
        self.general_at: list[Tree] = []  # over places instead of items
        self.general_numbers: dict[Tree, int] = {}
        self._known = [NOTHING] * len(self.keys)  # the trees that the tables have counted
        self._changed = np.zeros(len(self.keys), np.int64)
        self._run = np.zeros(1, RUN)
        self.dice = np.zeros(1, np.uint64)
        self._neighbor: Neighbor = new_neighbor(2, MOST_ITEMS)
        self._answers: dict[int, Callable[..., None]] = {
            JOIN: self._answer_join,
            CHECK: self._answer_check,
            BEST: self._answer_best,
            GENERAL: self._answer_general,
            PLACE: self._answer_place,
            FIT: self._answer_fit,
            GROW: self._answer_grow,
            WEAKER: self._answer_weaker,
        }
        self._grower = random.Random(0)
        self._n_turns = 0

    def begin(self, k: int, dice: random.Random) -> bool:
        """Begin with the trees that the multitree has now; False where they cost too much to be added up."""
        trees = self.multitree.trees
        new = {
            number: self.tree(number, trees[key])
            for number, key in enumerate(self.keys)
            if self._known[number] == NOTHING or trees[key] is not self.tree_at[self._known[number]]
        }
        self._count(new)
        self._known = [new.get(number, tree) for number, tree in enumerate(self._known)]
        self.look_outside()
        total = self.multitree.nodes.total
        if total >= MOST_TOTAL or any(self.trees.array[tree]["is_dear"] for tree in self._known):
            return False
        self._run[0] = (total, total, 0, 0, 0, False, 0.0, 0.0)
        self.dice[0], self._grower = dice.getrandbits(SEED_BITS), dice
        self.grown.array[self._n_turns % VARIANTS :: VARIANTS] = (UNKNOWN, UNKNOWN)  # some of them anew
        self._n_turns += 1
        self._neighbor = new_neighbor(k, MOST_ITEMS)
        return True

    def _count(self, trees: dict[int, int]) -> None:
        """Count these trees in the place of those that patterns have in the tables."""
        numbers, others = (np.array(list(values), np.int64) for values in (trees.keys(), trees.values()))
        take_trees(self.tables(), numbers, others)

    @property
    def total(self) -> int:
        """The cost of the present trees, in units of 1 / SCALE."""
        return int(self._run[0]["total"])

    def first_threshold(self, limit: Limit, n_probes: int) -> float:
        """Return by how much neighbors of the present plan differ from it at most."""
        self._go_on(limit, n_probes, self._probe)
        self._run[0]["is_over"] = False
        return float(self._run[0]["largest"])

    def anneal(self, limit: Limit, threshold: float, alpha: float, patience: int) -> None:
        """Take steps until nothing was gained for so many, or until the limit."""
        run = self._run[0]
        run["threshold"], run["alpha"] = threshold, alpha
        while run["idle"] < patience and not run["is_over"]:
            if not self._go_on(limit, min(CHUNK, patience - int(run["idle"])), self._anneal):
                break
            limit.tell(self.multitree.cost)

    def _probe(self, n_steps: int) -> int:
        return probe(self.tables(), self._neighbor, self._run, self.dice, n_steps)

    def _anneal(self, n_steps: int) -> int:
        return anneal(self.tables(), self._neighbor, self._run, self.dice, self._changed, n_steps)

    def _go_on(self, limit: Limit, n_steps: int, take: Callable[[int], int]) -> int:
        """Take so many steps if the limit allows, and answer what is asked; return how many were taken."""
        n_taken = 0
        while n_taken < n_steps and not self._run[0]["is_over"]:
            allowed = limit.n_allowed(n_steps - n_taken)
            if not allowed:
                break
            self.question[0] = NOTHING
            n_done = take(allowed)
            limit.count(n_done)
            n_taken += n_done
            if self.question[0] != NOTHING:
                self.answer()
        return n_taken

    def end(self) -> None:
        """Give the multitree the best trees that were found."""
        run = self._run[0]
        changed = self._changed[: run["n_changed"]].tolist()
        best = self.patterns.array["best"]
        self._count({number: int(best[number]) for number in changed})
        now = best[: len(self.keys)].tolist()
        found = {number: tree for number, tree in enumerate(now) if tree != self._known[number]}
        for number, tree in found.items():
            self._known[number] = tree
        run["total"], run["n_changed"] = run["best_total"], 0
        before = {self.keys[number]: self.multitree.trees[self.keys[number]] for number in found}
        if self.multitree.replace(self.trees_of(found)) > 0:
            self.multitree.replace(before)

    def answer(self) -> None:
        """Answer what the kernels asked last."""
        kind, *asked = self.question.tolist()
        self._answers[kind](*asked)
        self.settle()

    def _answer_join(self, left: int, right: int, *_: int) -> None:
        number = int(self.trees.array[left]["pattern"])
        joined = pair(self.tree_at[left], self.tree_at[right])
        self.joins.put(pair_key(left, right), self.tree(number, joined))

    def _answer_check(self, tree: int, *_: int) -> None:
        number = int(self.trees.array[tree]["pattern"])
        checked = self.tree(number, self.tree_at[tree]._replace(unchecked=False))
        self.trees.array[tree]["checked"] = checked

    def _answer_best(self, places: int, *_: int) -> None:
        number, label = self.labels[places]
        best = self.neighborhood.plans.part(self.of_number[number], label.mask)
        self.places.array[places]["best"] = self.tree(number, best)

    def _answer_general(self, tree: int, places: int, *_: int) -> None:
        general = relabel(specialize(self.tree_at[tree]), self.labels[places][1].places)
        known = self.general_numbers.setdefault(general, len(self.general_at))
        if known == len(self.general_at):
            self.general_at.append(general)
        self.generals.put(pair_key(tree, places), known)

    def _answer_place(self, general: int, places: int, extent: int, is_unchecked: int) -> None:
        number, label = self.labels[places]
        tree = self.general_at[general]
        placed = self.of_number[number].place(
            uncheck(tree) if is_unchecked else tree, label, self.extents[extent]
        )
        question = placing_key(general, places, extent, bool(is_unchecked))
        self.placings.put(question, self.tree(number, placed))

    def _answer_fit(self, part: int, places: int, *_: int) -> None:
        number, label = self.labels[places]
        tree = self.of_number[number].fit(self.part_at[part], label)
        self.fits.put(pair_key(part, places), NOTHING if tree is None else self.tree(number, tree))

    def _answer_grow(self, number: int, place: int, *_: int) -> None:
        """Let a pair grow that a pattern orders and others do not."""
        key, row = self.keys[number], self.patterns.array[number]
        pairs = self.neighborhood.unordered[key]
        chosen = pairs[place * len(pairs) // int(row["n_grown"])]
        grown = self.neighborhood.sharables.grow(key, chosen, self._grower)
        places = [self.place(self.of_key[owner], label) for owner, label in grown.items()]
        answer = (*places, NOTHING, NOTHING)[:2]
        self.grown.array[int(self.patterns.array[number]["first_grown"]) + place] = answer

    def _answer_weaker(self, number: int, *_: int) -> None:
        self.find_weaker(number)
