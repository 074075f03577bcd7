"""How long it takes to find out what a thousand patterns have in common, and what one more or less costs."""

import statistics
import time
from collections.abc import Callable
from functools import partial

from measures import Measure
from stock_statistics import stock_statistics
from stocks import SCHEMA, stock_queries

from weft.language.read import read_queries
from weft.normalize.pipeline import normalize
from weft.optimizer.demands import Context
from weft.optimizer.pipeline import weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.multi_pattern_graph import MultiPatternGraph
from weft.optimizer.sharing.pattern import InternTable, Pattern
from weft.pattern.normal_form import NormalForm

SIZE, WINDOW = 5, 0.6
N_CHANGED = 20  # patterns that are added to the complete graph, and removed again
DENSITIES = {"types drawn from all 60": None, "density 0.3": 0.3}
MOST_SECONDS = 5.0  # for a thousand patterns


def measure_graph(n_patterns: int, repeat: int) -> list[Measure]:
    """Return the times for patterns of few types and of many; the target is for a thousand of either."""
    found: list[Measure] = []
    for name, density in DENSITIES.items():
        forms = stock_forms(n_patterns + N_CHANGED, density)
        found += _measure(f"graph, {name}", forms[:n_patterns], forms[n_patterns:], repeat)
    return found


def stock_forms(n_patterns: int, density: float | None) -> list[NormalForm]:
    """Return the normal forms of patterns of exactly five types."""
    text = stock_queries(n_patterns, SIZE, WINDOW, density=density, size_spread=0)
    return [form for query in read_queries(text, SCHEMA) for form in normalize(query)]


def _measure(section: str, forms: list[NormalForm], others: list[NormalForm], repeat: int) -> list[Measure]:
    context = weave_for(SCHEMA, Planning(cost="partial-matches")).context
    best = float("inf")
    for _ in range(repeat):
        numbers, graph = InternTable(), MultiPatternGraph[int]()
        start = time.perf_counter()
        for key, form in enumerate(forms):
            _add(graph, key, form, numbers, context)
        best = min(best, time.perf_counter() - start)
    adding, removing = [], []
    for key, form in enumerate(others, start=len(forms)):
        adding.append(seconds_of(partial(_add, graph, key, form, numbers, context)))
    for key in range(len(forms), len(forms) + len(others)):
        removing.append(seconds_of(partial(graph.remove, key)))
    n_common = len({number for key in range(len(forms)) for number in graph.common(key).values()})
    n_neighbors = statistics.fmean(len(graph.neighbors(key)) for key in range(len(forms)))
    target = MOST_SECONDS if len(forms) == 1000 else None
    return [
        Measure(section, f"{len(forms):,} patterns and their graph", best, "s", at_most=target),
        Measure(section, "one more pattern, median", 1000 * statistics.median(adding), "ms"),
        Measure(section, "one pattern removed, median", 1000 * statistics.median(removing), "ms"),
        Measure(section, "common sub-patterns", n_common),
        Measure(section, "neighbors of a pattern, on average", n_neighbors),
        Measure(section, "connected components", len(graph.components())),
    ]


def _add(
    graph: MultiPatternGraph[int], key: int, form: NormalForm, numbers: InternTable, context: Context
) -> None:
    graph.add(key, Pattern(form, stock_statistics(), context, numbers))


def seconds_of(run: Callable[[], object]) -> float:
    """Return how long something takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
