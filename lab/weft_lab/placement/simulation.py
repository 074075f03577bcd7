"""What a graph sends in networks larger than the machine: rows and bytes predicted, and drawn at random.

The graph is given by its draft, which has one arrangement for every projection, and not by its vertices and
edges, of which there may be millions. Random arrivals are those of Poisson processes: the
events of each kind at each site in a unit of time, and given these the matches of each projection.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.placement.arrangement import Arrangement
from weft.placement.draft import GraphDraft, Sent
from weft.placement.network import Network, Numbers, mask_of

UNITS = 100  # of time that are drawn
MOST_NUMBERS = 4_000_000  # held at a time: units are drawn in parts in large networks


@dataclass(frozen=True, slots=True)
class SentProjection:
    """What all sites together send of a projection in a unit of time."""

    text: str
    n_items: int
    n_channels: int
    rows: float


@dataclass(frozen=True, eq=False)
class Simulated:
    """Rows that a draft sends in a unit of time: predicted from rates, and drawn for a number of units.

    `received` are the rows that each site gets on average. `event_bytes` is what an event takes.
    """

    projections: tuple[SentProjection, ...]
    drawn: Numbers
    received: Numbers
    event_bytes: float

    @cached_property
    def rows(self) -> float:
        """The rows predicted."""
        return sum(sent.rows for sent in self.projections)

    @cached_property
    def bytes(self) -> float:
        """The bytes predicted: an event for every item of a match."""
        return sum(sent.rows * sent.n_items for sent in self.projections) * self.event_bytes

    @cached_property
    def n_channels(self) -> int:
        """How many channels there are from site to site."""
        return sum(sent.n_channels for sent in self.projections)

    @cached_property
    def error(self) -> float:
        """How far the mean of what was drawn may be from its expectation: a standard error."""
        return float(self.drawn.std(ddof=1) / np.sqrt(len(self.drawn)))


def simulate(
    draft: GraphDraft,
    *,
    n_units: int = UNITS,
    event_bytes: float = 32.0,
    seed: int = 0,
) -> Simulated:
    """Return what a draft sends, predicted and drawn at random.

    >>> from weft.placement.draft import TransferLedger
    >>> from weft_lab.placement.problem_file import problem_of
    >>> robots = {"sites": {"R1": ["C"], "R2": ["F"]}, "rates": {"C": 90, "F": 10}, "queries": ["SEQ(C, F)"]}
    >>> problem = problem_of(robots)
    >>> ledger = TransferLedger(problem.network)
    >>> pairs = ledger.arrange(problem.queries[0], 0b11, (0b01, 0b10), None, np.array([0]))
    >>> simulated = simulate(ledger.draft({"SEQ(C, F)": pairs}), n_units=400)
    >>> simulated.rows, simulated.bytes, simulated.received.round().tolist()
    (10.0, 320.0, [10.0, 0.0])
    >>> bool(abs(simulated.drawn.mean() - 10.0) < 4 * simulated.error)
    True
    """
    network = draft.ledger.network
    channels = [(draft.source(text), sent) for text, sent in draft.sends.items()]
    projections = tuple(
        SentProjection(
            source.projection.text,
            len(source.projection.kinds),
            _n_channels(source, sent),
            float(_rows(source.rates, sent).sum()),
        )
        for source, sent in channels
    )
    random = np.random.default_rng(seed)
    drawn, received = [], np.zeros(len(network.sites))
    for n_drawn in _parts(n_units, len(network.sites) * len(network.rates)):
        arrivals = _Arrivals(network, n_drawn, random)
        totals = np.zeros(n_drawn)
        for source, sent in channels:
            rows = _rows(arrivals.found(source), sent)
            totals += rows.sum(axis=1)
            received += rows.sum(axis=0)
        drawn.append(totals)
    return Simulated(projections, np.concatenate(drawn), received / n_units, event_bytes)


def _parts(n_units: int, n_numbers: int) -> Iterator[int]:
    most = max(1, MOST_NUMBERS // n_numbers)
    while n_units > 0:
        yield min(most, n_units)
        n_units -= most


class _Arrivals:
    """The events of some units of time, by kind; and the matches that are found with them."""

    def __init__(self, network: Network, n_units: int, random: np.random.Generator) -> None:
        rates = network.rates
        self.random = random
        self.events = {kind: random.poisson(rates[kind], (n_units, len(rates[kind]))) for kind in rates}
        self.totals = {kind: events.sum(axis=1, dtype=np.float64) for kind, events in self.events.items()}

    def found(self, source: Arrangement) -> Numbers:
        """Return how many matches each site finds in each unit of time."""
        if source.query is None:
            return np.asarray(self.events[source.projection.text], np.float64)
        kinds = list(source.projection.kinds)
        n_units, n_sites = next(iter(self.events.values())).shape
        expected = np.zeros((n_units, n_sites))
        if source.partition is None:
            expected[:, source.hosts[0]] = 1.0
        else:
            kinds.remove(source.partition)
            emitters = np.flatnonzero(source.hosts >= 0)
            order = emitters[np.argsort(source.hosts[emitters], kind="stable")]
            hosts, starts = np.unique(source.hosts[order], return_index=True)
            expected[:, hosts] = np.add.reduceat(self.events[source.partition][:, order], starts, axis=1)
        for kind in kinds:
            expected *= self.totals[kind][:, np.newaxis]
        return np.asarray(self.random.poisson(expected * source.projection.factor), np.float64)


def _rows(found: Numbers, sent: Sent) -> Numbers:
    """Return the rows that each site gets, given what each has found; units of time come first."""
    receives = mask_of(sent.everything_to, found.shape[-1])
    rows = np.where(receives, found.sum(axis=-1, keepdims=True) - found, 0.0)
    if len(sent.origins):
        np.add.at(rows.T, sent.targets, found.T[sent.origins])
    return np.asarray(rows)


def _n_channels(source: Arrangement, sent: Sent) -> int:
    n_targets = sent.everything_to.bit_count()
    n_own = int(mask_of(sent.everything_to, len(source.rates))[source.sites].sum())
    return len(source.sites) * n_targets - n_own + len(sent.origins)
