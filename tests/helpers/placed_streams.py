"""Events that arise at sites as a stream would bring them: Spark's levels, watermark, timers and retries."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from tests.helpers.engine import Bindings, arrow_events
from tests.helpers.placed import PlacedCase, matches_at, raw_messages
from tests.helpers.streams import AFTER_ALL, MILLISECOND, Kept, cut, deliveries

from weft.plan.sites import SiteProgram
from weft.runtime.budget import Budget
from weft.runtime.stages.match_codec import MatchCodec
from weft.runtime.stages.messages import Message
from weft.runtime.stages.shard import Memory
from weft.runtime.stages.site_stage import SiteNetwork, SiteStage
from weft.runtime.stages.stages import stage_of
from weft.runtime.stages.task import SitesTask, StageTask


@dataclass
class PlacedStream:
    """A program on a stream; what Spark would keep of each site and level is in stores."""

    program: SiteProgram
    codec: MatchCodec
    dice: random.Random
    delay: int
    is_calm: bool = False  # no process ends, no attempt fails
    stores: dict[tuple[int, str], Kept] = field(default_factory=dict)
    latest: int | None = None
    late: int = 0
    sent: dict[tuple[str, str, str], int] = field(default_factory=dict)
    found: list[tuple[str, Bindings, dict[str, object]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        sites = SitesTask(self.program.to_json(), self.codec.layout)
        task = StageTask(self.codec.id_type, Budget(), sites=sites, assignment="program")
        self.network = SiteNetwork(sites, task.id_type)
        stages = [stage_of(task, number, Memory()) for number in range(self.program.n_levels)]
        self.levels = [stage for stage in stages if isinstance(stage, SiteStage)]
        self.workers = [Memory(), Memory(most=2)]

    @property
    def watermark(self) -> int:
        if self.latest is None:
            return 0
        return max(0, self.latest // MILLISECOND - self.delay // MILLISECOND)

    def deliver(self, table: pa.Table, origins: Sequence[int]) -> None:
        """Run a micro-batch of rows that arose at sites."""
        self._run(raw_messages(table, origins, self.network), self.watermark)
        if table.num_rows:
            most = max(table[self.codec.layout.time].to_pylist())
            self.latest = most if self.latest is None else max(self.latest, most)

    def finish(self) -> None:
        """Let the watermark pass everything."""
        self._run([], self.watermark)
        self._run([], AFTER_ALL)
        assert all(store.due is None for store in self.stores.values()), (
            "nothing is left that time would change"
        )

    def _run(self, messages: list[Message], watermark: int) -> None:
        for level in self.levels:
            addressed: dict[str, list[Message]] = {}
            for message in messages:
                addressed.setdefault(message.shard, []).append(message)
            due = [
                site
                for (own, site), store in self.stores.items()
                if own == level.level and store.due is not None and store.due <= watermark
            ]
            messages = []
            for site in dict.fromkeys([*addressed, *due]):
                messages += self._step(level, site, addressed.get(site, []), watermark)
        assert all(message.is_out for message in messages), "the last level sends nothing on"

    def _step(self, level: SiteStage, site: str, own: list[Message], watermark: int) -> list[Message]:
        place = (level.level, site)
        store = self.stores.setdefault(place, Kept())
        if not self.is_calm and self.dice.random() < 0.1:
            self.workers[0] = Memory()
        if not self.is_calm and self.dice.random() < 0.1:  # an attempt that fails, and is repeated
            level.memory = self.dice.choice(self.workers)
            level.step(site, own, watermark, store.copy())
        level.memory = self.workers[0] if self.is_calm else self.dice.choice(self.workers)
        outcome = level.step(site, own, watermark, store)
        passed = [message for message in own if level.passes(site, message)]
        if outcome is not None:
            passed += level.send(site, outcome)
            self.late += outcome.report.late
            for one in outcome.report.sent:
                key = one.projection, one.source, one.target
                self.sent[key] = self.sent.get(key, 0) + one.rows
            self.found += matches_at(outcome)
        return passed


def run_placed_stream(
    placed: PlacedCase,
    program: SiteProgram,
    seed: int,
    delay: int | None = None,
    *,
    is_calm: bool = False,
) -> PlacedStream:
    """Run a case as a stream; what is not given of the delivery is drawn from the seed."""
    dice = random.Random(seed)
    n_batches = 20 if delay is not None else dice.choice([dice.randint(1, 6), 20])
    delay = dice.choice([0, 1_000_000, 3_000_000]) if delay is None else delay
    table, layout = arrow_events(placed.case)
    stream = PlacedStream(program, MatchCodec(layout, pa.int64()), dice, delay, is_calm)
    for rows in cut(deliveries(placed.case.events, dice, delay), dice, n_batches):
        origins = [placed.sites[row] for row in rows]
        stream.deliver(table.take(pa.array(rows, pa.int64())), origins)
    stream.finish()
    return stream


def matches_of(stream: PlacedStream, names: Sequence[str]) -> Mapping[str, dict[Bindings, dict[str, object]]]:
    """Return the matches of each query; those that may come several times are counted once."""
    matches: dict[str, dict[Bindings, dict[str, object]]] = {name: {} for name in names}
    for query, bindings, values in stream.found:
        if bindings in matches[query]:
            assert query in stream.program.repeated, "a match was emitted twice"
        matches[query][bindings] = values
    return matches
