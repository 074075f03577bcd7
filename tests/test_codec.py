"""Values as JSON: what is written is read again, and what is not known is refused."""

import json
from dataclasses import dataclass, field
from decimal import Decimal

import pytest

from weft import codec
from weft.codec import VERSION, Shared, from_json, stored, to_json
from weft.errors import DataError


@stored
class Leaf:
    name: str
    note: str = field(default="", compare=False)


@stored
class Pair(Shared):
    left: object
    right: object


@dataclass(frozen=True)
class Unknown:
    name: str


VALUES = [
    None,
    True,
    -7,
    0.1,
    float("-inf"),
    "text",
    Decimal("1.10"),
    (1, ("a", None)),
    {"plain": 1, "$class": {"$$x": (2,)}, "": 3},
    frozenset({"b", "a"}),
    Leaf("a"),
    codec.Plain({"$class": [1, {"x": None}]}),
    Pair(Leaf("a"), Pair(Leaf("a"), Leaf("b"))),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_is_written_is_read_again(value: object) -> None:
    assert from_json("thing", to_json("thing", value)) == value


def test_a_shared_node_is_written_once_and_read_as_one() -> None:
    shared = Pair(1, 2)
    text = to_json("thing", (Pair(shared, 3), Pair(shared, 4)))
    assert len(json.loads(text)["nodes"]) == 3
    one, other = from_json("thing", text)
    assert one.left is other.left


def test_fields_that_do_not_make_the_value_are_not_written() -> None:
    assert "note" not in to_json("thing", Leaf("a", note="x"))


def test_a_class_that_is_not_stored_is_refused() -> None:
    with pytest.raises(TypeError, match="Unknown is not stored"):
        to_json("thing", Unknown("a"))


def test_two_classes_of_one_name_are_refused() -> None:
    with pytest.raises(TypeError, match="have the name Leaf"):

        @stored
        class Leaf:
            name: str


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("[", "is not JSON"),
        ("[]", "version None found"),
        ('{"version": 1, "kind": "thing", "value": 1}', f"version 1 found, {VERSION} expected"),
        (f'{{"version": {VERSION}, "kind": "other", "value": 1}}', "is a 'other', expected a 'thing'"),
        (f'{{"version": {VERSION}, "kind": "thing"}}', "damaged .KeyError"),
        (
            f'{{"version": {VERSION}, "kind": "thing", "value": {{"$class": "Unknown", "name": ""}}}}',
            "damaged .KeyError: 'Unknown'",
        ),
        (
            f'{{"version": {VERSION}, "kind": "thing", "value": {{"$class": "Leaf", "title": ""}}}}',
            "damaged .TypeError",
        ),
        (f'{{"version": {VERSION}, "kind": "thing", "value": {{"$node": 3}}}}', "damaged .IndexError"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(document: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        from_json("thing", document, "the state of a shard")
    assert "the state of a shard" in str(error.value)


def test_a_version_that_is_true_is_none() -> None:
    with pytest.raises(DataError, match="version True found"):
        codec.check_version({"version": True}, "here")
