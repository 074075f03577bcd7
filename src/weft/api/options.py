"""What is seldom set, in a few typed objects: columns, streaming and sites; `Planning` is the optimizer's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from weft.adaptation.settings import Adaptation, Decider
from weft.errors import WeftError
from weft.io.units import TimeUnit
from weft.placement.network import Network

if TYPE_CHECKING:
    from pyspark.sql import Column

PlacementName = Literal["muse", "single-sink", "central"]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What columns of the events mean, besides the time, the type and the id.

    order_by
        The order among events of equal time.
    types
        Event types derived from other columns, each by a condition on single events in the language of
        queries: `{"BigTrade": "volume > 10000"}`. On Spark also a column, or a text of Spark SQL where our
        language does not know it.
    time_unit
        Of files: what numbers in the time column count from the epoch, "s", "ms", "us" or "ns".
    delimiter
        Of CSV files: what stands between two fields.
    """

    order_by: str | None = None
    types: "Mapping[str, str | Column]" = field(default_factory=dict)
    time_unit: TimeUnit = "ms"
    delimiter: str = ","

    def __post_init__(self) -> None:
        if not isinstance(self.types, Mapping):
            raise WeftError(
                f"types is {self.types!r}; expected conditions by the names of types, "
                'such as {"BigTrade": "volume > 10000"}'
            )


@dataclass(frozen=True, kw_only=True)
class Streaming:
    """How a stream runs.

    checkpoint
        The checkpoint location of the query that will be started. Weft remembers there which queries share
        shards, so that they find their state again when the workload has changed.
    adapt
        When to plan anew while the rates and selectivities drift. "invariants" does so when a condition under
        which the plan was the best is violated, "threshold" when a statistic has changed by half,
        "unconditional" in every micro-batch; or a `weft.Adaptation`. "off" is never. Only plans that
        were searched for (plan "auto" or "mcep"), and not for latency, are adapted. The matches are the same.
        The default, None, is "invariants" where plans are compared by their measured cost, and "off" else and
        with sites.
    """

    checkpoint: str | None = None
    adapt: Adaptation | Decider | None = None

    def __post_init__(self) -> None:
        _ = self.adaptation  # what it cannot be is said at once

    @property
    def adaptation(self) -> Adaptation:
        """How plans are adapted, where they are."""
        return self.adapt if isinstance(self.adapt, Adaptation) else Adaptation(self.adapt or "invariants")


@dataclass(frozen=True, kw_only=True)
class Sites:
    """Where queries are evaluated when events arise at sites.

    column
        The column that holds the site at which an event arose.
    placement
        "muse", at sites that send each other least, "single-sink" at one site, "central" outside of the
        network, where all events are sent.
    network
        Of a stream: the sites and the rates there, for example those of `weft.prepare` for its past. Of a
        batch they are counted.

    >>> Sites(column="plant", placement="best")
    Traceback (most recent call last):
    weft.errors.WeftError: placement is 'best'; expected 'muse', 'single-sink', 'central'
    """

    column: str
    placement: PlacementName = "muse"
    network: Network | None = None

    def __post_init__(self) -> None:
        if self.placement not in get_args(PlacementName):
            expected = ", ".join(map(repr, get_args(PlacementName)))
            raise WeftError(f"placement is {self.placement!r}; expected {expected}")
