"""Tables of results: shown to a person, as Markdown, and kept as CSV under `benchmarks/results`."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from measures import number_text

RESULTS = Path(__file__).parent / "results"

Row = Mapping[str, str | float]


def report_table(name: str, rows: Sequence[Row]) -> Path:
    """Print a table that can be pasted into a document, write it as CSV, and return where it is."""
    path = RESULTS / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    print(f"\n{markdown(rows)}\n")
    return path


def markdown(rows: Sequence[Row]) -> str:
    """Return rows with the same columns as a table in Markdown.

    >>> print(markdown([{"method": "tabu", "ratio": 1.25}, {"method": "annealing", "ratio": 1.0}]))
    | method | ratio |
    | --- | ---: |
    | tabu | 1.25 |
    | annealing | 1 |
    """
    sides = ["---" if isinstance(value, str) else "---:" for value in rows[0].values()]
    body = [
        [value if isinstance(value, str) else number_text(value) for value in row.values()] for row in rows
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [list(rows[0]), sides, *body])
