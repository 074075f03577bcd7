"""Choose the plans of a workload on given events: what to ask of the data, how long to search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from weft.cost.measured import Measured
from weft.cost.shape import MOST_EXACT
from weft.errors import DataError, WeftError
from weft.hosts.spark.batch import Input
from weft.hosts.spark.partitioning import Share
from weft.hosts.spark.sampling import estimate
from weft.normalize.pipeline import normalize
from weft.optimizer.pipeline import SECONDS, STRATEGIES, Optimized, Settings, Strategy, choose_plan
from weft.optimizer.shape_of import item_keys, questions_of
from weft.optimizer.sharing.limits import Limit, Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import CountWindow, Query, TimeWindow
from weft.plan.nodes import Node
from weft.schema import Schema
from weft.statistics.model import Statistics

SEARCH_SHARE = 0.1  # of the time that the plan is expected to run, in nanoseconds for a second of events


@dataclass(frozen=True)
class Planning:
    """What the user wants: a strategy or a stored plan, and how long the search may take."""

    plan: Strategy | StoredPlan = "auto"
    search_seconds: float = SECONDS
    model: Measured = field(default_factory=Measured)

    def __post_init__(self) -> None:
        if not isinstance(self.plan, StoredPlan) and self.plan not in STRATEGIES:
            raise WeftError(
                f"plan is {self.plan!r}; expected {', '.join(map(repr, STRATEGIES))}, or a plan read with "
                f"weft.load_plan"
            )
        if self.search_seconds < 0:
            raise WeftError(f"search_seconds is {self.search_seconds}; it must not be negative")

    def needs_statistics(self, queries: Sequence[Query]) -> bool:
        """Say whether there is a choice to make.

        Two events can be joined in one way only; but whether two such joins are better computed as one, for
        the longer window or the weaker order, is a choice too.
        """
        if self.plan in ("trivial", "share", "lcse"):
            return False
        known = self.plan.trees if isinstance(self.plan, StoredPlan) else ()
        new = [query for query in queries if query.name not in known]
        sizes = [len(form.items) for query in new for form in normalize(query)]
        shares = self.plan != "reorder" and sum(size > 1 for size in sizes) > 1
        return any(size > 2 for size in sizes) or shares


@dataclass(frozen=True)
class PlannedShare:
    """Queries that run on one division of the events, and their plan."""

    share: Share
    optimized: Optimized


def plan_share(
    share: Share,
    schema: Schema,
    planning: Planning,
    statistics: Statistics,
    *,
    progress: Progress | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> PlannedShare:
    """Choose the plan of a share."""
    settings = Settings(
        planning.plan,
        statistics,
        planning.model.at_rate(statistics.events_per_second),
        limit=Limit(seconds=planning.search_seconds, progress=progress, is_cancelled=is_cancelled),
        worth=lambda cost: SEARCH_SHARE * cost * 1e-9 * statistics.span,
    )
    return PlannedShare(share, choose_plan(share.queries, schema, settings))


def expected_rows(planned: PlannedShare, schema: Schema, statistics: Statistics) -> Mapping[Node, float]:
    """Return how many rows the nodes of a plan are expected to have on all of the events."""
    settings = Settings(planned.optimized.choice, statistics)
    rates = choose_plan(planned.share.queries, schema, settings).expected
    return {node: rate * statistics.span for node, rate in rates.items()}


def costs_compared(
    planned: PlannedShare, schema: Schema, planning: Planning, statistics: Statistics
) -> dict[str, float]:
    """Return the cost of the plan and of the baselines, under the same statistics."""
    model = planning.model.at_rate(statistics.events_per_second)
    settings = Settings(planned.optimized.choice, statistics, model)
    baselines: tuple[Strategy, ...] = ("trivial", "reorder", "share")
    chosen = {"this plan": settings} | {name: replace(settings, strategy=name) for name in baselines}
    return {name: choose_plan(planned.share.queries, schema, wanted).cost for name, wanted in chosen.items()}


def why_lines(costs: Mapping[str, float], planned: PlannedShare) -> list[str]:
    """Say what a plan is expected to cost and how it was found.

    Costs are shown in microseconds of one core for each second of the stream.
    """
    shown = ", ".join(f"{name} {cost / 1000:,.1f}" for name, cost in costs.items())
    lines = [f"Cost in microseconds for a second of events: {shown}"]
    long = [
        query.name
        for query in planned.share.queries
        if any(len(form.items) > MOST_EXACT for form in normalize(query))
    ]
    if long:
        named = ", ".join(long[:5]) + (f" and {len(long) - 5} more" if len(long) > 5 else "")
        lines.append(
            f"Greedy order or ZStream's tree, the better of the two, beyond {MOST_EXACT} items: {named}"
        )
    return [*lines, *planned.optimized.notes]


def estimated_statistics(source: Input, queries: Sequence[Query], *, is_quick: bool) -> Statistics:
    """Estimate what the optimizer would like to know, from a sample of the events."""
    forms = [form for query in queries for form in normalize(query)]
    windows = {
        form: form.window.length / 1e6 if isinstance(form.window, TimeWindow) else None for form in forms
    }
    questions = [question for form in forms for question in questions_of(form, windows[form])]
    return estimate(
        source,
        dict.fromkeys(key for form in forms for key in item_keys(form)),
        dict.fromkeys(questions),
        dict.fromkeys(key for form in forms for key in form.keys),
        window=max((window for window in windows.values() if window is not None), default=None),
        counts_all=any(isinstance(form.window, CountWindow) for form in forms),
        is_quick=is_quick,
    )


def merged_choice(planned: Sequence[PlannedShare]) -> StoredPlan:
    """Return the choice of all shares as one."""
    trees = {name: found for one in planned for name, found in one.optimized.choice.trees.items()}
    return StoredPlan(trees, all(one.optimized.choice.is_shared for one in planned))


def load_plan(path: str | Path) -> StoredPlan:
    """Read a plan that was stored with `save_plan` or `weft run --save-plan`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: this is not a text file in UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    return StoredPlan.from_json(text, str(path))


def save_plan(plan: StoredPlan, path: str | Path) -> None:
    """Write a plan to a file that `load_plan` reads."""
    try:
        Path(path).write_text(plan.to_json() + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
