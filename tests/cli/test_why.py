"""The command that says how far a rule gets: its tables, its JSON, its messages."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from weft.cli.app import app
from weft.cli.why import chosen_rules, key_of
from weft.errors import WeftError
from weft.language.parser import parse

RULES = """
QUERY theft   PATTERN SEQ(Login l, NOT Call c, Pay p) WHERE [user] AND p.amount > 1000 WITHIN 10 minutes
QUERY payment PATTERN SEQ(Login l, Pay p) WHERE [user] WITHIN 10 minutes
"""
EVENTS = """ts,type,id,user,amount
2026-01-01T12:00:00Z,Login,1,ann,
2026-01-01T12:05:00Z,Pay,2,ann,250.5
2026-01-01T12:05:00Z,Pay,2,ann,250.5
2026-01-01T12:06:00Z,Pay,3,ann,50
2026-01-01T12:06:00Z,Pay,4,bob,500
not a time,Pay,5,ann,999
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "rules.weft").write_text(RULES)
    (tmp_path / "events.csv").write_text(EVENTS)
    return tmp_path


def ask(files: Path, *arguments: str) -> Result:
    options = ("--id", "id", "--master", "local[1]")
    command = ["why", str(files / "rules.weft"), str(files / "events.csv"), *options, *arguments]
    return CliRunner().invoke(app, command)


@pytest.mark.spark
def test_all_rules_are_told_one_after_the_other(files: Path) -> None:
    shown = ask(files)
    assert shown.exit_code == 0, shown.stderr
    assert "rule theft: no match\n" in shown.stdout
    assert re.search(r"^│   p.amount > 1000 +│    0 │ nothing is left here │$", shown.stdout, re.MULTILINE)
    assert "closest miss: p.amount > 1000: was 250.5\n" in shown.stdout
    assert "2026-01-01 12:05:00  Pay p  id 2  user 'ann', amount 250.5" in shown.stdout
    assert "rule payment: 2 matches\n" in shown.stdout


@pytest.mark.spark
def test_one_rule_as_json_with_a_key_and_a_time(files: Path) -> None:
    shown = ask(files, "--rule", "payment", "--key", "user=ann", "--at", "2026-01-01T12:05:30", "--json")
    assert shown.exit_code == 0, shown.stderr
    (told,) = json.loads(shown.stdout)["rules"]
    assert told["rule"] == "payment"
    assert told["matches"] == 2
    assert told["looked_at"] == "user=ann, from 2026-01-01 11:55:30 to 2026-01-01 12:15:30"
    assert [step["count"] for step in told["alternatives"][0]["steps"]] == [1, 2, 2, 2]
    assert told["closest_miss"] is None


@pytest.mark.spark
def test_values_that_no_column_has_are_refused(files: Path) -> None:
    for options, said in {
        (
            "--key",
            "usr=ann",
        ): "cannot look at events by 'usr': there is no such column\n  hint: did you mean 'user'?",
        ("--key", "id=ann"): "cannot look at events with id=ann: id is long\n",
        ("--at", "noon"): "'noon' is no time\n",
    }.items():
        shown = ask(files, "--rule", "theft", *options)
        assert shown.exit_code == 1
        assert said in shown.stderr


def test_mistakes_that_show_before_spark_starts(files: Path) -> None:
    shown = ask(files, "--rule", "teft")
    assert shown.exit_code == 1
    assert "--rule teft: there is no such rule\n  hint: did you mean 'theft'?" in shown.stderr
    shown = ask(files, "--key", "ann")
    assert shown.exit_code == 1
    assert "--key ann: expected COLUMN=VALUE\n  hint: for example --key user=ann" in shown.stderr
    with pytest.raises(WeftError, match="the rules are: theft, payment"):
        chosen_rules(parse(RULES), "xyz")


def test_a_value_may_hold_what_divides_it_from_its_column() -> None:
    assert key_of("formula=a=b") == ("formula", "a=b")
