"""Options in groups: derived types on the command line, and what is wrong with them."""

import pytest
import typer

from weft.cli.options import ColumnOptions, UsualColumnOptions, types_option
from weft.errors import WeftError


def columns(**given: object) -> ColumnOptions:
    return ColumnOptions(**({"time": "ts", "type": None, "types": None} | given))  # type: ignore[arg-type]


def test_types_are_conditions_by_name() -> None:
    written = ["Big=volume >= 10000", " Up = up AND kind = 'x'", '"odd ""type"""=x IN (1, 2)']
    assert types_option(written) == {
        "Big": "volume >= 10000",
        "Up": "up AND kind = 'x'",
        'odd "type"': "x IN (1, 2)",
    }


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            ["volume > 3"],
            "--types volume > 3: expected a name, = and a condition\n  hint: write a name",
        ),
        (["volume >= 3"], "expected a name, = and a condition"),
        (["Big="], "expected a name, = and a condition"),
        (["=x > 3"], "expected a name, = and a condition"),
        (["Big==3"], "expected a name, = and a condition"),
        (
            ["Big=x > 3", "Big=y > 3"],
            '--types gives the type Big twice\n  hint: write one condition: --types "Big=x > 3 OR y > 3"',
        ),
    ],
)
def test_what_is_no_type_is_told(written: list[str], said: str) -> None:
    with pytest.raises(WeftError) as raised:
        types_option(written)
    assert said in str(raised.value)
    with pytest.raises(typer.BadParameter):
        columns(types=written)


def test_types_come_from_a_column_or_from_conditions() -> None:
    assert columns(types=["Big=x > 3"]).conditions == {"Big": "x > 3"}
    assert columns(type="kind", types=["Big=x > 3"]).type == "kind"
    with pytest.raises(typer.BadParameter, match=r"--type, or derive types, as in --types"):
        columns()
    assert UsualColumnOptions(types=None).type == "type"
    assert UsualColumnOptions(types=["Big=x > 3"]).type is None
