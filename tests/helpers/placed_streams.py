"""Events that arise at sites as a stream would bring them: Spark's levels, watermark, timers and retries."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from tests.helpers.engine import Bindings, arrow_events, bindings_of, plain
from tests.helpers.placed import PlacedCase
from tests.helpers.streams import AFTER_ALL, MILLISECOND, Kept, cut, deliveries

from weft.plan.sites import SiteProgram
from weft.runtime.budget import Budget
from weft.runtime.matches.emit import emit, match_schema
from weft.runtime.stages.site_level import OUTCOME, RAW, Level, Message
from weft.runtime.stages.site_shard import SiteMemory, SiteOutcome
from weft.runtime.stages.site_timing import site_timing
from weft.runtime.stages.site_wire import Wire
from weft.runtime.state.segments import table_to_bytes


@dataclass
class PlacedStream:
    """A program on a stream; what Spark would keep of each site and level is in stores."""

    program: SiteProgram
    wire: Wire
    dice: random.Random
    delay: int
    is_calm: bool = False  # no process ends, no attempt fails
    stores: dict[tuple[int, str], Kept] = field(default_factory=dict)
    wakes: dict[tuple[int, str], int] = field(default_factory=dict)
    latest: int | None = None
    late: int = 0
    sent: dict[tuple[str, str, str], int] = field(default_factory=dict)
    found: list[tuple[str, Bindings, dict[str, object]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        timing = site_timing(self.program)
        self.levels = [
            Level(number, self.program, "program", self.wire, Budget(), timing)
            for number in range(max(1, self.program.n_levels))
        ]
        self.workers = [SiteMemory(), SiteMemory(most=2)]

    @property
    def watermark(self) -> int:
        if self.latest is None:
            return 0
        return max(0, self.latest // MILLISECOND - self.delay // MILLISECOND)

    def deliver(self, table: pa.Table, origins: Sequence[int]) -> None:
        """Run a micro-batch of rows that arose at sites."""
        numbers = np.array(origins, np.int64)
        messages = [
            Message(name, RAW, table_to_bytes(table.filter(pa.array(numbers == number))))
            for number, name in enumerate(self.program.sites)
            if (numbers == number).any()
        ]
        self._run(messages, self.watermark)
        if table.num_rows:
            most = max(table[self.wire.layout.time].to_pylist())
            self.latest = most if self.latest is None else max(self.latest, most)

    def finish(self) -> None:
        """Let the watermark pass everything."""
        self._run([], self.watermark)
        self._run([], AFTER_ALL)
        assert not self.wakes, "nothing is left that time would change"

    def _run(self, messages: list[Message], watermark: int) -> None:
        for level in self.levels:
            addressed: dict[str, list[Message]] = {}
            for message in messages:
                addressed.setdefault(message.site, []).append(message)
            wakes = self.wakes.items()
            due = [site for (own, site), at in wakes if own == level.level and at <= watermark]
            messages = []
            for site in dict.fromkeys([*addressed, *due]):
                messages += self._step(level, site, addressed.get(site, []), watermark)
        assert all(message.role == OUTCOME for message in messages), "the last level sends nothing on"

    def _step(self, level: Level, site: str, own: list[Message], watermark: int) -> list[Message]:
        place = (level.level, site)
        store = self.stores.setdefault(place, Kept())
        if not self.is_calm and self.dice.random() < 0.1:
            self.workers[0] = SiteMemory()
        if not self.is_calm and self.dice.random() < 0.1:  # an attempt that fails, and is repeated
            level.take(site, own, watermark, store.copy(), self.dice.choice(self.workers))
        worker = self.workers[0] if self.is_calm else self.dice.choice(self.workers)
        passed, outcome = level.take(site, own, watermark, store, worker)
        if outcome is not None:
            self._note(outcome)
            self.wakes.pop(place, None)
            if outcome.wake is not None:
                self.wakes[place] = outcome.wake
        return passed

    def _note(self, outcome: SiteOutcome) -> None:
        self.late += outcome.report.late
        for one in outcome.report.sent:
            key = one["projection"], one["source"], one["target"]
            self.sent[key] = self.sent.get(key, 0) + one["rows"]
        for work, finding, found in outcome.found:
            if finding.query is None:
                continue
            output = replace(work.plan.outputs[found.output], query=finding.query)
            names = [f"c{number}" for number in range(len(output.columns))]
            kinds = dict(zip(names, (column.type for column in output.columns), strict=True))
            for row in emit(found, output, names, match_schema(self.wire.id_type, kinds)).to_pylist():
                values = {
                    column.name: plain(row[name]) for column, name in zip(output.columns, names, strict=True)
                }
                self.found.append((finding.query, bindings_of(row["events"]), values))


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
    stream = PlacedStream(program, Wire(layout, pa.int64()), dice, delay, is_calm)
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
