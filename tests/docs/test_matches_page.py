"""What docs/matches.md says is found is what the reference finds, and what the engine finds."""

import math
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.helpers.engine import Bindings, expected_outcome, expected_timeouts, run_case, run_with_budget
from tests.helpers.strategies import Case, event

from weft.language.parser import parse
from weft.normalize.cautions import list_cautions
from weft.optimizer.pipeline import optimize
from weft.plan.dag import topological_order
from weft.plan.nodes import Join, KleeneExpand
from weft.reference.events import ReferenceEvent
from weft.runtime.budget import Budget
from weft.schema import STRING, TIMESTAMP, Schema

FOLDER = Path(__file__).parents[2] / "docs"
PAGE = (FOLDER / "matches.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"^```weft\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
LOGINS = Schema({"ts": TIMESTAMP, "user": STRING}, "ts")
ON_THE_STREAM = "SEQ(A a, B+ b[], C c) WITHIN 10 minutes"
MINUTE = 60_000_000
SECONDS_BETWEEN_FAILURES = 10
MOST_FAILURES_OF_THE_REFERENCE = 12  # it tries every combination
EVENT = re.compile(r"([A-Z])(\d+)(?:\((\w)=(\d+)\))?")

Row = dict[str, str]
Found = list[tuple[str, ...]]  # the events of each match, in order of time


def tables(section: str) -> list[list[Row]]:
    """Return the tables of a section, as rows from the names of columns to cells without backquotes."""
    text = re.split(r"^#", PAGE.partition(f"# {section}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        header, _, *rows = ([cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines())
        found.append([dict(zip(header, cells, strict=True)) for cells in rows])
    return found


def plain(cell: str) -> str:
    return cell.replace("`", "")


def case_of(query: str, events: str) -> Case:
    """Return the case of a pattern with its clauses, and events as the page writes them: A0 B1(x=2)."""
    within = "" if "WITHIN" in query else " WITHIN 10 minutes"
    arrivals = [
        event(row, kind, int(minute) * MINUTE, **({name: int(value)} if name else {}))
        for row, (kind, minute, name, value) in enumerate(EVENT.findall(events))
    ]
    return Case(f"QUERY q PATTERN {query}{within}", tuple(arrivals))


def found_in(case: Case) -> Found:
    """Return what a case finds, by the reference and by the engine alike."""
    expected = expected_outcome(case)["q"]
    for n_batches in (1, 3):
        assert run_case(case, n_batches=n_batches).matches["q"] == expected
    return sorted((named(case, bindings) for bindings in expected), key=in_order)


def named(case: Case, bindings: Bindings) -> tuple[str, ...]:
    """Return the events of a match as the page writes them."""
    rows = sorted(row for _, rows in bindings for row in rows)
    return tuple(f"{min(e.types)}{e.time // MINUTE}" for e in case.events if e.row in rows)


def in_order(events: Iterable[str]) -> list[int]:
    return [int(name[1:]) for name in events]


def written(cell: str) -> Found:
    """Read `A0 B1`, `A0 B2`; or none."""
    return [] if cell == "none" else [tuple(match.split()) for match in re.findall("`(.*?)`", cell)]


SMALL = [table for table in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE) if "| Events |" in table]


def small_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the rows of all tables that have a query, its events and what it finds."""
    for table in SMALL:
        for row in table.splitlines()[2:]:
            *_, query, events, finds = (cell.strip() for cell in row.split("|")[1:-1])
            yield plain(query), plain(events), finds


@pytest.mark.parametrize(("query", "events", "finds"), list(small_rows()))
def test_small_examples(query: str, events: str, finds: str) -> None:
    found = found_in(case_of(query, events))
    assert (len(found) == int(finds)) if finds.isdigit() else (found == written(finds))


def test_there_are_small_examples_in_each_section() -> None:
    assert len(SMALL) == 4
    assert len(list(small_rows())) > 25


def failures(query: str, n_failures: int) -> Case:
    """Return the case of some failed logins of a user and a login after them."""
    kinds = ["LoginFailed"] * n_failures + ["Login"]
    return Case(query, tuple(login(row, kind) for row, kind in enumerate(kinds)), schema=LOGINS)


def login(row: int, kind: str) -> ReferenceEvent:
    time = row * SECONDS_BETWEEN_FAILURES * 1_000_000
    return ReferenceEvent(row, frozenset({kind}), time, None, {"ts": time, "user": "ann"})


def alerts(clauses: str, pattern: str, n_failures: int) -> list[int]:
    """Return how many failures are in each alert; the reference is asked where it can answer."""
    query = f"QUERY q PATTERN {pattern} WHERE [user] WITHIN 10 minutes {clauses}"
    case = failures(query, n_failures)
    found = run_case(case).matches["q"]
    if n_failures <= MOST_FAILURES_OF_THE_REFERENCE:
        assert found == expected_outcome(case)["q"]
    return sorted(len(rows) for bindings in found for variable, rows in bindings if variable == "f")


def test_alerts_of_failed_logins() -> None:
    counts, _ = tables("Five failed logins, then a login")
    every, *others = counts
    pattern = "SEQ(LoginFailed{5,} f[], Login l)"
    for row in others:
        clauses = plain(row.pop("Clauses"))
        for column, cell in row.items():
            assert len(alerts(clauses, pattern, int(column.split()[0]))) == int(cell), (clauses, column)
    assert plain(every.pop("Clauses")).endswith("STRATEGY ANY")
    for column, cell in every.items():
        n_failures = int(column.split()[0])
        choices = sum(math.comb(n_failures, length) for length in range(5, n_failures + 1))
        assert int(cell.replace(",", "")) == choices
        if n_failures <= MOST_FAILURES_OF_THE_REFERENCE:
            assert len(alerts("", pattern, n_failures)) == choices


def test_twenty_failures_are_beyond_the_budget() -> None:
    assert run_with_budget(failures(QUERIES[0], 20), Budget()) is None


def test_alerts_of_bursts() -> None:
    _, bursts = tables("Five failed logins, then a login")
    for row in bursts:
        clauses = plain(row.pop("Clauses"))
        for column, cell in row.items():
            lengths = alerts(clauses, "LoginFailed{5,} f[]", int(column.split()[0]))
            each = f" ({', '.join(map(str, lengths))})" if "(" in cell else ""
            assert cell == f"{len(lengths)}{each}", (clauses, column)


def test_the_queries_that_are_recommended_are_those_of_the_tables() -> None:
    """They parse, and of all queries of the page only the first one is cautioned about."""
    every, recommended, burst = (query for text in QUERIES for query in parse(text))
    assert set(list_cautions([every, recommended, burst])) == {"every_choice"}
    assert (recommended.policy.strategy, recommended.policy.skip) == ("next", "past last")
    assert (burst.policy.skip, burst.policy.prefer_longest) == ("past last", True)


@cache
def drawing() -> tuple[str, dict[int, tuple[str, ...]]]:
    """Return the events of the drawn stream, and those of each numbered match."""
    block = next(text for text in re.findall(r"^```text\n(.*?)^```$", PAGE, re.M | re.S) if "minute" in text)
    header, *lines = block.splitlines()
    minutes = {mark.start(): mark[0] for mark in re.finditer(r"\d+", header)}
    rows = {}
    for line in lines:
        label, marks = line.split()[0], re.finditer(r"(?<= |-)[A-Z]", line)
        rows[label] = tuple(f"{mark[0]}{minutes[mark.start()]}" for mark in marks)
    return " ".join(rows.pop("stream")), {int(label): events for label, events in rows.items()}


def on_the_stream(clauses: str) -> Case:
    events, _ = drawing()
    return case_of(f"{ON_THE_STREAM} {clauses}", events)


def numbers_of(found: Found) -> str:
    numbers = {events: number for number, events in drawing()[1].items()}
    return " ".join(map(str, sorted(numbers[events] for events in found)))


def test_one_stream_all_clauses() -> None:
    grid, *_ = tables("One stream, all clauses")
    assert len(grid) == 5
    for row in grid:
        skip = plain(row.pop(""))
        for strategy, cell in row.items():
            found = found_in(on_the_stream(f"{plain(strategy)} {skip}"))
            if cell.startswith("all"):
                assert cell == f"all {len(found)}"
                assert f"`{ON_THE_STREAM}` finds {len(found)} matches" in PAGE
                assert set(drawing()[1].values()) <= set(found)
            else:
                assert numbers_of(found) == cell, (strategy, skip)


def test_suppression_on_the_stream() -> None:
    _, suppressed, _ = tables("One stream, all clauses")
    for row in suppressed:
        case = on_the_stream(f"{plain(row['Clauses'])} RETURN SUPPRESSED() AS more")
        assert numbers_of(found_in(case)) == row["Matches"]
        kept = [(named(case, match), more["more"]) for match, more in expected_outcome(case)["q"].items()]
        kept.sort(key=lambda one: in_order(one[0])[-1])
        assert " ".join(str(more) for _, more in kept) == row["`SUPPRESSED()`"]


def test_timeouts_on_the_stream() -> None:
    _, _, timeouts = tables("One stream, all clauses")
    for row in timeouts:
        case = on_the_stream(plain(row["Clauses"]))
        expected = expected_timeouts(case)["q"]
        assert run_case(case).timeouts["q"] == expected
        told = [(named(case, chain), missing or "none") for chain, missing in expected]
        told.sort(key=lambda one: in_order(one[0]))
        assert [chain for chain, _ in told] == written(row["Timeouts"])
        assert ", ".join(missing for _, missing in told) == plain(row["`missing`"])


def test_queries_that_differ_in_the_clauses_share_joins() -> None:
    """Lists are built for each strategy, and skips and suppression share what is below them."""
    nearest = "STRATEGY NEXT"
    clauses = ["", nearest, f"{nearest} AFTER MATCH SKIP PAST LAST", f"{nearest} SUPPRESS 1 hour"]
    pattern = "PATTERN SEQ(A a, B+ b[], C c) WITHIN 10 minutes"
    text = "\n".join(f"QUERY q{number} {pattern} {clause}" for number, clause in enumerate(clauses))
    nodes = topological_order(optimize(parse(text), None))
    assert sum(isinstance(node, Join) for node in nodes) == 1
    assert sum(isinstance(node, KleeneExpand) for node in nodes) == 2


def test_links_within_the_documentation_lead_to_headings() -> None:
    for page, anchor in re.findall(r"\]\(([^)#:]*)#([\w-]+)\)", PAGE):
        text = (FOLDER / page).read_text(encoding="utf-8") if page else PAGE
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
