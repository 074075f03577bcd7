"""Statistics as JSON: what a person writes, what is refused and how, and the way there and back."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from weft.codec import VERSION
from weft.errors import DataError, WeftError
from weft.expressions import Equivalence, variables_of
from weft.language.read import read_queries
from weft.normalize.pipeline import normalize
from weft.pattern.canonical import rename_variables
from weft.schema import BOOLEAN, DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, Schema, decimal
from weft.statistics.file import from_document, load_statistics, save_statistics, to_document
from weft.statistics.model import GroupKey, ItemKey, PatternKey, Statistics, group_key

SCHEMA = Schema(
    {
        "ts": TIMESTAMP,
        "user": STRING,
        "x": LONG,
        "y": DOUBLE,
        "flag": BOOLEAN,
        "amount": decimal(2),
        "day": DATE,
        "took": DURATION,
        "odd name": LONG,
    },
    time="ts",
)
EXAMPLE = {
    "version": VERSION,
    "duration": 3600,
    "total_rate": 1000,
    "rates": [{"pattern": "A a", "where": "a.x > 3", "per_second": 47}],
    "selectivities": [{"pattern": "AND(A a, B b)", "where": "a.x < b.x", "selectivity": 0.1}],
    "agreements": {"user": 0.01},
}


def with_selectivity(pattern: str, where: str) -> dict[str, Any]:
    entry = {"pattern": pattern, "where": where, "selectivity": 0.25}
    return {"version": VERSION, "selectivities": [entry]}


def group_of(pattern: str, where: str) -> GroupKey:
    (group,) = from_document(with_selectivity(pattern, where), SCHEMA).selectivities
    return group


def item_of(pattern: str, where: str) -> ItemKey:
    entry = {"pattern": pattern, "where": where, "per_second": 1}
    (item,) = from_document({"version": VERSION, "rates": [entry]}, SCHEMA).rates
    return item


def test_the_example_means_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "statistics.json"
    file.write_text(json.dumps(EXAMPLE), encoding="utf-8")
    found = load_statistics(file, SCHEMA)
    (condition,) = read_queries("PATTERN A a WHERE a.x > 3", SCHEMA)[0].where
    assert not isinstance(condition, Equivalence)
    assert found.rate(ItemKey("A", (rename_variables(condition, {"a": "$0"}),))) == 47.0
    assert found.rate(ItemKey("A")) == 1.0
    assert found.selectivity(group_of("AND(B q, A p)", "p.x < q.x")) == 0.1
    assert (found.agreement("user"), found.total_rate, found.duration) == (0.01, 1000.0, 3600.0)


def test_a_version_is_all_it_takes() -> None:
    assert from_document({"version": VERSION}, SCHEMA) == Statistics()


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("AND(B b, A a)", "a.x < b.x AND b.y > 2"),
        ("SEQ(A one, B two)", "NOT one.x >= two.x AND 2 < two.y"),
        ("AND(A a, B+ b[])", "b.y > 2 AND b.x > a.x"),
    ],
)
def test_names_order_and_spelling_do_not_matter(pattern: str, where: str) -> None:
    assert group_of(pattern, where) == group_of("AND(A a, B b)", "a.x < b.x AND b.y > 2.0")


def test_the_key_is_that_of_a_query_with_these_predicates() -> None:
    text = "PATTERN SEQ(B v, A+ w[], C c) WHERE v.y > 2 AND w.x > v.x AND c.x = 1 WITHIN 5 min"
    (form,) = normalize(read_queries(text, SCHEMA)[0])
    single = [one for one in form.predicates if variables_of(one) == {"v"}]
    both = [one for one in form.predicates if variables_of(one) == {"v", "w"}]
    items = [ItemKey("B", tuple(rename_variables(one, {"v": "$0"}) for one in single)), ItemKey("A")]
    expected = group_key(items, [rename_variables(one, {"v": "$0", "w": "$1"}) for one in both])
    assert group_of("AND(A a, B b)", "b.x < a.x AND b.y > 2") == expected
    assert item_of("B b", "2 < b.y") == items[0]


WHERES = [
    ("A a", "a.x > 3 AND a.y < 0.5 AND a.user = 'ann''s' AND a.amount >= 1.25 AND a.flag"),
    ("A a", "a.day = '2024-01-31' AND a.took > 5 minutes AND a.ts > '2024-01-31T12:00:00Z'"),
    ("A a", "a.user LIKE 'x%' AND a.x NOT IN (1, 2) AND a.y IS NOT NULL"),
    ("A a", '(a.x > 3 OR a.y > 3) AND NOT (a.x = 1 AND a.x % 2 = 0) AND a."odd name" = -7'),
    ('"odd type" "where"', '"where".x > 1'),
    ("AND(A a, B b)", "a.x < b.y AND a.amount < b.x AND ABS(a.took) < b.took"),
    ("AND(A a, A b, A c)", "a.x + b.x < c.x"),
    ("AND(A a, A b)", "a.x < b.x AND a.flag AND NOT b.flag"),
    ("A+ a[]", "a[i].x > a[i-1].x AND a.y > 2"),
    ("A+ a[]", "NOT (a[i].x <= a[i-1].x OR a[i].y < 3)"),
    ("A+ a[]", "SUM(a.x) > 100 AND FIRST(a).y < LAST(a).y"),
    ("AND(A+ a[], B b)", "a[i].x > a[i-1].x + b.x"),
    ("AND(A+ a[], B+ b[])", "COUNT(a) > COUNT(b) AND a.x < b.x"),
]


@pytest.mark.parametrize(("pattern", "where"), WHERES)
def test_there_and_back(pattern: str, where: str, tmp_path: Path) -> None:
    is_rate = not pattern.startswith("AND") and "[]" not in pattern
    known = Statistics(
        rates={item_of(pattern, where): 47.5, ItemKey("Z"): 0.0} if is_rate else {},
        selectivities={} if is_rate else {group_of(pattern, where): 1 / 3},
        agreements={"user": 1e-7, "odd name": 1.0},
        total_rate=12.5,
    )
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    save_statistics(known, first)
    loaded = load_statistics(first, SCHEMA)
    assert loaded == known
    save_statistics(loaded, second)
    assert second.read_text(encoding="utf-8") == first.read_text(encoding="utf-8")


def with_correction(pattern: str, where: str = "", within: str = "") -> dict[str, Any]:
    entry = {"pattern": pattern, "where": where, "within": within, "times": 12.5}
    return {"version": VERSION, "corrections": [entry]}


def correction_of(pattern: str, where: str = "", within: str = "") -> PatternKey:
    (key,) = from_document(with_correction(pattern, where, within), SCHEMA).corrections
    return key


PATTERNS = [
    ("SEQ(A a, B b)", "a.x < b.x", "1 hour"),
    ("SEQ(A a, AND(B b, C c), D d)", "[user] AND a.x < b.x AND b.x + c.x > d.x", "90 seconds"),
    ("AND(A a, A b, B c)", '[user, "odd name"] AND a.x > 3 AND a.x < b.x AND (b.y < c.y OR b.flag)', ""),
    ("SEQ(A a, B+ b[], C c)", "b[i].x > b[i-1].x AND SUM(b.x) > c.x", "5 minutes"),
    ("SEQ(A a, B{2,5} b[])", "NOT (a.x <= b.x OR a.y < 3)", "1 day"),
    ("AND(SEQ(A a, B b), SEQ(A c, B d))", "a.x = c.x", "1 minute"),
]


@pytest.mark.parametrize(("pattern", "where", "within"), PATTERNS)
def test_corrections_there_and_back(pattern: str, where: str, within: str, tmp_path: Path) -> None:
    known = Statistics(corrections={correction_of(pattern, where, within): 1 / 3})
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    save_statistics(known, first)
    loaded = load_statistics(first, SCHEMA)
    assert loaded == known
    save_statistics(loaded, second)
    assert second.read_text(encoding="utf-8") == first.read_text(encoding="utf-8")


def test_a_correction_is_that_of_an_order_and_a_window() -> None:
    expected = correction_of("SEQ(A a, B b)", "[user] AND a.x < b.x", "1 hour")
    assert correction_of("SEQ(A q, B p)", "p.x > q.x AND [user]", "60 minutes") == expected
    for other in (
        correction_of("AND(A a, B b)", "[user] AND a.x < b.x", "1 hour"),
        correction_of("SEQ(B b, A a)", "[user] AND a.x < b.x", "1 hour"),
        correction_of("SEQ(A a, B b)", "[user] AND a.x < b.x", "2 hours"),
        correction_of("SEQ(A a, B b)", "[user] AND a.x < b.x"),
        correction_of("SEQ(A a, B b)", "a.x < b.x", "1 hour"),
    ):
        assert other != expected


def test_a_file_without_corrections_costs_what_it_did() -> None:
    assert from_document(EXAMPLE, SCHEMA).corrections == {}
    assert "corrections" not in to_document(from_document(EXAMPLE, SCHEMA))


def test_an_and_that_belongs_together_stays_together() -> None:
    """Pairs of elements where x rises or y is small are excluded: two predicates would say more."""
    whole = group_of("A+ a[]", "NOT (a[i].x <= a[i-1].x OR a[i].y < 3)")
    assert len(whole.predicates) == 1
    split = group_of("A+ a[]", "a[i].x > a[i-1].x AND a[i].y >= 3")
    assert whole != split


def test_a_file_is_read_by_people() -> None:
    known = Statistics(
        {item_of("B b", "b.x > 3"): 2.0, ItemKey("A"): 5.0}, {group_of("AND(B b, A a)", "a.x < b.x"): 0.5}
    )
    assert to_document(known) == {
        "version": VERSION,
        "rates": [
            {"pattern": "A a", "per_second": 5.0},
            {"pattern": "B a", "where": "a.x > 3", "per_second": 2.0},
        ],
        "selectivities": [{"pattern": "AND(A a, B b)", "where": "a.x < b.x", "selectivity": 0.5}],
        "agreements": {},
    }


RATE, SHARE = EXAMPLE["rates"][0], EXAMPLE["selectivities"][0]  # type: ignore[index]
REFUSED: list[tuple[Any, str]] = [  # those without a version get the one that is read
    ([], r'^s\.json: found \[\], expected an object; its fields are "version", "duration"'),
    ({"version": None}, rf"^s\.json: version None found, {VERSION} expected; it was written by another"),
    ({"version": VERSION - 1}, rf"^s\.json: version {VERSION - 1} found, {VERSION} expected"),
    ({"version": True}, r"^s\.json: version True found"),
    ({"rate": []}, r'^s\.json: found the unknown field "rate"; did you mean "rates"\?$'),
    ({"zzz": []}, r'found the unknown field "zzz"; the fields are "version", "duration"'),
    ({"rates": {}}, r"^s\.json: rates: found \{\}, expected a list; put the entries in"),
    ({"rates": [3]}, r"^s\.json: rates\[0\]: found 3, expected an object; its fields are"),
    ({"rates": [{"pattern": "A a"}]}, r'rates\[0\]: found no "per_second"; an entry has'),
    ({"rates": [RATE, RATE | {"per_secnd": 1}]}, r'rates\[1\]: .*did you mean "per_second"'),
    (
        {"rates": [RATE | {"per_second": -3}]},
        r'^s\.json: rates\[0\]: found "per_second": -3, expected a number of at least 0; it counts seconds',
    ),
    ({"rates": [RATE | {"per_second": math.nan}]}, r'"per_second": NaN, expected a number'),
    ({"rates": [RATE | {"per_second": math.inf}]}, r'"per_second": Infinity, expected'),
    ({"rates": [RATE | {"per_second": 10**400}]}, r'"per_second": 1000+\.\.\., expected'),
    ({"rates": [RATE | {"per_second": "3"}]}, r'"per_second": "3", expected a number'),
    ({"rates": [RATE | {"per_second": True}]}, r'"per_second": true, expected a number'),
    ({"rates": [RATE | {"pattern": 3}]}, r'"pattern": 3, expected text; write for example'),
    ({"rates": [RATE | {"where": None}]}, r'"where": null, expected text'),
    (
        {"rates": [RATE | {"pattern": "AND(A a, B b)"}]},
        r"a pattern of more than one event; give",
    ),
    ({"rates": [RATE | {"pattern": "A+ a[]"}]}, r"a pattern of more than one event"),
    (
        {"rates": [RATE, {"pattern": "A q", "where": "3 < q.x", "per_second": 1}]},
        r"rates\[1\]: found the same events and conditions as in rates\[0\]; remove one of them",
    ),
    ({"total_rate": -1}, r'^s\.json: found "total_rate": -1, expected a number of at least 0'),
    ({"duration": None}, r'found "duration": null, expected a number'),
    (
        {"selectivities": [SHARE | {"selectivity": 1.5}]},
        r'selectivities\[0\]: found "selectivity": 1.5, expected a number from 0 to 1; it is a share',
    ),
    (
        with_selectivity("AND(A a, B b)", "a.x > 3"),
        r"no condition that speaks of all of a, b; a condition on",
    ),
    (
        with_selectivity("AND(A a, B b, C c)", "a.x < b.x AND a.x + b.x < c.x"),
        r"found a\.x < b\.x, which does not speak of all of a, b, c; give it an entry of its own",
    ),
    (with_selectivity("OR(A a, B b)", "a.x > 3"), r"alternatives or negations: OR\(A a, B b\); join single"),
    (with_selectivity("SEQ(A a, NOT B b, C c)", "a.x < c.x"), r"alternatives or negations: SEQ"),
    (with_selectivity("AND(A a, B b)", "[user]"), r"agreement on user; how often events agree stands under"),
    (with_selectivity("AND(A a, B b)", "a.x < b.x WITHIN 5 min"), r"found WITHIN or RETURN; an entry has"),
    (with_selectivity("AND(A a, B b)", "a.x < b.x RETURN a.x"), r"found WITHIN or RETURN"),
    (
        with_selectivity("AND(A a, B b)", "a.x < b.xx"),
        r"^s\.json: selectivities\[0\]:2:13: .*unknown attribute xx\n  WHERE a\.x < b\.xx\n +\^",
    ),
    (with_selectivity("AND(A a, B b", "a.x < b.x"), r"^s\.json: selectivities\[0\]:\d:\d+: "),
    (with_selectivity("(SEQ(A a, B b))+", "a.x < b.x"), r"^s\.json: selectivities\[0\]"),
    (with_correction("A a", within="1 hour"), r"corrections\[0\]: found no pattern of two events or more"),
    (
        with_correction("SEQ(A a, B b)", within="5 EVENTS"),
        r"corrections\[0\]: found no pattern of two events",
    ),
    (
        with_correction("SEQ(A a, NOT B b, C c)"),
        r"corrections\[0\]: found a pattern with alternatives or neg",
    ),
    (with_correction("SEQ(A a, B b)", within="an hour"), r"^s\.json: corrections\[0\]"),
    (
        {"corrections": [{"pattern": "SEQ(A a, B b)", "times": -1}]},
        r'corrections\[0\]: found "times": -1, expected a number of at least 0',
    ),
    (
        {"corrections": [{"pattern": "SEQ(A a, B b)", "times": 2}, {"pattern": "SEQ(A p, B q)", "times": 3}]},
        r"corrections\[1\]: found the same events and conditions as in corrections\[0\]; remove one of them",
    ),
    ({"agreements": []}, r"agreements: found \[\], expected an object; write for example"),
    ({"agreements": {"usr": 0.1}}, r'agreements: .*attribute "usr"; did you mean "user"\?'),
    (
        {"agreements": {"user": 2}},
        r'agreements: found "user": 2, expected a number from 0 to 1',
    ),
]


@pytest.mark.parametrize(("document", "message"), REFUSED)
def test_what_is_wrong_is_said_with_its_place(document: Any, message: str) -> None:
    if isinstance(document, dict):
        document = {"version": VERSION, **document}
    with pytest.raises(WeftError, match=message):
        from_document(document, SCHEMA, origin="s.json")


def test_a_document_without_a_version_is_refused() -> None:
    with pytest.raises(DataError, match=rf"^s\.json: version None found, {VERSION} expected; .*start anew$"):
        from_document({}, SCHEMA, origin="s.json")


def test_files_that_are_no_statistics(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    with pytest.raises(DataError, match=r"s\.json: No such file"):
        load_statistics(file, SCHEMA)
    with pytest.raises(DataError, match=r"missing/s\.json: No such file"):
        save_statistics(Statistics(), tmp_path / "missing" / "s.json")
    for text, message in (
        (b'{"version": 4,\n oops}', r"s\.json:2:2: this is not JSON: Expecting property name"),
        (b"\xff\xfe", "not a text file in UTF-8"),
        (b"[" * 100_000, "nests too deeply"),
        (b'{"version": 4, "duration": ' + b"9" * 5_000 + b"}", "digits"),
        (b'{"version": 4, "duration": NaN}', 'found "duration": NaN'),
    ):
        file.write_bytes(text)
        with pytest.raises(WeftError, match=message):
            load_statistics(file, SCHEMA)
