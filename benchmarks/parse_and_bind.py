"""Time parsing and binding of 1,000 realistic queries."""

import argparse
import random
import time

from measures import Measure

from weft.language.binder import bind
from weft.language.parser import parse
from weft.schema import DOUBLE, LONG, STRING, TIMESTAMP, Schema, decimal

SCHEMA = Schema(
    {
        "ts": TIMESTAMP,
        "type": STRING,
        "symbol": STRING,
        "price": DOUBLE,
        "amount": decimal(2),
        "volume": LONG,
        "venue": STRING,
    },
    time="ts",
)
SECONDS_ALLOWED = 2.0  # for a thousand queries
_TYPES = ("Order", "Trade", "Quote", "Cancel", "Alert", "Transfer", "Login")
_PREDICATES = (
    "[symbol]",
    "{a}.price > {b}.price * 1.05",
    "{a}.volume >= {number}",
    "{b}.venue IN ('XNAS', 'XNYS', 'BATS')",
    "{b}.ts - {a}.ts < {number} seconds",
    "({a}.amount BETWEEN 10 AND {number} OR {b}.symbol LIKE 'BRK%')",
    "NOT {b}.price + {a}.price < 2 * {number}",
    "{a}.venue != {b}.venue",
)


def realistic_queries(count: int, seed: int = 1) -> str:
    """Return the text of `count` queries of 3 to 5 events, 3 or 4 predicates, a window and a RETURN.

    >>> realistic_queries(2).count("QUERY")
    2
    """
    source = random.Random(seed)
    return "\n\n".join(_realistic_query(number, source) for number in range(count))


def _realistic_query(number: int, source: random.Random) -> str:
    names = "abcde"[: source.randint(3, 5)]
    events = [f"{source.choice(_TYPES)} {name}" for name in names]
    if source.random() < 0.3:
        events[1] = f"NOT {events[1]}"
        names = names[0] + names[2:]
    predicates = [
        predicate.format(a=first, b=second, number=source.randint(10, 1000))
        for predicate in source.sample(_PREDICATES, source.randint(3, 4))
        for first, second in [source.sample(names, 2)]
    ]
    return (
        f"QUERY q{number}\n"
        f"PATTERN {source.choice(('SEQ', 'SEQ', 'AND'))}({', '.join(events)})\n"
        f"WHERE {' AND '.join(predicates)}\n"
        f"WITHIN {source.randint(1, 60)} minutes\n"
        f"RETURN {names[0]}.symbol AS symbol, {names[-1]}.price - {names[0]}.price AS change"
    )


def time_parts(text: str) -> tuple[float, float]:
    """Return the seconds to parse and to bind a text, the parser being loaded already."""
    parse("PATTERN Trade t")
    start = time.perf_counter()
    queries = parse(text)
    parsed = time.perf_counter()
    bind(queries, SCHEMA, source=text)
    return parsed - start, time.perf_counter() - parsed


def measure_parse(repeat: int, count: int = 1000) -> list[Measure]:
    """Return the best of several runs over `count` queries."""
    text = realistic_queries(count)
    parsing, binding = min((time_parts(text) for _ in range(repeat)), key=sum)
    return [
        Measure("parse", f"parse {count:,} queries", parsing, "s"),
        Measure("parse", f"bind {count:,} queries", binding, "s"),
        Measure("parse", "parse and bind", parsing + binding, "s", SECONDS_ALLOWED),
    ]


def main() -> None:
    """Print how long the queries take to parse and to bind."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--queries", type=int, default=1000)
    for one in measure_parse(1, arguments.parse_args().queries):
        print(f"{one.what:<22} {one.shown}")


if __name__ == "__main__":
    main()
