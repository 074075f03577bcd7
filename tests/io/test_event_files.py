"""Where files of events lie, and what is refused before any of them is read."""

from pathlib import Path

import pytest
from tests.helpers.odd_files import write

from weft.errors import DataError
from weft.io.event_files import check_partitions, delimiter_of, find_events, require_delimiter


def test_partitions_have_the_same_names_for_all_files(tmp_path: Path) -> None:
    write(tmp_path / "days/day=1/h=2/a.csv", "ts\n1\n")
    write(tmp_path / "days/day=2/h=3/b.csv", "ts\n1\n")
    assert check_partitions(find_events(str(tmp_path / "days"))) == ("day", "h")
    write(tmp_path / "days/c.csv", "ts\n1\n")
    with pytest.raises(DataError) as error:
        check_partitions(find_events(str(tmp_path / "days")))
    assert str(error.value) == (
        f"{tmp_path}/days: c.csv lies at the top, a.csv lies below day=/h=\n"
        "  hint: lay all files below the same levels of NAME=VALUE directories"
    )
    write(tmp_path / "nested/x/a.csv", "ts\n1\n")
    assert check_partitions(find_events(str(tmp_path / "nested"))) == ()
    assert check_partitions(find_events(str(tmp_path / "nested/x/a.csv"))) == ()


@pytest.mark.parametrize("text", ["", ",,", '"', "\n", "§", "\\"])
def test_a_delimiter_is_one_plain_character(text: str) -> None:
    with pytest.raises(
        DataError, match="it must be one character, no quote, backslash or line end\n  hint: --delimiter"
    ):
        delimiter_of(text)


def test_a_single_column_that_looks_like_many_is_refused() -> None:
    for name, delimiter, said in (
        (
            "ts;type",
            ",",
            "holds `;`; columns are expected to be delimited by `,`\n  hint: if this is the delimiter, "
            "say so: --delimiter ';'",
        ),
        (
            "ts\ttype",
            ",",
            r"holds a tab; columns are expected to be delimited by `,`"
            "\n  hint: if this is the delimiter, say so: --delimiter tab",
        ),
        ("ts,type", "\t", "holds `,`; columns are expected to be delimited by a tab"),
    ):
        with pytest.raises(DataError) as error:
            require_delimiter([name], "a.csv", delimiter)
        assert said in str(error.value)
    require_delimiter(["ts"], "a.csv", ",")
    require_delimiter(["a;b", "c"], "a.csv", ",")
