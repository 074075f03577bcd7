"""Names that are suggested, and the places that errors name."""

from pathlib import Path

import pytest

from weft.errors import absent_path, near_name


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("prise", "price"),
        ("Price", "price"),
        ("usr", "user"),
        ("user", "user_id"),
        ("userid", "user_id"),
        ("amt", "amount"),
        ("amoumt", "amount"),
        ("knd", "kind"),
        ("nod", "node"),
        ("tss", "ts"),
        ("Tranfser", "Transfer"),
        ("Logni", "Login"),
        ("WITHN", "WITHIN"),
        ("accouny", "account"),
        ("timestamb", "timestamp"),
        ("symbpl", "symbol"),
        ("Ts", "ts"),
    ],
)
def test_what_is_probably_meant_is_suggested(name: str, meant: str) -> None:
    assert near_name(name, ["zzz", meant]) == meant


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("kind", "id"),
        ("id", "kind"),
        ("type", "time"),
        ("a", "b"),
        ("id", "ip"),
        ("day", "pay"),
        ("cost", "count"),
        ("brute", "TRUE"),
        ("every", "QUERY"),
        ("user", "QUERY"),
        ("measures", "SUPPRESS"),
        ("level", "value"),
        ("price", "volume"),
        ("", "a"),
    ],
)
def test_what_is_something_else_is_not_suggested(name: str, other: str) -> None:
    assert near_name(name, [other]) is None


def test_of_several_near_names_the_nearest_is_suggested() -> None:
    assert near_name("prices", ["price_usd", "price", "prize"]) == "price"
    assert near_name("", [""]) == ""


def test_what_is_at_no_path_is_told_with_what_may_be_meant(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("")
    for name, remedy in {
        "evnets.csv": f"did you mean {tmp_path / 'events.csv'}?",
        "fraud.weft": f"it was looked for in {tmp_path}",
        "no/events.csv": f"there is no directory {tmp_path / 'no'}",
    }.items():
        said = f"{tmp_path / name}: there is no such file or directory of events\n  hint: {remedy}"
        assert str(absent_path(tmp_path / name, "events")) == said
    assert "hint: there is no directory" in str(absent_path("a" * 5_000 + "/b", "events"))
