"""How far off the expected rows of the joins that run are, and how long the look at the events takes.

The q-error of a join is the larger of the rows expected and built over the smaller, at least one of each. It
says nothing of matches, which are right whatever is expected, and all of the plan, which is chosen by it.
"""

import tempfile
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import traffic
from contest import Say
from measures import Measure
from placement_cluster import QUERIES, cluster_parquet
from placement_cluster import why_not as why_no_cluster

import weft
from weft.explanation.analysis import Analysis
from weft.plan.nodes import Join
from weft.runtime.budget import Budget
from weft_lab.demo_events import write_events

N_BANK_EVENTS = 300_000
N_PATTERNS, AVERAGE_SIZE, WINDOW_MINUTES = 100, 5, 60
CLUSTER_MINUTES = (1, 5, 30)
MOST = 3.0  # of the q-errors of nine joins in ten
SHARES = (0.5, 0.9, 1.0)
BUDGET = Budget(partial_matches=50_000_000, held=50_000_000)


def measure_q_error(days: float, say: Say) -> list[Measure]:
    """Compare expected and built rows on a bank, on traffic and on a cluster, where they are there."""
    found = []
    with tempfile.TemporaryDirectory(prefix="weft-bank-") as directory:
        write_events(Path(directory), N_BANK_EVENTS)
        text = (files("weft_lab") / "demo.weft").read_text(encoding="utf-8")
        found += _measure("bank", directory, text, say)
    reason = traffic.why_not()
    if reason is None:
        events = traffic.traffic_events(days=days)
        text = traffic.traffic_queries(N_PATTERNS, AVERAGE_SIZE, WINDOW_MINUTES, events=events)
        found += _measure("traffic", events, text, say)
    else:
        found.append(Measure("q_error, traffic", "the observations", reason))
    reason = why_no_cluster()
    if reason is None:
        found += _measure("cluster", str(cluster_parquet()), cluster_queries(), say)
    else:
        found.append(Measure("q_error, cluster", "the events", reason))
    return found


def cluster_queries() -> str:
    """Return the queries of the case study on the cluster, each within several windows.

    >>> [line.split()[1] for line in cluster_queries().splitlines()][:3]
    ['evicted1', 'evicted5', 'evicted30']
    """
    names = {"SEQ": "evicted", "AND": "together"}
    return "\n".join(
        QUERIES[operator].replace(name, f"{name}{minutes}").replace("30 minutes", f"{minutes} minutes")
        for operator, name in names.items()
        for minutes in CLUSTER_MINUTES
    )


def _measure(name: str, events: Any, text: str, say: Say) -> list[Measure]:
    def prepared() -> weft.Detection:
        return weft.prepare(events, text, time="ts", type="type", id="id", budget=BUDGET, notices=False)

    prepared().sample_statistics()  # kernels are loaded
    looks = [_seconds(prepared().sample_statistics) for _ in range(3)]
    whole_look = _seconds(lambda: prepared().statistics)
    analysis = prepared().analyze()
    rows = rows_of_joins(analysis)
    errors = np.array([q_error(*own) for own in rows])
    built = sum(own for own, _ in rows)
    expected = sum(own for _, own in rows)
    quantiles = np.quantile(errors, SHARES, method="inverted_cdf")
    say(f"{name}: {errors.size} joins, q-errors {', '.join(f'{own:.3g}' for own in quantiles)}")
    section = f"q_error, {name}"
    return [
        Measure(section, "joins", errors.size),
        Measure(section, "median", float(quantiles[0])),
        Measure(section, "of nine in ten, at most", float(quantiles[1]), at_most=MOST),
        Measure(section, "largest", float(quantiles[2])),
        Measure(section, "rows of all joins, built / expected", built / expected),
        Measure(section, "a quick look", min(looks), "s"),
        Measure(section, "a whole look", whole_look, "s"),
    ]


def rows_of_joins(analysis: Analysis) -> list[tuple[int, float]]:
    """Return the rows built and expected of each join that ran."""
    return [
        (own.metrics[node].rows, own.estimated[node])
        for own in analysis.plans
        if own.estimated is not None
        for node in own.metrics
        if isinstance(node, Join)
    ]


def q_error(built: float, expected: float) -> float:
    """Return how many times too large or too small the expected rows are.

    >>> q_error(50, 10.0), q_error(0, 4.0), q_error(0, 0.1)
    (5.0, 4.0, 1.0)
    """
    least, most = sorted((max(built, 1.0), max(expected, 1.0)))
    return most / least


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
