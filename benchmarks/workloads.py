"""The workloads of the benchmarks, each as Weft queries and, where it is compared with peers, as SQL.

Windows are not drawn but solved for: each is the longest for which its query builds and finds no more than
a given number of matches per event. So rare types get long windows and frequent ones short windows, as in
real rules, and no query fires all the time.
"""

import random
from dataclasses import dataclass

import numpy as np
from generate import MEAN_PRICE, PRICE_DEVIATION, TYPE_NAMES, type_frequencies

MOST_BUILT = 0.145  # partial matches of two and more events per event of the stream, for each query
MOST_MATCHES = 0.004  # whole matches per event of the stream, for each query
LONGEST_WINDOW = 2_000  # milliseconds
WEAK, STRONG = (0.0, 0.1), (0.2, 0.3, 0.4)  # relative distance of two prices that a comparison asks for
SAMPLED_PRICES = 50_000


@dataclass(frozen=True)
class PriceStep:
    """The later of two neighbors has a price above, or below, `factor` times that of the earlier."""

    operator: str
    factor: float

    def holds(self, earlier: np.ndarray, later: np.ndarray) -> np.ndarray:
        """Say for which pairs of prices the comparison holds."""
        return later > earlier * self.factor if self.operator == ">" else later < earlier * self.factor


@dataclass(frozen=True)
class SequenceQuery:
    """SEQ over types with a price comparison between neighbors, within milliseconds."""

    name: str
    types: tuple[str, ...]
    steps: tuple[PriceStep, ...]
    window: int

    @property
    def variables(self) -> str:
        return "abcde"[: len(self.types)]

    @property
    def text(self) -> str:
        """The query in Weft's language."""
        events = ", ".join(f"{kind} {name}" for kind, name in zip(self.types, self.variables, strict=True))
        conditions = " AND ".join(
            f"{later}.price {step.operator} {earlier}.price * {step.factor}"
            for earlier, later, step in zip(self.variables, self.variables[1:], self.steps, strict=False)
        )
        return (
            f"QUERY {self.name}\nPATTERN SEQ({events})\nWHERE {conditions}\nWITHIN {self.window} milliseconds"
        )


@dataclass(frozen=True)
class Workload:
    """Query text, the columns it needs besides time, type and id, and the key it is divided by."""

    name: str
    text: str
    types: tuple[str, ...]
    attributes: tuple[str, ...]
    key: str | None = None
    sequences: tuple[SequenceQuery, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return ("ts", "type", "id", *self.attributes)


def queries20() -> Workload:
    """Twenty sequences of 3 to 5 events, about 2 partial matches per event in all."""
    return _sequences("queries20", 20, sizes=(3, 5), seed=20)


def queries100() -> Workload:
    """A hundred sequences of 3 events with windows found in the same way."""
    return _sequences("queries100", 100, sizes=(3, 3), seed=100)


def keyed() -> Workload:
    """One sequence of frequent types that agree on one of 100,000 keys."""
    text = (
        "QUERY keyed\nPATTERN SEQ(T00 a, T01 b, T02 c)\n"
        "WHERE [key] AND c.price > a.price * 1.1\nWITHIN 10 minutes"
    )
    return Workload("keyed", text, ("T00", "T01", "T02"), ("key", "price"), key="key")


def _sequences(name: str, count: int, *, sizes: tuple[int, int], seed: int) -> Workload:
    source = random.Random(seed)
    sequences = tuple(_sequence(f"q{number:02d}", sizes, source) for number in range(count))
    types = sorted({kind for sequence in sequences for kind in sequence.types})
    text = "\n\n".join(sequence.text for sequence in sequences)
    return Workload(name, text, tuple(types), ("price",), sequences=sequences)


def _sequence(name: str, sizes: tuple[int, int], source: random.Random) -> SequenceQuery:
    types = tuple(source.sample(TYPE_NAMES, source.randint(*sizes)))
    last = len(types) - 2
    # The last comparison is strong: a rule that fires all the time is of no use to anybody.
    steps = tuple(_step(STRONG if place == last else WEAK, source) for place in range(len(types) - 1))
    return SequenceQuery(name, types, steps, _window(types, steps))


def _step(distances: tuple[float, ...], source: random.Random) -> PriceStep:
    distance = source.choice(distances)
    return source.choice((PriceStep(">", 1 + distance), PriceStep("<", 1 - distance)))


def _window(types: tuple[str, ...], steps: tuple[PriceStep, ...]) -> int:
    """Return the most milliseconds for which a query builds and finds no more than it should."""
    selectivities = _selectivities(steps)
    low, high = 1, LONGEST_WINDOW
    while low < high:
        middle = (low + high + 1) // 2
        built = expected_built(types, selectivities, middle)
        if sum(built) <= MOST_BUILT and built[-1] <= MOST_MATCHES:
            low = middle
        else:
            high = middle - 1
    return low


def expected_built(types: tuple[str, ...], selectivities: list[float], window: int) -> list[float]:
    """Return the partial matches of two, three ... events per event of the stream.

    With one event per millisecond and independent types, k more events follow a first one in order
    within w milliseconds rate_1 * ... * rate_k * w^k / k! times.
    """
    shares = dict(zip(TYPE_NAMES, type_frequencies().tolist(), strict=True))
    ordered, built = shares[types[0]], []
    for place, (kind, selectivity) in enumerate(zip(types[1:], selectivities, strict=True), start=1):
        ordered *= shares[kind] * window / place
        built.append(ordered * selectivity)
    return built


def _selectivities(steps: tuple[PriceStep, ...]) -> list[float]:
    """Return the share of prices that satisfy the first comparison, the first two, and so on."""
    prices = np.random.default_rng(0).normal(MEAN_PRICE, PRICE_DEVIATION, (len(steps) + 1, SAMPLED_PRICES))
    satisfied = np.ones(SAMPLED_PRICES, np.bool_)
    shares = []
    for step, earlier, later in zip(steps, prices, prices[1:], strict=False):
        satisfied &= step.holds(earlier, later)
        shares.append(float(satisfied.mean()))
    return shares
