"""What `weft place --simulate` shows: what a placement sends in networks of any size, predicted and drawn."""

import json
import time

import typer
from rich.markup import escape
from rich.table import Table

from weft.cli.console import terminal
from weft.explanation.placement_picture import number_text
from weft.placement.local_search import search_draft
from weft.placement.muse_graph import central_cost
from weft_lab.placement.problem_file import PlacementProblem
from weft_lab.placement.simulation import simulate


def show_simulated(
    problem: PlacementProblem, *, n_units: int, seconds: float | None, seed: int, as_json: bool
) -> None:
    """Place the queries of a problem, simulate that, and show what was found."""
    found = simulated_json(problem, n_units=n_units, seconds=seconds, seed=seed)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    table = Table(title=f"{escape(problem.name)}, in a unit of time", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in found.items():
        if isinstance(value, int | float):
            table.add_row(name.replace("_", " "), number_text(value))
    terminal().print(table)


def simulated_json(
    problem: PlacementProblem, *, n_units: int, seconds: float | None, seed: int
) -> dict[str, str | int | float]:
    """Return what a placement sends in a unit of time: cost, rows, bytes, and rows drawn at random."""
    started = time.perf_counter()
    draft = search_draft(problem.network, problem.queries, seconds=seconds, seed=seed)
    placed = time.perf_counter()
    simulated = simulate(draft, n_units=n_units, seed=seed)
    central = central_cost(problem.network, problem.queries)
    return {
        "name": problem.name,
        "sites": len(problem.network.sites),
        "cost": draft.cost,
        "central_cost": central,
        "ratio": draft.cost / central,
        "streams": simulated.n_channels,
        "rows": simulated.rows,
        "bytes": simulated.bytes,
        "drawn_rows": float(simulated.drawn.mean()),
        "standard_error": simulated.error,
        "most_rows_in_a_unit": float(simulated.drawn.max()),
        "most_rows_at_a_site": float(simulated.received.max()),
        "seconds": round(placed - started, 4),
        "simulation_seconds": round(time.perf_counter() - placed, 4),
    }
