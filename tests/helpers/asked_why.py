"""Rules asked why on events by hand."""

from collections.abc import Sequence

from tests.helpers.local_cases import detection_on

from weft.diagnosis.why import Why

# seconds, type, id, k, x
ROWS: Sequence[tuple[object, ...]] = [
    (0, "A", 1, 1, 10),
    (10, "A", 2, 2, 20),
    (20, "B", 3, 1, 15),
    (30, "B", 4, 2, 15),
    (40, "C", 5, 1, 99),
    (4000, "B", 6, 1, 50),
]


def why(rows: Sequence[tuple[object, ...]], text: str, **options: object) -> Why:
    """Ask why of a query without its name."""
    return detection_on(rows, f"QUERY q {text}").why("q", **options)  # type: ignore[arg-type]


def left(told: Why) -> list[tuple[str, int | None]]:
    """Return the steps of a rule without alternatives, and what each leaves."""
    (funnel,) = told.funnels
    return [(step.text, step.count) for step in (*funnel.steps, *told.whole)]
