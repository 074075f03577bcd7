"""A hundred patterns on a stream whose arrival rates are reshuffled: figure 13 of "Real-Time Multi-Pattern
Detection over Event Streams" (Kolchinsky, Schuster. SIGMOD 2019, section 6.2.3).

After every x events, five types are drawn and exchange their rates at random: an event becomes one of the
type that all exchanges so far made of its own, with a `diff` that is as likely there. The paper exchanges
names alone. Selectivities would change with them here, and matches outnumber all partial matches by far.
Nor does it say whether exchanges count together; were every x events transformed on their own, 55 of 60 types
would keep their rates at any time.
"""

from dataclasses import replace

import numpy as np
from adaptation_workloads import HINDSIGHT, race_shared
from contest import Say
from measures import Measure
from result_tables import Row, report_table
from stocks import market
from weave100 import VARIANTS, priced

from weft.adaptation.settings import Adaptation
from weft.cost.measured import Measured
from weft.optimizer.pipeline import Settings
from weft.optimizer.sharing.limits import Limit
from weft.runtime.columns import Array, Events
from weft.runtime.ingest import ingest

N_EXCHANGED = 5
DISTANCES = (10, 100, 1000)  # events between two reshufflings
LEAST_GAIN = 10.0
METHODS: dict[str, Adaptation | None] = {
    "static": None,
    "threshold": Adaptation("threshold"),
    "invariants": Adaptation(),
}


def reshuffled(events: Events, every: int, n_types: int, seed: int = 1) -> Events:
    """Return events whose types exchange names after so many of them.

    >>> from adaptation_streams import EVEN, Levels, drawn_events
    >>> ones = np.ones((2, 6))
    >>> events = drawn_events(Levels(ones, 0.1 * ones, 10.0))
    >>> changed = reshuffled(events, 20, 6)
    >>> bool((events.type_codes == changed.type_codes)[:20].all()), changed.n_events == events.n_events
    (True, True)
    """
    dice = np.random.default_rng((seed, every))
    codes: Array = events.type_codes.copy()
    names = np.arange(n_types)
    for start in range(every, events.n_events, every):
        chosen = dice.choice(n_types, N_EXCHANGED, replace=False)
        names[chosen] = names[dice.permutation(chosen)]
        codes[start : start + every] = names[events.type_codes[start : start + every]]
    return replace(events, type_codes=codes)


def _with_own_diffs(events: Events, before: Array) -> Events:
    """Return events whose `diff` has the place in their type that it had in the former one."""
    stocks = {stock.name: stock for stock in market()}
    means, spreads = (
        np.array([getattr(stocks[name], part) for name in events.type_names]) for part in ("mean", "spread")
    )
    unit = events.columns["diff"]
    scores = (1000 * unit.values - means[before]) / spreads[before]
    diffs = (means[events.type_codes] + scores * spreads[events.type_codes]) / 1000
    return replace(events, columns={**events.columns, "diff": replace(unit, values=diffs)})


def measure_shuffle(seconds: float, search_seconds: float, say: Say) -> list[Measure]:
    """Compare a plan that stays with plans that follow, for each distance between reshufflings."""
    arena = VARIANTS[0].arena(seconds)
    events = ingest(arena.rows, arena.layout)
    model = priced(Measured(), arena)
    optimized = arena.plan(Settings("auto", arena.statistics, model, limit=Limit(seconds=search_seconds)))
    rows: list[Row] = []
    found: list[Measure] = []
    section = "adaptation-shuffle"
    for every in DISTANCES:
        shuffled = reshuffled(events, every, len(arena.layout.type_names))
        shuffled = _with_own_diffs(shuffled, events.type_codes)
        name = f"{section}, every {every} events"
        runs = race_shared(arena, optimized, shuffled, METHODS, search_seconds, say, name)
        rows += [{"every": every, **run.row(method, runs["static"])} for method, run in runs.items()]
        for method in ("invariants", HINDSIGHT):
            gain = runs["static"].seconds / runs[method].seconds
            least = LEAST_GAIN if method == "invariants" else None
            found.append(Measure(section, f"every {every} events: {method} / static", gain, at_least=least))
    report_table("adaptation_shuffle", rows)
    return found
