"""The command `weft check`: what it says of queries without events."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from weft.cli.app import app


def check(tmp_path: Path, text: str, *options: str) -> tuple[int, str]:
    queries = tmp_path / "q.weft"
    queries.write_text(text)
    result = CliRunner().invoke(app, ["check", str(queries), *options])
    return result.exit_code, " ".join(result.output.split())


def test_conditions_against_the_order_of_the_pattern_are_mistakes(tmp_path: Path) -> None:
    text = "QUERY q PATTERN SEQ(A a, B b) WHERE b.ts < a.ts"
    status, said = check(tmp_path, text)
    assert status == 1
    assert "query q: b.ts < a.ts can never hold: the pattern puts a before b" in said
    assert "hint: turn it around, or say which column is the time of the events: --time" in said


@pytest.mark.parametrize("name", ["at", "timestamp"])
def test_of_another_usual_name_it_is_said_what_would_be(tmp_path: Path, name: str) -> None:
    text = f"QUERY q PATTERN SEQ(A a, B b) WHERE b.{name} < a.{name}"
    status, said = check(tmp_path, text)
    assert status == 0
    told = f"notice: query q: if {name} is the time of the events, no match can satisfy b.{name} < a.{name}"
    assert told in said
    assert f"hint: say so: --time {name}" in said
    assert check(tmp_path, text, "--time", name)[0] == 1


def test_values_may_fall_or_rise(tmp_path: Path) -> None:
    status, said = check(tmp_path, "QUERY q PATTERN SEQ(A a, B b) WHERE b.price < a.price AND b.x > a.x")
    assert status == 0
    assert "notice" not in said


def test_contradictions_are_told(tmp_path: Path) -> None:
    status, said = check(tmp_path, "QUERY q PATTERN SEQ(A a, B b) WHERE a.x > 5 AND a.x < 3")
    assert status == 0
    assert "notice: query q: no event can satisfy a.x > 5 and a.x < 3 hint: all of it must hold" in said
