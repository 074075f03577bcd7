"""Names that are suggested, and the places that errors name."""

import pytest

from weft.errors import near_name


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
