"""The search for a plan: how long it may take, what it begins with, and what is said of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from weft.optimizer.garbage import nothing_collected
from weft.optimizer.planning import SECONDS, Planning
from weft.optimizer.sharing.efforts import Effort, Efforts
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.starts import start_with_rewriting, start_with_sharing
from weft.optimizer.weave import Weave

SEARCH_SHARE = 0.1  # of the time that a batch is expected to run, when nothing is said of the search
UNDERESTIMATE = 4.0  # of that time: plans were seen to take 1.5 to 13 times what they are expected to
LEAST_SECONDS = 0.2  # of search by default, however little the plan is expected to run
SHARING_SHARE, REWRITING_SHARE = 0.25, 0.25  # of a search that is left, for plans from which it may start

Ending = Literal["cancelled", "seconds", "share of the run", "steps", "settled"]
BeginLimit = Callable[[float | None, int | None], Limit]  # that begins now, with seconds and steps


@dataclass(frozen=True)
class Search:
    """What a search took, what ended it, what the plan cost before and after, and what each method did.

    It was `settled` when nothing had been gained for long. Where steps are the limit, those that MOTTO's
    planner takes by itself are not counted.
    """

    seconds: float
    steps: int
    stopped_by: Ending
    cost: float
    start_cost: float
    strategy: Mapping[str, Effort] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain values."""
        return asdict(self)

    def lines(self, scale: float = 1.0) -> list[str]:
        """Say it in one or two lines, costs in units of `scale`."""
        ended = "until nothing was gained" if self.stopped_by == "settled" else f"ended by {self.stopped_by}"
        cost = f"cost {self.start_cost / scale:,.1f} before, {self.cost / scale:,.1f} after"
        lines = [f"Search: {self.steps:,} steps in {self.seconds:.3g} s, {ended}; {cost}"]
        gains = [
            f"{name} {effort.gain / scale:,.1f}"
            for name, effort in self.strategy.items()
            if effort.gain / scale >= 0.05  # what rounds to more than nothing
        ]
        return [*lines, f"Gained by: {', '.join(gains)}"] if gains else lines


def merge_searches(searches: Sequence[Search]) -> Search | None:
    """Return the searches for several plans as one; None where there was none."""
    if not searches:
        return None
    strategy: dict[str, Effort] = {}
    for search in searches:
        for name, effort in search.strategy.items():
            strategy[name] = strategy.get(name, Effort()).plus(effort)
    endings = {search.stopped_by for search in searches}
    return Search(
        sum(search.seconds for search in searches),
        sum(search.steps for search in searches),
        next(ending for ending in get_args(Ending) if ending in endings),
        sum(search.cost for search in searches),
        sum(search.start_cost for search in searches),
        strategy,
    )


class SearchRecord:
    """A search that goes on: its limit, and what is done under it."""

    def __init__(self, weave: Weave, limit: Limit) -> None:
        self.limit = limit
        self.efforts = Efforts(weave.multitree.nodes)
        self._weave = weave
        self._start_cost = weave.cost
        self._started = limit.clock()

    def report(self, *, is_share: bool = False) -> Search:
        """Return what was done; by default, the limit is what the user asked for, not a share of the run."""
        ending: Ending = self.limit.stopped_by or "settled"
        return Search(
            self.limit.clock() - self._started,
            self.limit.taken,
            "share of the run" if is_share and ending == "seconds" else ending,
            self._weave.cost,
            self._start_cost,
            self.efforts.by_method,
        )


def search_plan(
    weave: Weave, planning: Planning, begin: BeginLimit, *, is_stream: bool
) -> tuple[Search, list[str]]:
    """Search for a cheaper plan of what is on the loom; return what was done, and what is worth saying."""
    with nothing_collected():
        weave.components()  # what patterns can share is known before the time counts
    seconds, is_share = seconds_of(planning, weave.cost, is_stream=is_stream)
    record = SearchRecord(weave, begin(seconds, planning.steps))
    limit, n_rewritten = record.limit, 0
    repairs = planning.heuristic == "replies"
    if repairs:
        with record.efforts.of("replies", limit):
            weave.reply(limit)
    if not planning.prefix_only and not limit.is_over():
        with record.efforts.of("sharing", limit):
            start_with_sharing(weave, share_of(limit, SHARING_SHARE), repairs=repairs)
    if planning.rewrites and not limit.is_over():
        with record.efforts.of("rewriting", limit):
            part = share_of(limit, REWRITING_SHARE)
            n_rewritten = start_with_rewriting(weave, part, planning.seed, repairs=repairs)
    efforts = weave.improve(limit, heuristic=planning.heuristic, sizes=planning.sizes, seed=planning.seed)
    record.efforts.add_all(efforts.by_method)
    search = record.report(is_share=is_share)  # what is said of it is no part of its time
    n_patterns = sum(len(keys) for keys in weave.components() if len(keys) > 1)
    is_told = planning.rewrites and limit.taken
    return search, list(_rewriting_notes(n_rewritten, n_patterns)) if is_told else []


def share_of(limit: Limit, share: float) -> Limit:
    """Return a limit for a share of the time that is left; steps are not divided.

    So a search of more steps begins as one of fewer steps does.
    """
    return limit.part(share) if limit.is_timed else limit


def _rewriting_notes(n_rewritten: int, n_patterns: int) -> Iterator[str]:
    if n_rewritten < n_patterns:
        yield (
            f"Rewriting: {n_rewritten:,} of {n_patterns:,} patterns were looked at, the dearest first, in "
            f"{REWRITING_SHARE:.0%} of the search"
        )


def seconds_of(planning: Planning, cost: float, *, is_stream: bool) -> tuple[float | None, bool]:
    """Return the seconds of a search, and whether they are a share of what the plan is expected to run.

    When nothing is said, a stream, of which no end is known, and costs that are no time have the usual ones.
    A batch of which nobody knows how long it lasts is taken to last as long as `Statistics.span` says.

    >>> seconds_of(Planning(search_seconds=60), 1.0, is_stream=False)
    (60, False)
    >>> from weft.statistics.model import Statistics
    >>> seconds_of(Planning(statistics=Statistics(duration=100.0)), 2e8, is_stream=False)
    (3.0, False)
    >>> seconds_of(Planning(statistics=Statistics(duration=10.0)), 2e8, is_stream=False)
    (0.8, True)
    """
    if planning.steps is not None or planning.search_seconds is not None:
        return (planning.search_seconds if planning.steps is None else None), False
    is_time = planning.cost == "measured" and not planning.latency_weight
    if is_stream or not is_time:
        return SECONDS, False
    share = max(LEAST_SECONDS, SEARCH_SHARE * UNDERESTIMATE * cost * 1e-9 * planning.known.span)
    return min(SECONDS, share), share < SECONDS
