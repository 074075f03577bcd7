"""What a user may ask of the optimizer: a plan or how to search for one, and by which cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from weft.cost.late_work import LateWork
from weft.cost.measured import Measured
from weft.cost.model import CostModel
from weft.cost.partial_matches import PartialMatches
from weft.errors import WeftError
from weft.normalize.pipeline import normalize
from weft.optimizer.stored_plan import StoredPlan
from weft.optimizer.weave import Heuristic
from weft.pattern.nodes import Query
from weft.plan.trend_sets import Sharing
from weft.statistics.model import Statistics

Strategy = Literal["auto", "trivial", "reorder", "share", "mcep", "motto", "mst", "lcse", "spass"]
NeighborhoodName = Literal["mixed", "edge", "vertex"]
CostName = Literal["measured", "partial-matches"]
ObjectiveName = Literal["throughput", "latency"]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
SEARCHING: tuple[Strategy, ...] = ("auto", "mcep")
ORDERING: tuple[Strategy, ...] = ("auto", "mcep", "reorder")
SECONDS = 3.0  # of search at most, when nothing else is said
LATENCY = 1 - 1e-6  # the weight of latency alone: of plans that wait as long, that with less work is better
VERTEX_K = 4  # patterns that a step of the vertex neighborhood changes, when nothing else is said


@dataclass(frozen=True, kw_only=True)
class Planning:
    """How plans are chosen; every default is the best that is known.

    plan
        `auto` searches for the best plan that shares, rewrites and reorders; `mcep` searches without
        rewriting, `motto` rewrites without reordering, `mst` shares whole queries, `lcse` the longest common
        sub-expressions, `spass` what is most redundant, `share` as much as possible; `reorder` is the best
        tree of each query without sharing, `trivial` pattern order without sharing. Or a plan read with
        `load_plan`.
    statistics
        Rates and selectivities, or the path of a file of them; otherwise they are estimated.
    search_seconds, steps
        When the search ends. With `steps`, time is no limit: the same seed gives the same plan. By default, a
        search goes by the work to come, up to 3 seconds; and a plan that is given is searched from, for a
        cheaper one, only where one of the two is given too.
    seed
        Of all that is left to chance.
    heuristic
        `replies` gives each query the best reply to the others, and anneals in between, cold or warm, as has
        paid so far; `annealing` and `tabu` are the searches of the MCEP paper by themselves.
    neighborhood, k
        What a step of the search changes: `edge` two queries that share a sub-pattern, `vertex` up to `k`;
        `mixed` either of them, as has paid so far (with the searches of the paper: an edge).
    prefix_only
        Evaluate orders, of which only prefixes are shared, instead of trees.
    cost
        `measured` is what a plan costs this engine, `partial-matches` the cost of the papers; or a model.
    objective
        `throughput` is all the work; `latency` the work that is left when the last event of a match comes; a
        number between 0 and 1 weighs the two, 1 being all latency.
    sharing
        Of work among trend queries: `dynamic`, `static` or `none`.
    exact
        Whether trend queries count with all digits where no decimal holds a number. Otherwise it is rounded,
        so that its length costs nothing.

    >>> Planning(heuristic="tabu", neighborhood="vertex", k=8).options()
    {'heuristic': 'tabu', 'neighborhood': 'vertex of 8'}
    """

    plan: Strategy | StoredPlan = "auto"
    statistics: Statistics | str | Path | None = None
    search_seconds: float | None = None
    steps: int | None = None
    seed: int = 0
    heuristic: Heuristic = "replies"
    neighborhood: NeighborhoodName = "mixed"
    k: int | None = None
    prefix_only: bool = False
    cost: CostName | CostModel = "measured"
    objective: ObjectiveName | float = "throughput"
    sharing: Sharing = "dynamic"
    exact: bool = False

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise WeftError(problem)

    def _problems(self) -> Iterator[str]:
        if not isinstance(self.plan, StoredPlan) and self.plan not in STRATEGIES:
            yield (
                f"plan is {self.plan!r}; expected {', '.join(map(repr, STRATEGIES))}, or a plan read with "
                f"weft.load_plan"
            )
        for name, allowed in (
            ("heuristic", get_args(Heuristic)),
            ("neighborhood", get_args(NeighborhoodName)),
            ("cost", get_args(CostName)),
            ("sharing", get_args(Sharing)),
        ):
            value = getattr(self, name)
            if value not in allowed and not isinstance(value, CostModel):
                yield f"{name} is {value!r}; expected {', '.join(map(repr, allowed))}"
        if self.search_seconds is not None and not self.search_seconds >= 0:
            yield f"search_seconds is {self.search_seconds}; it must not be negative"
        if self.steps is not None and (type(self.steps) is not int or self.steps < 0):
            yield f"steps is {self.steps!r}; expected a whole number, not negative"
        is_weight = not isinstance(self.objective, str) and 0 <= self.objective <= 1
        if not is_weight and self.objective not in get_args(ObjectiveName):
            yield f"objective is {self.objective!r}; expected 'throughput', 'latency' or a number from 0 to 1"
        if type(self.seed) is not int:
            yield f"seed is {self.seed!r}; expected a whole number"
        if self.k is not None and (type(self.k) is not int or self.k < 2):
            yield f"k is {self.k!r}; expected a whole number of at least 2"
        is_mixed = self.neighborhood == "mixed" and self.heuristic == "replies"
        if self.k is not None and self.neighborhood != "vertex" and not is_mixed:
            yield f"k is {self.k}, but an edge joins two queries; set neighborhood='vertex' or leave out k"
        for name, plans in (
            ("heuristic", SEARCHING),
            ("neighborhood", SEARCHING),
            ("prefix_only", ORDERING),
        ):
            is_used = self.plan in plans or (self.searches and "auto" in plans)
            if name in self.options() and not is_used:
                shown = "a stored plan" if isinstance(self.plan, StoredPlan) else repr(self.plan)
                yield (
                    f"{name} is {getattr(self, name)!r}, which plan={shown} does not use; leave it out, or "
                    f"set plan to one of {', '.join(map(repr, plans))}"
                )

    def options(self) -> dict[str, str]:
        """Return what differs from the defaults, by name, apart from the plan itself and the statistics."""
        vertex = f" of {self.sizes[-1]}" if self.neighborhood == "vertex" or self.k is not None else ""
        shown = {
            "heuristic": self.heuristic,
            "neighborhood": f"{self.neighborhood}{vertex}",
            "prefix_only": str(self.prefix_only),
            "cost": str(self.cost),
            "objective": str(self.objective),
            "steps": str(self.steps),
            "seed": str(self.seed),
        }
        usual = {"heuristic": "replies", "neighborhood": "mixed", "prefix_only": "False"}
        usual |= {"cost": "measured", "objective": "throughput", "steps": "None", "seed": "0"}
        return {name: value for name, value in shown.items() if value != usual[name]}

    def needs_statistics(self, queries: Sequence[Query]) -> bool:
        """Say whether there is a choice to make.

        Two events can be joined in one way only; but whether two such joins are better computed as one, for
        the longer window or the weaker order, is a choice too.
        """
        if self.plan in ("trivial", "share", "lcse"):
            return False
        known = self.plan.trees if isinstance(self.plan, StoredPlan) and not self.searches else ()
        new = [query for query in queries if query.name not in known]
        sizes = [len(form.items) for query in new for form in normalize(query)]
        shares = self.plan != "reorder" and sum(size > 1 for size in sizes) > 1
        return any(size > 2 for size in sizes) or shares

    def model(self, known: Statistics) -> CostModel:
        """Return the prices of nodes for a stream of which this is known."""
        model = PartialMatches() if self.cost == "partial-matches" else self.cost
        if isinstance(model, str):
            model = Measured().at_rate(known.events_per_second)
        return LateWork(model, self.latency_weight) if self.latency_weight else model

    @property
    def latency_weight(self) -> float:
        """How much the work counts that is left when the last event of a match comes, below 1."""
        named = {"throughput": 0.0, "latency": LATENCY}
        return min(named[self.objective] if isinstance(self.objective, str) else self.objective, LATENCY)

    @property
    def known(self) -> Statistics:
        """The statistics that were given, as an object; usual ones where they are still to be read."""
        return self.statistics if isinstance(self.statistics, Statistics) else Statistics()

    @property
    def searches(self) -> bool:
        """Whether there is a search; from a plan that is given only where its end is given too."""
        is_asked = self.search_seconds is not None or self.steps is not None
        return self.plan in SEARCHING or (isinstance(self.plan, StoredPlan) and is_asked)

    @property
    def rewrites(self) -> bool:
        """Whether a search looks at rewritten queries too."""
        return self.searches and self.plan != "mcep" and not self.prefix_only

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of patterns that one step of the search may change."""
        vertex = self.k or VERTEX_K
        return {"edge": (2,), "vertex": (vertex,), "mixed": (2, vertex)}[self.neighborhood]
