"""One pattern on a drifting stream, on one core: the loop of detection and adaptation, with a clock.

The clock is that of the processor, which other processes do not disturb as much.

This is algorithm 1 of Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event Patterns. PVLDB
11(11), 2018: after every batch of events, the decision function looks at the statistics. When it says so, a
plan is made, and deployed if it costs less than the one that runs. Statistics, plans and the way to change
from one to another are the same whatever the decision function is; a static plan has no statistics at all.
"""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import thread_time as clock

from adaptation_patterns import WINDOW_SECONDS
from adaptation_streams import SCHEMA

from weft.adaptation.decisions import DecisionFunction, Static
from weft.adaptation.invariants import still_best
from weft.adaptation.migration import MigratingExecutor, Way
from weft.adaptation.shape_reader import ShapeReader
from weft.cost.measured import Measured
from weft.cost.model import CostModel
from weft.cost.shape import Shape
from weft.language.read import read_queries
from weft.normalize.pipeline import normalize
from weft.optimizer.assemble import assemble
from weft.optimizer.demands import Context
from weft.optimizer.orders.decided import Decided, Side, local_cost, tree_steps
from weft.optimizer.orders.greedy_order import decide_greedy_order
from weft.optimizer.orders.zstream_tree import decide_zstream_tree
from weft.optimizer.pipeline import weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.shape_of import item_keys, questions_of
from weft.optimizer.trees import Tree
from weft.pattern.normal_form import NormalForm
from weft.plan.nodes import Branch, Output, Plan
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.stages.shard_executor import Arrivals
from weft.runtime.state.segments import with_arrival
from weft.schema import Schema
from weft.statistics.live import LiveStatistics
from weft.statistics.model import Inquiry, Statistics

BUDGET = Budget(partial_matches=50_000_000, held=50_000_000)
Algorithm = Callable[[Shape, CostModel], Decided]
ALGORITHMS: dict[str, Algorithm] = {
    "greedy": lambda shape, _: decide_greedy_order(shape),
    "ZStream": decide_zstream_tree,
}


@dataclass(frozen=True)
class Contest:
    """A pattern, an algorithm for its plans, events in batches, and what is known in the beginning."""

    text: str
    algorithm: str
    batches: Sequence[Events]
    initial: Statistics
    model: CostModel = field(default_factory=Measured)
    schema: Schema = SCHEMA
    window_seconds: float = WINDOW_SECONDS

    @cached_property
    def query(self) -> str:
        return read_queries(self.text, self.schema)[0].name

    @cached_property
    def forms(self) -> tuple[NormalForm, ...]:
        return tuple(normalize(read_queries(self.text, self.schema)[0]))

    @cached_property
    def context(self) -> Context:
        return weave_for(self.schema, Planning(cost="partial-matches")).context

    @cached_property
    def readers(self) -> tuple[ShapeReader, ...]:
        return tuple(ShapeReader(form, self.context) for form in self.forms)

    @property
    def n_events(self) -> int:
        return sum(batch.n_events for batch in self.batches)

    def shapes(self, statistics: Statistics) -> list[Shape]:
        """Return the alternatives of the pattern under some statistics."""
        return [reader.shape(statistics) for reader in self.readers]

    def decided(self, shape: Shape) -> Decided:
        """Return the plan of an alternative."""
        return ALGORITHMS[self.algorithm](shape, self.model)

    def plan(self, trees: Sequence[Tree]) -> Plan:
        """Return the plan with a tree for each alternative."""
        built = [assemble(form, tree, self.context) for form, tree in zip(self.forms, trees, strict=True)]
        branches = tuple(Branch(one.node, one.variables, ()) for one in built)
        return Plan((Output(self.query, (), branches),))

    def live(self) -> LiveStatistics:
        """Return statistics that have seen nothing yet."""
        return LiveStatistics(
            Inquiry(
                [key for form in self.forms for key in item_keys(form)],
                [question for form in self.forms for question in questions_of(form, self.window_seconds)],
                longest=self.window_seconds,
            ),
            initial=self.initial,
        )


@dataclass
class AdaptiveRun:
    """What a run took, in seconds, and what it did."""

    n_events: int = 0
    n_matches: int = 0
    n_checks: int = 0
    n_planned: int = 0
    n_deployed: int = 0
    seconds: float = 0.0
    statistics_seconds: float = 0.0
    decision_seconds: float = 0.0
    planning_seconds: float = 0.0
    deployment_seconds: float = 0.0

    @property
    def throughput(self) -> float:
        """Events per second of the whole time."""
        return self.n_events / self.seconds

    @property
    def overhead(self) -> float:
        """The share of the time that decisions and plans took, as the paper counts it."""
        return (self.decision_seconds + self.planning_seconds) / self.seconds

    @property
    def statistics_share(self) -> float:
        """The share of the time that statistics took."""
        return self.statistics_seconds / self.seconds


class _Adapted:
    """The plan that runs, and what decides on the next one: a function for each alternative."""

    def __init__(self, contest: Contest, decide: Callable[[], DecisionFunction]) -> None:
        self.contest = contest
        shapes = contest.shapes(contest.initial)
        found = [contest.decided(shape) for shape in shapes]
        self.trees = [one.tree for one in found]
        self.decisions = [decide() for _ in found]
        for decision, decided, shape in zip(self.decisions, found, shapes, strict=True):
            decision.adopt(decided, shape)

    def violated(self, shapes: Sequence[Shape]) -> list[int]:
        """Return the alternatives to be planned anew."""
        return [
            place
            for place, (decision, shape) in enumerate(zip(self.decisions, shapes, strict=True))
            if decision.violation(shape) is not None
        ]

    def replanned(self, places: Sequence[int], shapes: Sequence[Shape]) -> bool:
        """Plan alternatives anew; say whether one of them has another tree now."""
        is_changed = False
        for place in places:
            shape, tree, model = shapes[place], self.trees[place], self.contest.model
            decided = self.contest.decided(shape)
            before = local_cost(tree, shape, model)
            gain = 1.0 - local_cost(decided.tree, shape, model) / before
            is_better = decided.tree != tree and gain > 0
            self.decisions[place].learn(gain if is_better else 0.0)
            if is_better:
                self.trees[place], is_changed = decided.tree, True
            elif decided.tree != tree:
                own, other = (Side(tree_steps(one, shape)) for one in (tree, decided.tree))
                decided = Decided(tree, (still_best(own, other, shape, model), *decided.blocks))
            self.decisions[place].adopt(decided, shape)
        return is_changed


def run_adaptive(
    contest: Contest, decide: Callable[[], DecisionFunction], way: Way = "rebuild"
) -> AdaptiveRun:
    """Run a pattern on a stream; the time begins with the first event."""
    adapted = _Adapted(contest, decide)
    executor = MigratingExecutor(contest.plan(adapted.trees), BUDGET)
    live = None if isinstance(adapted.decisions[0], Static) else contest.live()
    run = AdaptiveRun(n_events=contest.n_events)
    gc.collect()
    started = clock()
    for number, batch in enumerate(contest.batches):
        is_last = number + 1 == len(contest.batches)
        frontier = END_OF_TIME if is_last else int(contest.batches[number + 1].times[0])
        found = executor.step(Arrivals(with_arrival(batch, number)), frontier)
        run.n_matches += sum(one.n_rows for one in found)
        if live is None or is_last:
            continue
        begun = clock()
        live.observe(batch, frontier)
        shapes = contest.shapes(live.statistics())
        known = clock()
        violated = adapted.violated(shapes)
        decided = clock()
        run.statistics_seconds += known - begun
        run.decision_seconds += decided - known
        run.n_checks += 1
        if violated:
            run.n_planned += 1
            is_changed = adapted.replanned(violated, shapes)
            planned = clock()
            run.planning_seconds += planned - decided
            if is_changed:
                run.n_deployed += 1
                executor.switch(contest.plan(adapted.trees), way)
                run.deployment_seconds += clock() - planned
    run.seconds = clock() - started
    return run
