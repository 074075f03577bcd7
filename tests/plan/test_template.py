"""Templates as JSON and back."""

import math
from decimal import Decimal

from weft.codec import from_json, to_json
from weft.expressions import Attribute, Comparison, InList, Literal
from weft.plan.template import (
    EVENT,
    PREVIOUS,
    START,
    Automaton,
    EdgePredicate,
    Position,
    Template,
    Transition,
    TrendColumn,
    TrendItem,
    TrendSum,
)
from weft.schema import DOUBLE, LONG, decimal

X = Attribute(EVENT, "x", type=DOUBLE)

RICH = Template(
    query="rich",
    items=(
        TrendItem("A", (Comparison("<", X, Literal(math.inf, DOUBLE)),)),
        TrendItem(
            "B", (InList(Attribute(EVENT, "p", type=decimal(2)), (Literal(Decimal("1.50"), decimal(2)),)),)
        ),
    ),
    alternatives=(
        (
            Automaton(
                positions=(
                    Position("a", 0, (Transition(0),)),
                    Position("a", 0, (Transition(1), Transition(2, 3))),
                ),
                sources=(
                    TrendSum(START, (1,)),
                    TrendSum(0, (1,), (EdgePredicate("<=", Attribute(PREVIOUS, "x", type=DOUBLE), X),)),
                    TrendSum(1),
                ),
                ends=(Transition(2),),
            ),
            Automaton(
                (Position("b", 1, (Transition(0),)),), (TrendSum(START), TrendSum(0)), (Transition(1),)
            ),
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
    again = from_json("templates", to_json("templates", [RICH, PLAIN]))
    assert again == (RICH, PLAIN)
    assert repr(again) == repr((RICH, PLAIN))
    assert hash(again) == hash((RICH, PLAIN))
