"""A hundred patterns on a stream whose arrival rates are reshuffled: figure 13 of "Real-Time Multi-Pattern
Detection over Event Streams" (Kolchinsky, Schuster. SIGMOD 2019, section 6.2.3).

After every x events on average, five types are drawn and exchange their rates at random. The paper exchanges
their names, on traffic and stocks that are not at hand; selectivities would change with them. Nor does it say
whether exchanges count together. Here they do, since otherwise most types keep their rates at any time.

The stream is skewed, as the paper's traffic is: rates and widths (see `adaptation_streams`) of 30 types stand
on ladders, evenly spaced on a logarithmic scale, and are independent of each other. Patterns are sequences of
four to six types, drawn until a hundred are expected to match about as rarely. Where some types are rare, a
plan begins with them, whatever their conditions; once all rates are the same on average, those conditions
are what matters.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import factorial

import numpy as np
import pyarrow as pa
from adaptation_patterns import WINDOW_SECONDS, chain
from adaptation_streams import SCHEMA, Levels, drawn_events, ladder, type_names
from adaptation_workloads import HINDSIGHT, race_shared
from contest import Arena, Say
from measures import Measure
from plots import Panel, plot_panels
from result_tables import Row, report_table

from weft.adaptation.settings import Adaptation
from weft.cost.measured import Measured
from weft.expressions import Attribute
from weft.normalize.pipeline import normalize
from weft.optimizer.planning import Planning
from weft.optimizer.shape_of import questions_of
from weft.runtime.columns.events import Array
from weft.statistics.model import GroupKey, ItemKey, Statistics
from weft.tree import find

SEED = 1
N_TYPES, N_PATTERNS = 30, 100
SIZES = (4, 5, 6)
RATE_SKEW, WIDTH_SKEW, WIDEST = 3000.0, 1000.0, 0.3
EVENTS_PER_SECOND = 2000.0
EXPECTED = (0.01, 1.0)  # matches of a pattern in a window, with equal rates: from, to
N_EXCHANGED = 5
DISTANCES = (10, 100, 1000)  # events between two reshufflings
LEAST_GAIN = 10.0
PLAN_STEPS = 3_000  # of the search for the first plan: the same on every machine, some seconds
MOST_SECONDS = 150.0  # a run that takes longer is stopped
WATCHING = 0.05  # of the run: the stream is short
METHODS: dict[str, Adaptation | None] = {
    "static": None,
    "threshold": Adaptation("threshold", watching=WATCHING),
    "invariants": Adaptation(watching=WATCHING),
}


def drawn_levels(dice: np.random.Generator) -> tuple[Array, Array]:
    """Return the rates in the beginning, in events per second, and the widths of all types."""
    rates, widths = (np.exp(dice.permutation(ladder(skew, N_TYPES))) for skew in (RATE_SKEW, WIDTH_SKEW))
    return EVENTS_PER_SECOND * rates / rates.sum(), WIDEST * widths / widths.max()


def drawn_patterns(dice: np.random.Generator, widths: Array) -> list[tuple[int, ...]]:
    """Return the types of each pattern.

    >>> dice = np.random.default_rng(1)
    >>> patterns = drawn_patterns(dice, drawn_levels(dice)[1])
    >>> len(patterns), {len(types) for types in patterns} <= {*SIZES}
    (100, True)
    """
    per_window = EVENTS_PER_SECOND * WINDOW_SECONDS / N_TYPES
    found: list[tuple[int, ...]] = []
    while len(found) < N_PATTERNS:
        types = dice.permutation(N_TYPES)[: dice.choice(SIZES)]
        expected = per_window**types.size / factorial(types.size) * widths[types[1:]].prod()
        if EXPECTED[0] <= expected <= EXPECTED[1]:
            found.append(tuple(types.tolist()))
    return found


def pattern_text(number: int, types: Sequence[int]) -> str:
    """Return a sequence of types, each event with what the next one wants.

    >>> print(pattern_text(7, (3, 1)))
    QUERY p7
    PATTERN SEQ(T03 a0, T01 a1)
    WHERE a1.low <= a0.given AND a0.given < a1.high
    WITHIN 10 seconds
    """
    names = type_names(N_TYPES)
    variables = [f"a{place}" for place in range(len(types))]
    items = [f"{names[code]} {variable}" for code, variable in zip(types, variables, strict=True)]
    where = " AND ".join(chain(variables))
    return f"QUERY p{number}\nPATTERN SEQ({', '.join(items)})\nWHERE {where}\nWITHIN {WINDOW_SECONDS} seconds"


def arena_of(patterns: Sequence[Sequence[int]], rates: Array, widths: Array) -> Arena:
    """Return the patterns, with what is true in the beginning; every distance has events of its own."""
    names = type_names(N_TYPES)
    text = "\n".join(pattern_text(number, types) for number, types in enumerate(patterns))
    known = Statistics(dict(zip(map(ItemKey, names), rates.tolist(), strict=True)), total_rate=rates.sum())
    arena = Arena(text, SCHEMA, known, pa.table({}))
    groups = [
        question.group
        for query in arena.queries
        for form in normalize(query)
        for question in questions_of(form, WINDOW_SECONDS)
    ]
    shares = {group: float(widths[names.index(_wanting(group))]) for group in groups}
    return replace(arena, statistics=replace(known, selectivities=shares))


def _wanting(group: GroupKey) -> str:
    """Return the type that wants what the other is given."""
    attributes = [attribute for predicate in group.predicates for attribute in find(predicate, Attribute)]
    variable = next(attribute.variable for attribute in attributes if attribute.name == "low")
    return group.items[int(variable.removeprefix("$"))].type


def exchanged(rates: Array, n_epochs: int, dice: np.random.Generator) -> Array:
    """Return the rates of every epoch; after each, some types exchange theirs.

    >>> found = exchanged(np.arange(30.0), 50, np.random.default_rng(1))
    >>> found.shape, bool((np.sort(found) == np.arange(30)).all())
    ((50, 30), True)
    >>> bool(((found[1:] != found[:-1]).sum(axis=1) <= N_EXCHANGED).all())
    True
    """
    found = np.empty((n_epochs, rates.size))
    found[0] = rates
    for epoch in range(1, n_epochs):
        chosen = dice.permutation(rates.size)[:N_EXCHANGED]
        found[epoch] = found[epoch - 1]
        found[epoch, chosen] = found[epoch - 1, dice.permutation(chosen)]
    return found


def measure_shuffle(seconds: float, search_seconds: float, say: Say) -> list[Measure]:
    """Compare a plan that stays with plans that follow, for each distance between reshufflings."""
    dice = np.random.default_rng(SEED)
    rates, widths = drawn_levels(dice)
    arena = arena_of(drawn_patterns(dice, widths), rates, widths)
    model = Measured().at_rate(EVENTS_PER_SECOND)
    optimized = arena.plan(Planning(plan="auto", statistics=arena.statistics, cost=model, steps=PLAN_STEPS))
    rows: list[Row] = []
    found: list[Measure] = []
    section = "adaptation-shuffle"
    for every in DISTANCES:
        epoch_seconds = every / EVENTS_PER_SECOND
        levels = exchanged(rates, max(1, round(seconds / epoch_seconds)), dice)
        events = drawn_events(Levels(levels, np.broadcast_to(widths, levels.shape), epoch_seconds))
        name = f"{section}, every {every} events"
        runs = race_shared(arena, optimized, events, METHODS, search_seconds, say, name, MOST_SECONDS)
        rows += [{"every": every, **run.row(method, runs["static"])} for method, run in runs.items()]
        for method in ("threshold", "invariants", HINDSIGHT):
            gain = runs[method].throughput / runs["static"].throughput
            least = LEAST_GAIN if method == "invariants" else None
            found.append(Measure(section, f"every {every} events: {method} / static", gain, at_least=least))
    report_table("adaptation_shuffle", rows)
    say(plot_shuffle(rows))
    return found


def plot_shuffle(rows: Sequence[Row]) -> str:
    """Draw figure 13: gains over the plan that stays, and throughput, by reshufflings in 1,000 events."""
    places = sorted({float(row["every"]) for row in rows}, reverse=True)
    methods = dict.fromkeys(str(row["method"]) for row in rows)

    def panel(title: str, what: str, *, without: str = "") -> Panel:
        found = {(row["method"], float(row["every"])): float(row[what]) for row in rows}
        lines = {
            method: [found[method, every] for every in places] for method in methods if method != without
        }
        ticks = tuple(f"{1000 / every:g}" for every in places)
        return Panel(title, "reshufflings per 1,000 events", what, ticks, lines, is_logarithmic=True)

    gain = panel("gain over the plan that stays", "gain over static", without="static")
    return plot_panels("adaptation-shuffle", [gain, panel("throughput", "events/s")])
