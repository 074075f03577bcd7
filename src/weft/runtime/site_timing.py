"""When the sites of a placed stream know enough: which matches wait for time, how long, and what is kept.

All sites of all levels decide up to the same watermark. In the micro-batch in which an event comes to its own
site, every match that it completes comes to every site that needs it. Only what a negation forbids has to be
waited for: a match of a projection with negations is decided when the watermark has passed its last event,
and a lag where a negation contains another. A part of it that another site has checked does not end later,
so it is there by then. A negation that the window alone ends is checked where whole matches are found; these
wait for the end of the window, and no other site waits for them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from weft.errors import WeftError
from weft.plan.nodes import Extent, NegationCheck, Node, Plan, inputs_of
from weft.plan.serialize import from_json
from weft.plan.sites import SiteProgram, SiteWork
from weft.runtime.execute import Program
from weft.runtime.retention import Lags, lags_of, settled_after


@dataclass(frozen=True, slots=True)
class WorkTiming:
    """What a plan waits for, in microseconds.

    `reach` is how far back events matter to later ones, `lag` how long after its last event a match may have
    to wait. `trails` has, for every output, how long after its first event a match waits for a negation that
    the window alone ends; zero for others. `checks` tells which outputs check a negation.
    """

    reach: int
    lag: int
    trails: tuple[int, ...]
    checks: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class SiteTiming:
    """How long matches with negations wait after their last event, and how long sites remember, at most."""

    lag: int
    horizon: int


def site_timing(program: SiteProgram) -> SiteTiming:
    """Return the timing that all sites of a program have in common."""
    works = [work_timing(work.plan) for work in program.works]
    lag = max((work.lag for work in works), default=0)
    trail = max((trail for work in works for trail in work.trails), default=0)
    return SiteTiming(lag, lag + max([trail, *(work.reach for work in works)]))


def is_timed(work: SiteWork, output: int) -> bool:
    """Whether matches of an output wait for time: where a negation was checked here or by a site before."""
    return bool(work.findings[output].among) or work_timing(work.plan).checks[output]


@lru_cache(maxsize=64)
def work_timing(plan: str) -> WorkTiming:
    """Return the timing of a plan, given as JSON."""
    made = from_json(plan)
    program = Program(made)
    lags = lags_of(program.order)
    checks = [_checks(made, number) for number in range(len(made.outputs))]
    trails = [[_settled(check, lags) for check in own if not check.absence.before] for own in checks]
    within = [_settled(check, lags) for own in checks for check in own if check.absence.before]
    return WorkTiming(
        reach=_length(program.reach),
        lag=max(within, default=0),
        trails=tuple(max(own, default=0) for own in trails),
        checks=tuple(bool(own) for own in checks),
    )


def _checks(plan: Plan, output: int) -> list[NegationCheck]:
    return [check for branch in plan.outputs[output].branches for check in _on_rows(branch.node)]


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
