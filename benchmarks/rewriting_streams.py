"""Streams of stock trades and of a data center, thin enough for windows of 10 s, with exact rates.

The setting is that of section VII-A of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex Event
Processing in SAP ESP. ICDE 2017: 2 million trades of 13 symbols, and 4 million events of a network and of
virtual machines, of 36 types. Neither is at hand, so both are drawn from stated distributions, and the rate
of each type is known, not measured. The paper does not say how fast its events come. Here a window of 10 s
holds 40 events of the busiest symbol and one of the quietest in ten windows. Queries have no predicates, so
the matches of longer lists of busy types would soon outnumber everything that a plan can save: such queries
are drawn again.

Trades are a Poisson stream. Events of the data center come in bursts, one sort for the network, another for
the virtual machines; a burst is three times as busy as the mean. What is known of it is the mean rate of each
type: that there are bursts is what no cost model expects.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from generate import START

from weft.schema import DOUBLE, LONG, STRING, TIMESTAMP, Schema
from weft.statistics.model import ItemKey, Statistics

SYMBOLS = ("AAPL", "MSFT", "INTC", "FB", "CSCO", "ORCL", "IBM", "QCOM", "HPQ", "AMD", "DELL", "SAP", "EBAY")
PACKETS = ("StartTransmit", "Delivered", "EndTransmit", "Acknowledged", "SmallPacket", "LargePacket")
MACHINES = ("VmStarted", "VmStopped", "VmMigrated", "CpuHigh", "MemoryHigh", "DiskSlow")
NETWORK_TYPES = tuple(f"{kind}_{zone}" for zone in "ABCD" for kind in PACKETS)
MACHINE_TYPES = tuple(f"{kind}_{pool}" for pool in "AB" for kind in MACHINES)

BURST_FACTOR, BURST_SHARE = 3.0, 0.1  # as busy as the mean, and the share of the time
BURST_SECONDS = 30.0  # of a burst, on average

COLUMNS = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("type", pa.string()), ("id", pa.int64()), ("amount", pa.float64())]
)
SCHEMA = Schema({"ts": TIMESTAMP, "type": STRING, "id": LONG, "amount": DOUBLE}, time="ts")


@dataclass(frozen=True)
class Source:
    """Types whose events become more frequent together, with the highest and the lowest rate per second."""

    types: tuple[str, ...]
    highest: float
    lowest: float
    has_bursts: bool = False

    @property
    def rates(self) -> dict[str, float]:
        """Rates are log-uniform, and fall in the order in which the types are named."""
        rates = np.geomspace(self.highest, self.lowest, len(self.types))
        return dict(zip(self.types, rates.tolist(), strict=True))


@dataclass(frozen=True)
class Scenario:
    """A stream, how many events it has in the paper, and what queries over it are like.

    They have so many operands, and each is expected to match at most so often per event of the stream.

    >>> STOCKS.types[:2], len(STOCKS.types), len(DATA_CENTER.types)
    (('AAPL', 'MSFT'), 13, 36)
    """

    name: str
    sources: tuple[Source, ...]
    events_in_paper: int
    fewest_operands: int
    most_operands: int
    most_matches: float
    most_some_matches: float  # of queries in a family with SOME

    @property
    def rates(self) -> dict[str, float]:
        return {name: rate for source in self.sources for name, rate in source.rates.items()}

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(self.rates)

    @property
    def rate(self) -> float:
        return sum(self.rates.values())


STOCKS = Scenario("stocks", (Source(SYMBOLS, 4.0, 0.01),), 2_000_000, 4, 6, 0.02, 0.1)
DATA_CENTER = Scenario(
    "data center",
    (Source(NETWORK_TYPES, 1.0, 0.01, has_bursts=True), Source(MACHINE_TYPES, 0.5, 0.005, has_bursts=True)),
    4_000_000,
    3,
    4,
    0.004,
    0.05,
)
SCENARIOS = (STOCKS, DATA_CENTER)


def scenario_statistics(scenario: Scenario, n_events: int) -> Statistics:
    """Return the exact rates of a stream of so many events.

    >>> round(scenario_statistics(STOCKS, 1_000).rate(ItemKey("AAPL")), 2)
    4.0
    """
    rates = {ItemKey(name): rate for name, rate in scenario.rates.items()}
    return Statistics(rates, total_rate=scenario.rate, duration=n_events / scenario.rate)


@cache
def scenario_events(scenario: Scenario, n_events: int, seed: int = 1) -> pa.Table:
    """Return so many events in order of time; no two have the same time.

    >>> scenario_events(DATA_CENTER, 1_000).num_rows
    1000
    """
    random = np.random.default_rng((seed, len(scenario.types)))
    seconds = n_events / scenario.rate
    shares = [sum(source.rates.values()) / scenario.rate for source in scenario.sources]
    counts = random.multinomial(n_events, shares)
    times, codes, first = [], [], 0
    for source, count in zip(scenario.sources, counts, strict=True):
        weights = np.array(list(source.rates.values()))
        times.append(_times(source, int(count), seconds, random))
        codes.append(first + random.choice(len(source.types), count, p=weights / weights.sum()))
        first += len(source.types)
    together = np.concatenate(times)
    order = np.argsort(together, kind="stable")
    columns = [
        pa.array(START + _distinct(together[order])).cast(pa.timestamp("us", "UTC")),
        pa.array(scenario.types).take(pa.array(np.concatenate(codes)[order])),
        pa.array(np.arange(n_events)),
        pa.array(np.rint(random.lognormal(4.0, 0.5, n_events) * 100) / 100),
    ]
    return pa.Table.from_arrays(columns, schema=COLUMNS)


def _times(source: Source, count: int, seconds: float, random: np.random.Generator) -> np.ndarray:
    """Return microseconds: uniform ones, pressed into the bursts where the source has any."""
    places = random.random(count)
    if source.has_bursts:
        ends, done = _intensity(seconds, random)
        places = np.interp(places, done, ends)
    return (places * seconds * 1e6).astype(np.int64)


def _intensity(seconds: float, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return moments, and the shares of all events before them, both as parts of one.

    Calm and burst take turns. Their lengths are exponential, scaled so that bursts have exactly their share
    of the time: the mean rates then are those stated.
    """
    n_bursts = max(1, round(seconds * BURST_SHARE / BURST_SECONDS))
    lengths = random.exponential(size=(n_bursts, 2))
    lengths *= np.array([1 - BURST_SHARE, BURST_SHARE]) / lengths.sum(axis=0)
    calm_factor = (1 - BURST_SHARE * BURST_FACTOR) / (1 - BURST_SHARE)
    events = lengths * np.array([calm_factor, BURST_FACTOR])
    ends, done = (np.concatenate([[0.0], np.cumsum(parts.ravel())]) for parts in (lengths, events))
    return ends / ends[-1], done / done[-1]


def _distinct(times: np.ndarray) -> np.ndarray:
    """Move each of some sorted times behind the one before it where it is not."""
    places = np.arange(times.size)
    return np.maximum.accumulate(times - places) + places
