"""Reading queries: mistakes of syntax and of names in one report, and all the ways to give queries."""

from pathlib import Path

import pytest

from weft.errors import DataError, QueryError, WeftError
from weft.explanation.plans import explain
from weft.language.binder import bind
from weft.language.builder import as_query, event, query, seq
from weft.language.parser import parse
from weft.language.printer import to_text
from weft.language.read import read_queries
from weft.schema import LONG, TIMESTAMP, Schema

SCHEMA = Schema({"ts": TIMESTAMP, "x": LONG}, time="ts", types=frozenset("AB"))
a, b = event("A", "a"), event("B", "b")
BUILT = query("built").pattern(seq(a, b)).where(a.x > 3)


def names(*given: object) -> list[str]:
    return [found.name for found in read_queries(list(given), SCHEMA)]  # type: ignore[arg-type]


def message_of(given: object, schema: Schema | None = SCHEMA) -> str:
    with pytest.raises(WeftError) as caught:
        read_queries(given, schema)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_mistake_in_syntax_hides_no_wrong_name_of_another_query() -> None:
    text = "QUERY one PATTERN SEQ(A a, B b\nQUERY two PATTERN SEQ(A a, B b) WHERE a.x > c.y"
    with pytest.raises(QueryError) as caught:
        read_queries(text, None)
    assert [problem.query for problem in caught.value.problems] == ["one", "two"]
    assert "variable c" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("QUERY q PATTERN SEQ(A a, B b) RETURN k", []),
        ("PATTERN SEQ(A a, B b) RETURN SUM(k)", []),
        (
            "PATTERN AND(NOT A a, NOT B b) GROUP BY k RETURN k, COUNT(*)",
            ["the pattern has no positive event"],
        ),
    ],
)
def test_an_attribute_without_a_variable_is_reported_once(text: str, messages: list[str]) -> None:
    with pytest.raises(QueryError) as caught:
        read_queries(text, None)
    problems = caught.value.problems
    assert [problem.message for problem in problems] == [*messages, "the attribute k has no variable"]
    assert problems[-1].hint == "say whose attribute it is: a.k"


def test_a_text_of_several_lines_that_ends_like_a_file_name_is_no_path() -> None:
    (bound,) = read_queries("QUERY q PATTERN SEQ(A a, B b)\nWHERE a.x = b.weft", None)
    assert bound.name == "q"


def test_a_key_out_of_place_is_reported_once() -> None:
    message = message_of("PATTERN SEQ(A a, B b) RETURN [x] AND a.x > 3")
    assert message.count("[x] may only stand by itself in WHERE") == 1


def test_a_mixture_is_read_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "b.weft").write_text("QUERY b1 PATTERN A\nQUERY b2 PATTERN B")
    (tmp_path / "a.ccl").write_text("SELECT * FROM A, B MATCHING [1 s: A, B];")
    (tmp_path / "notes.md").write_text("not a query")
    parsed = parse("QUERY parsed PATTERN B b")[0]
    assert names(BUILT, "QUERY t PATTERN A", tmp_path, parsed, "QUERY u PATTERN B") == [
        *("built", "t", "ccl_1", "b1", "b2", "parsed", "u")
    ]
    assert names(str(tmp_path / "b.weft"), BUILT) == ["b1", "b2", "built"]
    assert names(tmp_path / "b.weft") == ["b1", "b2"]


def test_one_of_each_kind_needs_no_list(tmp_path: Path) -> None:
    file = tmp_path / "q.weft"
    file.write_text("QUERY built PATTERN SEQ(A a, B b) WHERE a.x > 3")
    bound = bind([BUILT], SCHEMA)
    for given in (BUILT, as_query(BUILT), file, str(file), file.read_text()):
        assert read_queries(given, SCHEMA) == bound


def test_queries_are_bound_to_the_schema() -> None:
    assert "unknown event type C" in message_of("QUERY q PATTERN C")
    assert "unknown attribute y" in message_of(query("q").pattern(a).where(a.y > 1))


def test_mistakes_name_file_line_and_caret(tmp_path: Path) -> None:
    (tmp_path / "one.weft").write_text("QUERY one\nPATTERN SEQ(A a, C c)")
    (tmp_path / "two.weft").write_text("QUERY two\n\nPATTERN SEQ(A a, B b")
    shown = message_of([tmp_path, query("three").pattern(a).where(a.y > 1), "QUERY four PATTERN D"])
    assert f"{tmp_path}/one.weft:2:18: query one: unknown event type C\n  PATTERN SEQ(A a, C c)\n" in shown
    assert f"{tmp_path}/two.weft:3:21: query two: found the end of the text in PATTERN" in shown
    assert "query three: unknown attribute y" in shown
    assert "queries[2]:1:20: query four: unknown event type D\n  QUERY four PATTERN D\n" in shown


def test_the_places_of_a_parsed_query_are_not_shown_in_another_text() -> None:
    parsed = parse("QUERY far PATTERN SEQ(A a, B b) WHERE a.nothing > 1")[0]
    shown = message_of(["QUERY near PATTERN A WHERE A.none > 1", parsed])
    assert "<query>: query far: unknown attribute nothing\n" in shown
    assert shown.count("^^^^^^") == 1  # of the text that is at hand


def test_names_are_unique_over_files_texts_and_objects(tmp_path: Path) -> None:
    (tmp_path / "q.weft").write_text("QUERY built PATTERN A")
    assert "two queries are named built" in message_of([tmp_path, BUILT])
    assert "two queries are named built" in message_of([BUILT, BUILT])
    assert "two queries are named built" in message_of([tmp_path / "q.weft", "QUERY built PATTERN B"])


def test_queries_of_one_name_are_both_placed(tmp_path: Path) -> None:
    (tmp_path / "a.weft").write_text("QUERY other PATTERN A\nQUERY same PATTERN A")
    (tmp_path / "b.weft").write_text("\nQUERY same PATTERN B")
    shown = message_of(tmp_path)
    assert shown.startswith(f"{tmp_path}/b.weft:2:1: query same: two queries are named same\n")
    assert f"\n  the first is at {tmp_path}/a.weft:2:1\n  hint: give each query a name of its own" in shown
    of_object = message_of([tmp_path / "a.weft", query("same").pattern(a)])
    assert f"two queries are named same\n  the first is at {tmp_path}/a.weft:2:1" in of_object


@pytest.mark.parametrize("name", ["queries/fraud", "fraud.txt", r"rules\fraud", "/no/fraud"])
def test_a_word_like_a_path_is_one(name: str) -> None:
    assert message_of(name).startswith(f"{name}: there is no such file or directory of queries\n  hint: ")


@pytest.mark.parametrize("name", ["absent.weft", "absent.ccl"])
def test_a_name_of_a_query_file_is_never_query_text(name: str) -> None:
    assert message_of(name).startswith(f"{name}: there is no such file or directory of queries\n  hint: ")


def test_paths_that_hold_no_queries(tmp_path: Path) -> None:
    assert "there is no such file" in message_of(Path("absent"))
    assert "holds no *.weft and no *.ccl files" in message_of(tmp_path)
    (tmp_path / "empty.weft").write_text(" ")
    assert message_of(tmp_path).startswith(f"{tmp_path}/empty.weft: the text holds no query")
    (tmp_path / "binary.weft").write_bytes(b"QUERY \xff")
    with pytest.raises(DataError, match=r"binary\.weft: this is not a text file in UTF-8 \(byte 6\)"):
        read_queries(tmp_path, None)


@pytest.mark.parametrize("given", ["", "  \n", [], [""]])
def test_no_query(given: object) -> None:
    assert message_of(given).startswith("no query was given")


def test_what_is_no_query_is_named() -> None:
    assert "`queries` holds 7, which is no query\n  hint: give query text, the path" in message_of([7])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "`queries` is None, which is no query\n  hint: give query text, the path"),
        (7, "`queries` is 7, which is no query"),
        ([None], "`queries` holds None, which is no query"),
        ([[]], "`queries` holds [], which is no query"),
        (a, "is a weft.language.builder.Variable, which is no query\n  hint: put the pattern in a query"),
        (seq(a, b), 'hint: put the pattern in a query: weft.query("name").pattern(...)'),
        (a.x > 3, 'hint: put the condition in a query: weft.query("name").pattern(...).where(...)'),
        ({"q": "PATTERN A"}, "hint: give the values of the mapping in a list"),
        (b"PATTERN A", "hint: give the text: decode the bytes"),
        (["x" * 100, 1.5], "`queries` holds 1.5, which"),
        (
            query("half"),
            "the query half has no pattern\n  hint: go on with .pattern(...), as in weft.query(",
        ),
    ],
)
def test_what_cannot_be_queries_is_told_with_a_remedy(given: object, said: str) -> None:
    assert said in message_of(given)


def test_the_time_column_may_be_known_without_a_schema() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE b.ts < a.ts"
    assert len(read_queries(text, None)) == 1
    assert len(read_queries(text, None, times={"at"})) == 1
    for written in (text, text.replace("ts", "time")):
        with pytest.raises(QueryError, match=r"can never hold: the pattern puts a before b\n(.*\n)*.*--time"):
            read_queries(written, None, times={"ts", "time"})


def test_long_texts_and_odd_characters_are_no_paths() -> None:
    assert names("QUERY q PATTERN A " + "-- long " * 2000) == ["q"]
    assert "\\x00" in repr(message_of("QUERY q PATTERN A \x00"))


def test_a_builder_is_taken_where_a_query_is() -> None:
    text = to_text(BUILT)
    assert parse(text) == (as_query(BUILT),)
    assert bind([BUILT], SCHEMA) == bind([as_query(BUILT)], SCHEMA)
    assert explain(BUILT) == explain(text)
