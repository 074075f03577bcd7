"""A rehearsal: small workloads of every kind, which call each kernel as any workload does.

Numba compiles a kernel for the types of its arguments when it is first called. These are few: columns have a
handful of types, whatever the queries say.
"""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa

from weft.api.detect import prepare
from weft.api.options import Columns, Sites
from weft.language.read import read_queries
from weft.normalize.template import template_of
from weft.optimizer.planning import Planning
from weft.plan.trend_sets import Sharing
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.columns.merge import in_pool_of
from weft.runtime.stages.shard_executor import Arrivals
from weft.runtime.state.segments import with_arrival
from weft.runtime.trends.executor import TrendExecutor, TrendPlan
from weft.runtime.trends.pane_pieces import rows_of_pieces

N_EVENTS = 240
START, STEP = 1_700_000_000_000_000, 1_000_000
TYPES = "ABCD"
MATCHES = """
QUERY joined PATTERN SEQ(A a, B b, C c) WHERE [user] AND c.price > a.price WITHIN 1 minute
             RETURN c.name AS name
QUERY anyhow PATTERN AND(A a, B b) WHERE a.price < b.price WITHIN 30 seconds
QUERY loose PATTERN SEQ(A a, B b, D d) WHERE a.n = d.n AND d.price > 2 * a.price WITHIN 40 seconds
QUERY absent PATTERN SEQ(A a, NOT C c, B b) WHERE c.user = a.user WITHIN 20 seconds
QUERY after PATTERN SEQ(A a, B b, NOT SEQ(C c, D d)) WITHIN 10 seconds
QUERY lists PATTERN SEQ(A a, B{1,3} b[], D d) WHERE b[i].price > b[i-1].price AND SUM(b.price) > 3
            WITHIN 15 seconds RETURN COUNT(b) AS steps, AVG(b.price) AS mean, MAX(b.n) AS most
QUERY next PATTERN SEQ(A a, B+ b[], D d) WHERE [user] WITHIN 1 minute STRATEGY NEXT
           AFTER MATCH SKIP PAST LAST
QUERY strict PATTERN SEQ(A a, B b) WITHIN 1 minute STRATEGY STRICT SUPPRESS 30 seconds PER a.user
QUERY late PATTERN SEQ(A a, B b, C c) WHERE [user] WITHIN 20 seconds STRATEGY NEXT TIMEOUTS
QUERY counted PATTERN SEQ(A a, B b) WITHIN 6 EVENTS PARTITION BY user
QUERY either PATTERN SEQ(A a, OR(B b, C c)) WITHIN 10 seconds
QUERY some PATTERN SOME(A a, B b, C c, D d) WHERE [user] AND a.price < b.price AND a.n + b.n > c.n
           WITHIN 6 seconds RETURN a.name AS name
QUERY closest PATTERN SEQ(A a, B b, C c) WHERE a.price < c.price AND b.n = c.n WITHIN 1 minute STRATEGY NEXT
"""
VALUES = """
QUERY sums PATTERN SEQ(A a, B+ b[]) WHERE SUM(b.n) * a.n >= 0 AND MIN(b.name) < a.name WITHIN 5 seconds
           RETURN SUM(b.amount) AS total, COUNT(b.n) AS numbers, a.price * 2 AS twice
QUERY kinds PATTERN SEQ(A a, C c) WHERE a.large < 2.5 AND a.on <= c.on AND a.at < c.at AND a.took = c.took
            AND a.good = c.good AND a.amount < c.price WITHIN 10 seconds
"""
PLANS = """
QUERY four PATTERN SEQ(A a, B b, C c, D d) WHERE a.n = b.n AND b.price < d.price WITHIN 3 seconds
QUERY three PATTERN SEQ(A a, B b, D d) WHERE a.n = b.n WITHIN 3 seconds
QUERY lists PATTERN SEQ(A a, B+ b[], C c) WHERE a.n = c.n WITHIN 3 seconds
"""
TRENDS = """
QUERY whole PATTERN SEQ(A a, B+ b) WITHIN 20 seconds SLIDE 10 seconds GROUP BY user
            RETURN user, COUNT(*) AS n, COUNT(b) AS bs, SUM(b.price) AS total, MIN(b.n) AS least,
                   AVG(b.n) AS mean
QUERY shared PATTERN SEQ(C c, B+ b) WITHIN 20 seconds SLIDE 10 seconds GROUP BY user
             RETURN COUNT(*) AS n, SUM(b.n) AS total, MAX(b.price) AS most
QUERY edges PATTERN SEQ(A a, B+ b) WHERE b[i].price > b[i-1].price WITHIN 20 seconds SLIDE 10 seconds
            RETURN COUNT(*) AS n
QUERY without PATTERN SEQ(A a, NOT D d, B+ b) WHERE [user] WITHIN 20 seconds SLIDE 20 seconds
              RETURN COUNT(*) AS n
QUERY often PATTERN SEQ(A a, B+ b) WITHIN 1 minute SLIDE 2 seconds RETURN COUNT(*) AS n, MIN(b.n) AS least
QUERY both PATTERN AND(A+ a, B+ b) WITHIN 1 minute SLIDE 2 seconds RETURN COUNT(*) AS n
QUERY users PATTERN A a WITHIN 1 minute SLIDE 2 seconds RETURN COUNT(DISTINCT a.user) AS users, COUNT(*) AS n
"""
MANY_ITEMS = """
QUERY many PATTERN SEQ(A a, B+ b, C c, D d, E e, F f, G g, H h, I i) WITHIN 20 seconds SLIDE 10 seconds
           RETURN COUNT(*) AS n
QUERY more PATTERN SEQ(C c, B+ b, A a, D d, E e, F f, G g, H h, I i) WITHIN 20 seconds SLIDE 10 seconds
           RETURN COUNT(*) AS n
"""
LONG_TRENDS = "QUERY long PATTERN A+ a RETURN COUNT(*) AS n, SUM(a.price) AS total, SUM(a.n) AS numbers"


def rehearsal_events(n_events: int = N_EVENTS) -> pa.Table:
    """Return events of four types, in order of time, with values of several types, some of them NULL."""
    rows = np.arange(n_events)
    return pa.table(
        {
            "ts": pa.array(START + STEP * rows).cast(pa.timestamp("us", "UTC")),
            "type": pa.array([TYPES[row * 7 % 11 % 4] for row in rows]),
            "id": pa.array(rows),
            "name": pa.array([f"event {row}" for row in rows]),
            "user": pa.array([f"u{row % 3}" for row in rows]),
            "site": pa.array([f"s{row % 2}" for row in rows]),
            "n": pa.array([None if row % 17 == 0 else row % 5 for row in rows], pa.int64()),
            "price": pa.array([None if row % 19 == 0 else row * 13 % 101 / 10 for row in rows], pa.float64()),
            "amount": pa.array([Decimal(row % 7) for row in rows.tolist()], pa.decimal128(10, 2)),
            "large": pa.array([Decimal(row % 7) for row in rows.tolist()], pa.decimal128(18, 4)),
            "huge": pa.array([10**20 + Decimal(row) for row in rows.tolist()], pa.decimal128(30, 2)),
            "good": pa.array([row % 2 == 0 for row in rows]),
            "on": pa.array([date(2026, 1, 1 + row % 28) for row in rows.tolist()]),
            "at": pa.array(START + STEP * rows // 2).cast(pa.timestamp("us", "UTC")),
            "took": pa.array(rows % 3).cast(pa.duration("us")),
        }
    )


def _find(queries: str, *, id: str | None = "id", columns: Columns | None = None, **options: object) -> None:
    detection = prepare(
        rehearsal_events(),
        queries,
        time="ts",
        type="type",
        id=id,
        columns=columns,
        notices=False,
        partitions=2,
        **options,  # type: ignore[arg-type]
    )
    detection.analyze()
    _ = detection.outcomes


def _matches() -> None:
    for identity in ("id", "name", None):
        _find(MATCHES, id=identity)
    _find(MATCHES, columns=Columns(order_by="n"))


def _values() -> None:
    for order_by in ("price", "name"):
        _find(VALUES, columns=Columns(order_by=order_by))


def _plans() -> None:
    for planning in (Planning(steps=200), Planning(plan="mcep", prefix_only=True, steps=4)):
        _find(PLANS, planning=planning)


def _trends(text: str, sharing: Sharing) -> Callable[[], None]:
    return lambda: _find(text, planning=Planning(sharing=sharing))


def _settled() -> None:
    """Let trends be settled piece by piece, as on a stream, and go on from what was kept."""
    table = rehearsal_events()
    schema = prepare(table, TRENDS, time="ts", type="type", id="id", notices=False).host.source.schema
    templates = tuple(template_of(query, schema) for query in read_queries(TRENDS, schema))
    attributes = {name: (name, schema.attributes[name]) for name in ("user", "n", "price")}
    layout = Layout("ts", "type", "id", None, None, attributes, tuple(TYPES))
    owners = {template.query: number for number, template in enumerate(templates)}
    executors = [TrendExecutor(TrendPlan(templates)) for _ in range(2)]
    for start in range(0, N_EVENTS, 6):
        rows = with_arrival(ingest(table.slice(start, 6), layout), 1)
        rows = in_pool_of(executors[0], rows)
        list(executors[0].step(Arrivals(rows), int(rows.times[-1])))
    kept = rows_of_pieces(executors[0].pieces(owners, is_anew=True))
    executors[1].restore(kept, owners, int(rows.times[-1]))
    list(executors[1].step(Arrivals(rows.take(slice(0, 0))), int(rows.times[-1]) + 60 * STEP))


REHEARSALS: Mapping[str, Callable[[], None]] = {
    "matches": _matches,
    "values": _values,
    "plans": _plans,
    "sites": lambda: _find(MATCHES.split("QUERY counted", maxsplit=1)[0], sites=Sites(column="site")),
    "trends apart": _trends(TRENDS, "none"),
    "trends together": _trends(TRENDS, "dynamic"),
    "trends of many items apart": _trends(MANY_ITEMS, "none"),
    "trends of many items together": _trends(MANY_ITEMS, "dynamic"),
    "long trends": lambda: _find(LONG_TRENDS),
    "trends as they are settled": _settled,
}


def rehearse(name: str) -> None:
    """Run a rehearsal."""
    REHEARSALS[name]()
