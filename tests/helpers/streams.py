"""Deliver the events of a case as a stream would: late, twice, in pieces, to processes that come and go."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from tests.helpers.engine import STEPS, Bindings, Outcome, Timeouts, arrow_events, derived_schema, outcome_of
from tests.helpers.mutations import queries_in, with_window
from tests.helpers.strategies import SECOND, Case

from weft.codec import from_json, to_json
from weft.normalize.pipeline import normalize
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import Planning, Strategy
from weft.pattern.nodes import CountWindow, TimeWindow
from weft.plan.nodes import Plan
from weft.reference.events import ReferenceEvent
from weft.runtime.budget import Budget
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.execute import Found
from weft.runtime.stages.shard import Memory, Shard
from weft.runtime.stages.shard_program import Arrived, ShardProgram, StepOutcome
from weft.runtime.trends.executor import TrendPlan

MILLISECOND = 1_000
AFTER_ALL = 1 << 50  # milliseconds
KEYS = ("k", "name", "y", "amount", "flag")  # by which random queries partition
LONGEST_COUNT = 12  # the longest window of events of random queries


@dataclass
class Kept:
    """A store in memory that knows when to be woken."""

    text: str | None = None
    segments: dict[int, bytes] = field(default_factory=dict)
    due: int | None = None

    def journal(self) -> str | None:
        return self.text

    def set_journal(self, text: str) -> None:
        self.text = text

    def segment(self, number: int) -> bytes:
        return self.segments[number]

    def set_segment(self, number: int, content: bytes) -> None:
        assert number not in self.segments, "a segment is written once"
        self.segments[number] = content

    def remove_segment(self, number: int) -> None:
        del self.segments[number]

    def clear(self) -> None:
        self.text = None
        self.segments.clear()

    def wake(self, moment: int | None, previous: int | None) -> None:
        assert previous == self.due, "a timer is deleted that was not set"
        self.due = moment

    def copy(self) -> "Kept":
        return Kept(self.text, dict(self.segments), self.due)


def program_of(
    plan: Plan | TrendPlan, layout: Layout, *, delay: int, budget: Budget | None = None, **changed: str
) -> ShardProgram:
    """Return the program of the only shard; `changed` are fingerprints other than the usual."""
    asked = plan.templates if isinstance(plan, TrendPlan) else plan.outputs
    names = {one.query: changed.get(one.query, "same") for one in asked}
    return ShardProgram(plan, layout, pa.int64(), budget or Budget(), "1 shards", names, delay)


@dataclass
class Stream:
    """A stream to one shard, with Spark's watermark, timers, retries and a few worker processes."""

    program: ShardProgram
    dice: random.Random
    n_workers: int = 2
    is_calm: bool = False  # no process ends, no attempt fails
    store: Kept = field(default_factory=Kept)
    latest: int | None = None
    late: int = 0
    outcomes: list[StepOutcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.workers = [Memory() for _ in range(self.n_workers)]

    @property
    def wake(self) -> int | None:
        """When time alone may change something."""
        return self.store.due

    @property
    def watermark(self) -> int:
        if self.latest is None:
            return 0
        return max(0, self.latest // MILLISECOND - self.program.delay // MILLISECOND)

    def deliver(self, table: pa.Table) -> None:
        """Run a micro-batch; an attempt may fail and be repeated, by another process."""
        tables = [table.slice(0, table.num_rows // 2), table.slice(table.num_rows // 2)]
        tables = [part for part in tables if part.num_rows]
        if tables or (self.wake is not None and self.watermark >= self.wake):
            self._run(tables, self.watermark)
        if table.num_rows:
            most = max(table[self.program.layout.time].to_pylist())
            self.latest = most if self.latest is None else max(self.latest, most)

    def finish(self) -> None:
        """Let the watermark pass everything, until time alone changes nothing any more."""
        while self.wake is not None and self._run([], AFTER_ALL):
            pass

    def _run(self, tables: list[pa.Table], watermark: int) -> bool:
        """Run a step, and say whether there was anything to do."""
        if not self.is_calm and self.dice.random() < 0.1:
            self.workers[self.dice.randrange(self.n_workers)] = Memory()
        if not self.is_calm and self.dice.random() < 0.15:
            Shard("s", self.program, self.store.copy(), self.dice.choice(self.workers)).step(
                Arrived(tables), watermark
            )
        outcome = Shard("s", self.program, self.store, self.dice.choice(self.workers)).step(
            Arrived(tables), watermark
        )
        if outcome is not None:
            self.late += outcome.report.late
            self.outcomes.append(outcome)
        return outcome is not None


def deliveries(events: Iterable[ReferenceEvent], dice: random.Random, delay: int) -> list[int]:
    """Return events, by their numbers, in an order of arrival within the delay, some of them twice."""
    arrivals = []
    for number, event in enumerate(events):
        for _ in range(1 + (dice.random() < 0.2)):
            arrivals.append((event.time + dice.randint(0, delay), dice.random(), number))
    return [number for _, _, number in sorted(arrivals)]


def cut(rows: list[int], dice: random.Random, n_batches: int) -> Iterator[list[int]]:
    """Cut rows into batches, some of them empty."""
    cuts = sorted(dice.randint(0, len(rows)) for _ in range(n_batches - 1))
    for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        yield rows[start:stop]


def plans_of(case: Case) -> list[Plan]:
    """Return different plans of the same queries."""
    strategies: tuple[Strategy, ...] = ("trivial", "reorder", "share", "motto")
    chosen = [
        choose_plan(
            case.queries, derived_schema(case), Planning(plan=name, steps=STEPS, cost="partial-matches")
        ).plan
        for name in strategies
    ]
    return [from_json("plan", to_json("plan", plan)) for plan in chosen]


def run_stream(case: Case, seed: int) -> tuple[Outcome, Stream]:
    """Run a case as a stream; everything about the delivery is drawn from the seed.

    Now and then the plan changes, as it may between a stop and the next start.
    """
    dice = random.Random(seed)
    delay = dice.choice([0, 1_000_000, 3_000_000])
    table, layout = arrow_events(case)
    programs = [program_of(plan, layout, delay=delay) for plan in plans_of(case)]
    stream = Stream(dice.choice(programs), dice, n_workers=dice.randint(1, 3))
    for rows in cut(deliveries(case.events, dice, delay), dice, dice.choice([dice.randint(1, 8), 20])):
        if dice.random() < 0.2:
            stream.program = dice.choice(programs)
        stream.deliver(table.take(pa.array(rows, pa.int64())))
    stream.finish()
    return merged(stream), stream


def merged(stream: "Stream") -> Outcome:
    """Return all matches and timeouts of the steps of a stream; none may occur twice."""
    names = stream.program.fingerprints
    matches: dict[str, dict[Bindings, dict[str, object]]] = {name: {} for name in names}
    ids: dict[str, list[str]] = {name: [] for name in names}
    timeouts: dict[str, Timeouts] = {}
    for outcome in stream.outcomes:
        matched = [one for one in outcome.found if isinstance(one, Found)]
        found = outcome_of(Plan(tuple(dict.fromkeys(one.output for one in matched))), matched)
        for name, own in found.matches.items():
            known = matches.setdefault(name, {})
            assert not known.keys() & own.keys(), "a match was emitted twice"
            known.update(own)
            ids.setdefault(name, []).extend(found.ids[name])
        for name, late in found.timeouts.items():
            before = timeouts.setdefault(name, {})
            assert not before.keys() & late.keys(), "a timeout was emitted twice"
            before.update(late)
    return Outcome(matches, ids, timeouts)


def as_stream(case: Case) -> Case:
    """Return a case that a stream can decide to the end.

    Every query has a window, and after the events of the case come enough others, of a type that no query
    names and of every key there is, to let each window of events end.
    """
    texts = [text if "\nWITHIN " in text else with_window(text, "1 minute") for text in queries_in(case.text)]
    events = list(case.events)
    if any(isinstance(query.window, CountWindow) for query in case.queries):
        keys = {tuple(repr(event.attributes.get(name)) for name in KEYS): event for event in case.events}
        last = max(event.time for event in events)
        for number, model in enumerate(list(keys.values()) * LONGEST_COUNT):
            row = len(events)
            filler = replace(model, row=row, types=frozenset("E"), time=last + SECOND * (number + 1))
            events.append(replace(filler, id=None if model.id is None else row))
    return replace(case, text="\n\n".join(texts), events=tuple(events))


def never_settled(case: Case) -> set[str]:
    """Return the queries whose last matches time alone does not settle: NOT without a window of time."""
    return {
        query.name
        for query in case.queries
        for form in normalize(query)
        if form.negations and not isinstance(form.window, TimeWindow)
    }


def counted(stream: Stream) -> Mapping[str, int]:
    """Return the matches that the reports of a stream count."""
    return _summed(outcome.report.matches for outcome in stream.outcomes)


def counted_timeouts(stream: Stream) -> Mapping[str, int]:
    """Return the timeouts that the reports of a stream count."""
    return _summed(outcome.report.timeouts for outcome in stream.outcomes)


def _summed(counts: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    total = Counter[str]()
    for own in counts:
        total.update(own)
    return total
