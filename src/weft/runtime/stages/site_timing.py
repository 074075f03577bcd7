"""When the sites of a placed stream know enough: how long matches wait for time, and what is remembered.

All sites of all levels decide up to the same watermark. In the micro-batch in which an event comes to its own
site, every match that it completes comes to every site that needs it. Only what a negation forbids has to be
waited for: a part of a match with a negation between its events comes to other sites when the watermark has
passed its last event, and a lag where a negation contains another. A match does not end before its parts, so
a site that lacks the negated events waits as long for the whole, and knows by then which parts were sent.
A negation that the window alone ends is checked where whole matches are found, and no other site waits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from weft.errors import WeftError
from weft.plan.nodes import Extent, NegationCheck, Node, Plan, inputs_of
from weft.plan.sites import SiteProgram
from weft.runtime.matches.execute import Program
from weft.runtime.matches.retention import Lags, lags_of, settled_after


@dataclass(frozen=True, slots=True)
class WorkTiming:
    """What a plan waits for, in microseconds.

    `reach` is how far back events matter to later ones, `lag` how long after its last event a match may have
    to wait, `trail` how long after its first event, for a negation that the window alone ends.
    """

    reach: int
    lag: int
    trail: int

    @property
    def horizon(self) -> int:
        """How long an event matters at most."""
        return self.lag + max(self.trail, self.reach)


@dataclass(frozen=True, slots=True)
class SiteTiming:
    """How long sites wait for matches with negations after their last event, and how long they remember."""

    lag: int
    horizon: int


def site_timing(program: SiteProgram) -> SiteTiming:
    """Return the timing that all sites of a program have in common."""
    works = [work_timing(work.plan) for work in program.works]
    lag = max((work.lag for work in works), default=0)
    return SiteTiming(lag, lag + max((max(work.trail, work.reach) for work in works), default=0))


@lru_cache(maxsize=64)
def work_timing(plan: Plan) -> WorkTiming:
    """Return the timing of a plan."""
    program = Program(plan)
    lags = lags_of(program.order)
    branches = [branch for output in plan.outputs for branch in output.branches]
    checks = [check for branch in branches for check in _on_rows(branch.node)]
    trails = [_settled(check, lags) for check in checks if not check.absence.before]
    within = [_settled(check, lags) for check in checks if check.absence.before]
    return WorkTiming(_length(program.reach), max(within, default=0), max(trails, default=0))


def _on_rows(node: Node) -> Iterator[NegationCheck]:
    """Yield what the rows of a node have passed; negations inside negations are their own affair."""
    if isinstance(node, NegationCheck):
        yield node
        yield from _on_rows(node.input)
    else:
        for source in inputs_of(node):
            yield from _on_rows(source)


def _settled(check: NegationCheck, lags: Lags) -> int:
    return _length(settled_after(check.absence, lags))


def _length(extent: Extent | None) -> int:
    if extent is None:
        raise WeftError("a stream has to keep every event: a query has no WITHIN\n  hint: add one")
    return extent.length
