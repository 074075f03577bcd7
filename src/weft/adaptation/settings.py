"""How a stream adapts its plan, and what that takes; little is imported here: it travels to the workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from weft.adaptation.shard_statistics import shard_share, shard_statistics
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.adaptation.adapter import StreamAdapter
    from weft.adaptation.deferred import DeferredAdapter
    from weft.optimizer.stored_plan import StoredPlan
    from weft.pattern.nodes import Query
    from weft.schema import Schema
    from weft.statistics.model import Statistics

Decider = Literal["invariants", "threshold", "unconditional", "off"]
DECIDERS: tuple[Decider, ...] = ("invariants", "threshold", "unconditional", "off")
CHOICES: Mapping[str, tuple[object, ...]] = {
    "selection": ("tightest", "violation-probability"),
    "threshold_is": ("share", "amount"),
    "way": ("parallel", "rebuild", None),
}
AMOUNTS = ("threshold", "least_gain", "horizon", "planning", "watched_share")
WATCHING = 0.01  # the share of a run that watching takes at most, when nothing else is said


@dataclass(frozen=True, slots=True)
class Adaptation:
    """When a stream plans anew, and when it takes the new plan.

    `decide` is the decision function. `invariants` watches `k` conditions of each part of the plan, or all of
    them with None; which ones is the `selection`: the tightest, or those that the variance of rates makes
    likeliest to be violated. A violation counts beyond a `distance`: a share of the cost, the average
    difference of all conditions, or one that is tuned by what new plans save. `threshold` watches every
    statistic, which may differ from its value when the plan was made by a share of it, or by an amount.
    `unconditional` plans anew in every step that is watched; `off` never does.

    A step is what one shard does with its events of a micro-batch. Watching takes at most the share
    `watching` of a run, 0.01 by default, as its time is reckoned from the events and the plan; steps that are
    not watched merely count events. With 1, and `unconditional` by default, all are watched. Queries that
    have something to share are planned together, others each by itself: a search for such a component takes
    at most `steps`. Its new trees must save the share `least_gain` of its cost, and all of a step more in
    `horizon` sliding windows than it costs to switch. Where all work of a component in that time takes less
    than planning does, `planning` nanoseconds for each query, it is not planned anew, unless `unconditional`.
    `way` forces how to switch.

    >>> Adaptation(decide="invariant")
    Traceback (most recent call last):
    weft.errors.WeftError: adapt is 'invariant'; expected 'invariants', 'threshold', 'unconditional', 'off'
    """

    decide: Decider = "invariants"
    k: int | None = 1
    distance: float | Literal["average", "tuned"] = "tuned"
    threshold: float = 0.5
    steps: int = 200
    least_gain: float = 0.05
    horizon: float = 4.0
    planning: float = 1e7
    watching: float | None = None
    way: Literal["parallel", "rebuild"] | None = None
    selection: Literal["tightest", "violation-probability"] = "tightest"
    threshold_is: Literal["share", "amount"] = "share"

    def __post_init__(self) -> None:
        if self.decide not in DECIDERS:
            raise WeftError(f"adapt is {self.decide!r}; expected {', '.join(map(repr, DECIDERS))}")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                self._refuse(name, f"expected {', '.join(map(repr, known))}")
        if self.steps < 1 or (self.k is not None and self.k < 1):
            self._refuse("steps" if self.steps < 1 else "k", "it must be at least 1")
        for name in AMOUNTS:
            if not getattr(self, name) >= 0:
                self._refuse("watching" if name == "watched_share" else name, "it is not negative")
        if self.distance not in ("average", "tuned") and not (
            isinstance(self.distance, int | float) and self.distance >= 0
        ):
            self._refuse("distance", "expected a share of at least 0, 'average' or 'tuned'")

    @property
    def watched_share(self) -> float:
        """The share of a run that watching may take; with 1, every step is watched."""
        usual = 1.0 if self.decide == "unconditional" else WATCHING
        return usual if self.watching is None else self.watching

    def _refuse(self, name: str, remedy: str) -> NoReturn:
        raise WeftError(f"{name} of the adaptation is {getattr(self, name)!r}; {remedy}")


@dataclass(frozen=True)
class AdaptedGroup:
    """The queries of a group, and what their plan was chosen by, as they travel to the workers.

    The statistics are those of all events, which `keys` deal to some shards, and so is the cost of the plan,
    in nanoseconds for a second of events. Of the planning there is what the search for a plan goes by.
    """

    queries: tuple["Query", ...]
    schema: "Schema"
    stored_plan: "StoredPlan"
    statistics: "Statistics"
    adaptation: Adaptation
    planning: Mapping[str, Any]
    cost: float | None = None
    keys: tuple[str, ...] = ()
    n_shards: int = 1

    def adapter(self) -> "DeferredAdapter":
        """Return what changes the plan while it runs, once the stream has run for a while."""
        # Imported here: a worker without such a group needs none of it.
        from weft.adaptation.deferred import DeferredAdapter

        return DeferredAdapter(self.adaptation, self._shard_cost, self.stream_adapter)

    def stream_adapter(self) -> "StreamAdapter":
        """Return what watches the shards and plans anew."""
        # Imported here, and the optimizer with it: that takes a tenth of a second.
        from weft.adaptation.adapter import StreamAdapter
        from weft.optimizer.planning import Planning

        return StreamAdapter(
            self.queries,
            self.schema,
            self.stored_plan,
            shard_statistics(self.statistics, self.keys, self.n_shards),
            self.adaptation,
            self._shard_cost,
            planning=Planning(**self.planning),
            guessed=[key for key in self.keys if key not in self.statistics.agreements],
        )

    @property
    def _shard_cost(self) -> float | None:
        share = shard_share(self.statistics, self.keys, self.n_shards)
        return None if self.cost is None else self.cost * share
