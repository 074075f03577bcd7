"""Runs many and various workloads, and tells which kernels the rehearsal of `weft warm` had not made ready.

As a module in a process of its own it prints JSON: how many workloads there were, and by kernel the types of
arguments that were missing.
"""

import importlib
import json
import pkgutil
import random
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from tests.adaptation.test_migration import run_migrating, various_plans
from tests.helpers.case_files import TextCase, load_cases
from tests.helpers.engine import arrow_events, derived_schema, run_case, run_plan
from tests.helpers.local_cases import detection_of_case
from tests.helpers.placed import is_placeable, placed_case, run_program
from tests.helpers.placed_streams import run_placed_stream
from tests.helpers.random_graphs import RandomGraph
from tests.helpers.random_plans import random_plan
from tests.helpers.random_trends import bursts, engine_events, related_queries
from tests.helpers.strategies import SeededDice, matching_case
from tests.helpers.streams import Stream, as_stream, cut, deliveries, never_settled, program_of, run_stream

import weft.kernels
from weft.api.options import Columns
from weft.api.rehearsal import REHEARSALS, rehearsal_events, rehearse
from weft.errors import QueryError
from weft.kernels.compilation import known_signatures
from weft.normalize.template import template_of
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import STRATEGIES, Planning
from weft.runtime.columns.ingest import ingest
from weft.runtime.trends.aggregate import aggregate_set, aggregate_workload
from weft.runtime.trends.executor import TrendPlan

SEEDS = range(12)
TRUTH = "QUERY q PATTERN SEQ(A a, B b) WHERE a.n = b.n AND b.price > a.price WITHIN 20 seconds"


def kernel_modules() -> Iterator[ModuleType]:
    """Yield the modules of all kernels."""
    for module in pkgutil.walk_packages(weft.kernels.__path__, "weft.kernels."):
        yield importlib.import_module(module.name)


def text_case(case: TextCase, number: int) -> None:
    """Run a case without Spark, as a whole and, now and then, event by event, on a shard, and at sites."""
    detection = detection_of_case(case.case, notices=False)
    _ = detection.outcomes
    if number % 5 == 0:
        detection.analyze()
    if case.is_trend:
        trends(case, number)
        return
    if number % 3 == 0:
        run_plan(case.case, random_plan(case.case, number), n_batches=1 + number % 4, seed=number)
    is_stream = case.bound.window is not None and not never_settled(case.case)
    if number % 3 == 1 and is_stream:
        run_stream(case.case, number)
    if number % 3 == 2 and is_placeable(case.case) and not case.bound.policy.timeouts:
        dice = SeededDice(number)
        placed = placed_case(case.case, dice, 3)
        program = placed.program(RandomGraph(dice, placed.network, placed.queries).build())
        if is_stream and not case.bound.policy.walks:
            run_placed_stream(placed, program, number)


def trends(case: TextCase, number: int) -> None:
    """Run a trend query in every way, and on a shard."""
    table, layout = arrow_events(case.case)
    events = ingest(table, layout)
    template = template_of(case.bound, derived_schema(case.case))
    aggregate_set([template], events, "pairwise")
    for sharing in ("dynamic", "static", "none"):
        aggregate_workload([template, template], events, sharing)  # type: ignore[arg-type]
    if case.bound.window is not None and case.bound.policy.suppression is None:
        dice = random.Random(number)
        stream = Stream(program_of(TrendPlan((template,), "dynamic"), layout, delay=0), dice)
        for rows in cut(deliveries(case.case.events, dice, 0), dice, 3):
            stream.deliver(table.take(pa.array(rows, pa.int64())))
        stream.finish()


def random_queries(seed: int) -> None:
    """Run random queries in batches, on a shard, at sites, and with a plan that changes."""
    case = matching_case(seed)
    run_case(case, n_batches=1 + seed % 4, seed=seed)
    run_stream(as_stream(case), seed)
    run_migrating(case, various_plans(case, seed), seed)
    if is_placeable(case):
        dice = SeededDice(seed)
        placed = placed_case(case, dice, 3)
        run_program(placed, placed.program(RandomGraph(dice, placed.network, placed.queries).build()))


def random_trends() -> None:
    """Run random trend queries that share."""

    @settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(related_queries(), bursts())
    def run(queries: list, stream: list) -> None:  # type: ignore[type-arg]
        try:
            templates = [template_of(query) for query in queries]
        except QueryError:
            return
        aggregate_workload(templates, engine_events(stream), "dynamic")

    run()


def every_strategy() -> None:
    """Plan some queries by each strategy."""
    case = matching_case(7)
    for name in STRATEGIES:
        for cost in ("measured", "partial-matches"):
            chosen = choose_plan(case.queries, derived_schema(case), Planning(plan=name, steps=6, cost=cost))  # type: ignore[arg-type]
            run_plan(case, chosen.plan)


def adaptive_stream() -> None:
    """Run a stream whose statistics are measured while it runs."""
    adapted = importlib.import_module("tests.adaptation.test_adapter")
    case = adapted.Case(adapted.TEXT, adapted.drifting(1, seconds=6))
    adapted.run(case, adapted.eager())


def other_columns() -> None:
    """Find matches among events whose columns come in other encodings, in pieces, sliced, and with NULLs."""
    table = rehearsal_events()
    pieces = pa.concat_tables([table.slice(0, 100), table.slice(100)])
    encoded = table.set_column(1, "type", table["type"].dictionary_encode())
    large = table.set_column(3, "name", table["name"].cast(pa.large_string()))
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    short = table.set_column(6, "n", table["n"].cast(pa.int32()))
    single = table.set_column(7, "price", table["price"].cast(pa.float32()))
    for own in (table, table.slice(7, 90), pieces, encoded, large, shuffled, short, single):
        for name in ("id", "name", "price", "on", None):
            for order_by in (None, "n", "price", "name", "at", "amount"):
                detection = weft.prepare(
                    own,
                    TRUTH,
                    time="ts",
                    type="type",
                    id=name,
                    columns=Columns(order_by=order_by),
                    notices=False,
                )
                _ = detection.outcomes


def workloads() -> Iterator[Callable[[], object]]:
    """Yield all workloads."""
    for number, case in enumerate(load_cases()):
        yield lambda case=case, number=number: text_case(case, number)  # type: ignore[misc]
    for seed in SEEDS:
        yield lambda seed=seed: random_queries(100 + seed)  # type: ignore[misc]
    yield from (random_trends, every_strategy, adaptive_stream, other_columns)


def main() -> None:
    """Rehearse, run everything, and tell what was missing."""
    for name in REHEARSALS:
        rehearse(name)
    ready = known_signatures(kernel_modules())
    n_workloads = 0
    for run in workloads():
        run()
        n_workloads += 1
    known = known_signatures(kernel_modules())
    missing = {name: sorted(own - ready[name]) for name, own in known.items() if own - ready[name]}
    json.dump({"workloads": n_workloads, "missing": missing}, sys.stdout)


if __name__ == "__main__":
    main()
