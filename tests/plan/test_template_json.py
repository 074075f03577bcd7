"""Templates as JSON and back."""

import json
import math
from decimal import Decimal

import pytest

from weft.expressions import Attribute, Comparison, InList, Literal
from weft.plan.template import (
    EVENT,
    PREVIOUS,
    START,
    Automaton,
    Feed,
    Item,
    Position,
    Source,
    Step,
    Template,
    TrendColumn,
)
from weft.plan.template_json import templates_from_json, templates_to_json
from weft.schema import DOUBLE, LONG, decimal

X = Attribute(EVENT, "x", type=DOUBLE)

RICH = Template(
    query="rich",
    items=(
        Item("A", (Comparison("<", X, Literal(math.inf, DOUBLE)),)),
        Item("B", (InList(Attribute(EVENT, "p", type=decimal(2)), (Literal(Decimal("1.50"), decimal(2)),)),)),
    ),
    alternatives=(
        (
            Automaton(
                positions=(
                    Position("a", 0, (Feed(0),)),
                    Position("a", 0, (Feed(1), Feed(2, 3))),
                ),
                sources=(
                    Source(START, (1,)),
                    Source(0, (1,), (Step("<=", Attribute(PREVIOUS, "x", type=DOUBLE), X),)),
                    Source(1),
                ),
                ends=(Feed(2),),
            ),
            Automaton((Position("b", 1, (Feed(0),)),), (Source(START), Source(0)), (Feed(1),)),
        ),
    ),
    keys=("site", "user"),
    group_by=("site",),
    length=600,
    slide=60,
    columns=(
        TrendColumn("site", None, None, "site", None),
        TrendColumn("n", "count", None, None, None),
        TrendColumn("s", "sum", "a", "x", LONG),
    ),
)
PLAIN = Template("plain", (), (), (), (), None, None, ())


def test_templates_survive_the_round_trip() -> None:
    again = templates_from_json(templates_to_json([RICH, PLAIN]))
    assert again == (RICH, PLAIN)
    assert repr(again) == repr((RICH, PLAIN))
    assert hash(again) == hash((RICH, PLAIN))


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_version_is_refused(version: object) -> None:
    document = json.loads(templates_to_json([PLAIN]))
    document["version"] = version
    with pytest.raises(ValueError, match=rf"template version {version!r} found, 1 expected"):
        templates_from_json(json.dumps(document))


@pytest.mark.parametrize("name", ["Popen", "Scan", "object", "builtins.eval"])
def test_an_unknown_class_is_refused(name: str) -> None:
    document = json.loads(templates_to_json([PLAIN]))
    document["templates"][0]["$class"] = name
    with pytest.raises(KeyError, match=name):
        templates_from_json(json.dumps(document))


def test_an_unknown_field_is_refused() -> None:
    document = json.loads(templates_to_json([PLAIN]))
    document["templates"][0]["color"] = "red"
    with pytest.raises(TypeError, match="color"):
        templates_from_json(json.dumps(document))
