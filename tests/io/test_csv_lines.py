"""Lines of CSV with quotes where none should be, and with too many or too few fields."""

import random

import pytest

from weft.io.csv_lines import has_odd_quotes, mend, split_line


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("", [""]),
        ("1,", ["1", ""]),
        ('1,"a,b",2', ["1", "a,b", "2"]),
        ('"q""q"', ['q"q']),
        ('""', [""]),
        ('""""', ['"']),
        ('"open,3', ["open,3"]),
        ('"a""', ['a"']),
        ('1,"', ["1", '"']),
        ('"a"b,5', ['"a"b', "5"]),
        ('"a""b"c,5', ['"a"b"c', "5"]),
        ('"a,b"c,d', ['"a,b"c', "d"]),
        ('"a" \t,5', ["a", "5"]),
        (' "a",5', [' "a"', "5"]),
        ('x"y,""a', ['x"y', '""a']),
    ],
)
def test_fields_are_those_of_spark(line: str, fields: list[str]) -> None:
    assert split_line(line) == fields
    assert split_line(line.replace(",", "|"), "|") == [field.replace(",", "|") for field in fields]


def test_odd_quotes_are_told_from_proper_ones() -> None:
    for text in (
        "1,2\n",
        '"a","b,c"\n"d",e\n',
        'a,""\n',
        '"a""b",c\n',
        '"",""\n',
        'a"b",c\n',
        '1,"x"\n"y",2\n',
    ):
        assert not has_odd_quotes(text.encode(), ","), text
    for text in (
        '"a"b,c\n',
        '"open\nclosed"\n',
        'a",b\nc,"d\n',
        '""a,b\n',
        '"a" ,b\n',
        'a,"b\n',
        '"""\n',
    ):
        assert has_odd_quotes(text.encode(), ","), text


def test_mended_lines_have_the_fields_of_spark() -> None:
    draw = random.Random(3)
    parts = ["a", ",", '"', '""', " ", ',"', '",', "é", "|"]
    lines = ["".join(draw.choice(parts) for _ in range(draw.randint(1, 9))) for _ in range(2_000)]
    lines = [line for line in lines if line.strip()]
    mended = mend("".join(f"{line}\n" for line in lines).encode(), 3, ",").decode().splitlines()
    assert len(mended) == len(lines)
    assert not has_odd_quotes("".join(f"{line}\n" for line in mended).encode(), ",")
    for line, better in zip(lines, mended, strict=True):
        assert split_line(better) == [*split_line(line), "", ""][:3], line


def test_blank_lines_vanish_and_wide_lines_are_mended_too() -> None:
    assert mend(b"\n \t\n1\n\n", 1, ",") == b"1\n"
    assert mend(b"\n \n", 3, ",") == b""
    wide = ",".join(["1"] * 1_500)
    assert mend(f'{wide}\n"2"\n'.encode(), 1_500, ",").decode() == f"{wide}\n2{',' * 1_499}\n"
