"""How far off the expected rows of the joins that run are, and how long the look at the events takes.

The q-error of a join is the larger of the rows expected and built over the smaller, at least one of each. It
says nothing of matches, which are right whatever is expected, and much of plans, which are chosen by it.

Rows are expected by a quick look at the first events, by which a plan is chosen where nothing else is known;
by a whole look, by which a plan is shown; by the same without what it saw of sub-patterns, which leaves
rates, selectivities and agreement on keys; and by what a first run of the same plan counted. All expect the
rows of the plan that a quick look chooses.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import traffic
from contest import Say
from measures import Measure
from placement_cluster import QUERIES, cluster_parquet
from placement_cluster import why_not as why_no_cluster
from traffic_weave import AVERAGE_SIZE, N_PATTERNS, WINDOW_MINUTES

import weft
from weft.explanation.analysis import Analysis
from weft.plan.nodes import Join
from weft.runtime.budget import Budget
from weft_lab.demo_events import write_events

N_BANK_EVENTS = 300_000
CLUSTER_MINUTES = (1, 5, 30)
MOST = 3.0  # of the q-errors of nine joins in ten, by a whole look
SHARES = {"median": 0.5, "of nine in ten, at most": 0.9, "largest": 1.0}
BUDGET = Budget(partial_matches=50_000_000, held=50_000_000)
LOOKS = 3  # of which the quickest counts


def measure_q_error(days: float, say: Say) -> list[Measure]:
    """Compare expected and built rows on a bank, on traffic and on a cluster, where they are there."""
    with tempfile.TemporaryDirectory(prefix="weft-bank-") as directory:
        write_events(Path(directory), N_BANK_EVENTS)
        text = (files("weft_lab") / "demo.weft").read_text(encoding="utf-8")
        found = _measure("bank", Workload(directory, text), say)
    reason = traffic.why_not()
    if reason is None:
        events = traffic.traffic_events(days=days)
        text = traffic.traffic_queries(N_PATTERNS, AVERAGE_SIZE, WINDOW_MINUTES, events=events)
        found += _measure("traffic", Workload(events, text), say)
    else:
        found.append(Measure("q_error, traffic", "the observations", reason))
    reason = why_no_cluster()
    if reason is None:
        found += _measure("cluster", Workload(str(cluster_parquet()), cluster_queries()), say)
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


@dataclass(frozen=True)
class Workload:
    """Queries, and events or where they are."""

    events: Any
    text: str

    def prepared(self, planning: weft.Planning | None = None) -> weft.Detection:
        return weft.prepare(
            self.events,
            self.text,
            time="ts",
            type="type",
            id="id",
            planning=planning,
            budget=BUDGET,
            notices=False,
        )

    @cached_property
    def detection(self) -> weft.Detection:
        """The queries with a plan chosen by a quick look."""
        return self.prepared()

    @cached_property
    def analysis(self) -> Analysis:
        """What the nodes of this plan did."""
        return self.detection.analyze()

    def errors(self, known: weft.Statistics) -> np.ndarray:
        """Return the q-errors of the joins of this plan by what is known of the events."""
        planning = weft.Planning(plan=self.detection.plan, statistics=known)
        analysis = self.prepared(planning).analyze()
        return np.array([q_error(*rows) for rows in rows_of_joins(analysis)])


def _measure(name: str, workload: Workload, say: Say) -> list[Measure]:
    workload.prepared().sample_statistics()  # kernels are loaded
    quick = [_seconds(workload.prepared().sample_statistics) for _ in range(LOOKS)]
    whole = [_seconds(lambda: workload.prepared().statistics) for _ in range(LOOKS)]
    detection, section = workload.detection, f"q_error, {name}"
    known = detection.statistics
    by_what = {
        "rates and selectivities": replace(known, corrections={}),
        "a quick look": replace(workload.prepared().sample_statistics(), duration=known.duration),
        "a whole look": known,
        "an earlier run": detection.learn(workload.analysis),
    }
    found = [Measure(section, "joins", len(rows_of_joins(workload.analysis)))]
    for what, statistics in by_what.items():
        errors = workload.errors(statistics)
        quantiles = {label: np.quantile(errors, share) for label, share in SHARES.items()}
        say(f"{name}, {what}: {', '.join(f'{own:.3g}' for own in quantiles.values())}")
        found += [
            Measure(
                section,
                f"by {what}: {label}",
                float(own),
                at_most=MOST if what == "a whole look" and SHARES[label] == 0.9 else None,
            )
            for label, own in quantiles.items()
        ]
    built, expected = np.sum(rows_of_joins(workload.analysis), axis=0)
    return [
        *found,
        Measure(section, "rows of all joins, built / expected", float(built / expected)),
        Measure(section, "a quick look", min(quick), "s"),
        Measure(section, "a whole look", min(whole), "s"),
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
