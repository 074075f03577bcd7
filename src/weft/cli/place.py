"""The command `weft place`: where to evaluate queries in a network that a file describes."""

import json
import time as clock
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Literal

import typer
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from weft.cli.console import FAILED, check_picture, report_errors, say_error, terminal
from weft.codec import write_text
from weft.errors import DataError, PlacementError, near_name
from weft.explanation.placement_picture import channels_by_projection, dearest_channels, number_text
from weft.explanation.placement_picture import picture as draw_picture
from weft.placement.local_search import search_draft
from weft.placement.muse_graph import MuseGraph, Vertex, central_cost
from weft.placement.pipeline import Placed
from weft.placement.pipeline import place as place_queries
from weft_lab.placement.optimal import EXACT
from weft_lab.placement.problem_file import PlacementProblem, read_problems
from weft_lab.placement.simulation import simulate as simulate_draft

EXAMPLES = (
    "Examples:\n\n  weft place robots.json\n\n"
    "  weft place robots.json --algorithm amuse --picture robots.svg\n\n"
    "  weft place problems.json --name robots --seconds 10 --json\n\n"
    "  weft place cities.json --simulate 100\n\n"
    'A problem: {"name": "robots", "sites": {"R1": ["C", "F"], "R2": ["C", "L"]}, '
    '"rates": {"C": 1000, "F": 1, "L": 1000}, "queries": ["SEQ(AND(C, L), F)"], '
    '"selectivities": {"CL": 0.01}}\n\n'
    "A file has one problem, or one on each line. A type's rate may also be given site by site, and "
    '"links": {"R1": {"R2": 2.5}} says what a row costs on its way, 1 if it does not.'
)
MOST_SITES = 40  # shown with what they find
MOST_CHANNELS = 20  # shown one by one, the most costly first

Algorithm = Literal["best", "amuse", "amuse-star", "optimal", "single-sink", "central"]


def place(
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM.json", help="Sites, rates, queries and selectivities.")
    ],
    *,
    algorithm: Annotated[
        Algorithm,
        typer.Option(
            help="best searches beyond the others; amuse and amuse-star are from the paper on MuSE graphs; "
            "optimal tries all graphs, for small problems; single-sink places each operator once; central "
            "sends all events to a place outside the network."
        ),
    ] = "best",
    name: Annotated[str | None, typer.Option(help="Only the problem of this name.")] = None,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.0, help="How long to search for the best; a fixed number of steps if not given."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random steps of the search.")] = 0,
    picture: Annotated[
        str | None, typer.Option(metavar="FILE.svg", help="Draw the graph, with no other program needed.")
    ] = None,
    simulate: Annotated[
        int | None,
        typer.Option(
            metavar="UNITS",
            min=2,
            help="Predict rows and bytes, and draw random arrivals for so many units of time to check that; "
            "no graph is built, so there may be thousands of sites.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each problem's graph as one JSON object and nothing else.")
    ] = False,
) -> None:
    """Decide which parts of queries to evaluate at which sites, so that little is sent between them.

    Shows the MuSE graph, what it sends, and its cost beside that of sending all events to one place.
    """
    with report_errors():
        problems = _select_problems(problem, name)
        check_picture(picture)
        if picture is not None and len(problems) > 1:
            raise DataError(f"--picture draws one problem, {problem} has {len(problems)}: choose with --name")
        if simulate is not None:
            if picture is not None or algorithm != "best":
                raise DataError("--simulate shows no graph, and simulates the best placement alone")
            for given in problems:
                _show_simulated(given, n_units=simulate, seconds=seconds, seed=seed, as_json=as_json)
            return
        search = partial(place_queries, algorithm=algorithm, seconds=seconds, seed=seed, algorithms=EXACT)
        failures = [_show_placed(given, search, picture, as_json=as_json) for given in problems]
        if any(failures):
            raise typer.Exit(FAILED)


def _select_problems(path: str, name: str | None) -> tuple[PlacementProblem, ...]:
    """Return the problems of a file, or the one that has a name."""
    problems = read_problems(path)
    if name is None:
        return problems
    selected = tuple(problem for problem in problems if problem.name == name)
    if not selected:
        near = near_name(name, [problem.name for problem in problems])
        raise DataError(f"{path}: no problem {name}{f'; did you mean {near}?' if near else ''}")
    return selected


def _show_placed(
    problem: PlacementProblem, search: Callable[..., Placed], picture: str | None, *, as_json: bool
) -> bool:
    """Place the queries of a problem and show the graph; return whether that failed."""
    try:
        placed = search(problem.network, problem.queries)
    except PlacementError as error:
        say_error(f"{problem.name}: {error}")
        return True
    if picture is not None:
        write_text(picture, draw_picture(placed.graph))
    if as_json:
        typer.echo(json.dumps(placed_json(problem.name, placed), ensure_ascii=False))
    else:
        terminal().print(placed_tables(problem, placed))
    return False


def _show_simulated(
    problem: PlacementProblem, *, n_units: int, seconds: float | None, seed: int, as_json: bool
) -> None:
    """Place the queries of a problem, simulate that, and show what was found."""
    numbers = simulated_json(problem, n_units=n_units, seconds=seconds, seed=seed)
    if as_json:
        typer.echo(json.dumps(numbers, ensure_ascii=False))
        return
    table = Table(title=f"{escape(problem.name)}, in a unit of time", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in numbers.items():
        if isinstance(value, int | float):
            table.add_row(name.replace("_", " "), number_text(value))
    terminal().print(table)


def simulated_json(
    problem: PlacementProblem, *, n_units: int, seconds: float | None, seed: int
) -> dict[str, str | int | float]:
    """Return what a placement sends in a unit of time: cost, rows, bytes, and rows drawn at random."""
    started = clock.perf_counter()
    draft = search_draft(problem.network, problem.queries, seconds=seconds, seed=seed)
    placed = clock.perf_counter()
    simulated = simulate_draft(draft, n_units=n_units, seed=seed)
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
        "simulation_seconds": round(clock.perf_counter() - placed, 4),
    }


def placed_json(name: str, placed: Placed) -> dict[str, object]:
    """Return a graph and its cost as JSON values; the costs of all edges add up to that of the graph.

    The cost of a channel is divided among the edges that share it, as in the paper.
    """
    graph = placed.graph
    sites = graph.network.sites
    ids = {vertex: number for number, vertex in enumerate(graph.order)}
    edges = [(read, vertex) for vertex in graph.order for read in graph.inputs[vertex]]
    n_sharing = Counter((read, vertex.site) for read, vertex in edges)
    costs = {channel: cost / n_sharing[channel] for channel, cost in graph.channels.items()}
    return {
        "name": name,
        "algorithm": placed.algorithm,
        "cost": placed.cost,
        "central_cost": placed.central_cost,
        "ratio": placed.ratio,
        "lower_bound": placed.lower_bound,
        "seconds": round(placed.seconds, 4),
        "graph": {
            "vertices": [
                {"id": ids[vertex], "projection": vertex.projection.text, "site": sites[vertex.site]}
                for vertex in graph.order
            ],
            "edges": [
                {"from": ids[read], "to": ids[vertex], "cost": costs.get((read, vertex.site), 0.0)}
                for read, vertex in edges
            ],
        },
    }


def placed_tables(problem: PlacementProblem, placed: Placed) -> Group:
    """Return what people see of a graph: what each site finds, what is sent, and what it costs."""
    title = f"[bold]{escape(problem.name)}[/bold]: {_count(len(problem.network.sites), 'site', 'sites')}, "
    title += f"{_count(len(problem.queries), 'query', 'queries')}, {placed.algorithm}"
    return Group(title, _sites_table(placed.graph), *_channels_tables(placed.graph), _costs_table(placed), "")


def _sites_table(graph: MuseGraph) -> Table:
    derived: dict[int, list[Vertex]] = {}
    for vertex in graph.order:
        if graph.inputs[vertex]:
            derived.setdefault(vertex.site, []).append(vertex)
    table = Table("site", "finds", "from", title="What sites find", title_justify="left")
    for site in sorted(derived)[:MOST_SITES]:
        for number, vertex in enumerate(derived[site]):
            name = graph.network.sites[site] if number == 0 else ""
            reads = ", ".join(_inputs_of(graph, vertex))
            table.add_row(*map(escape, (name, vertex.projection.text, reads)))
    if len(derived) > MOST_SITES:
        table.add_row("...", f"and {len(derived) - MOST_SITES} more sites", "")
    return table


def _inputs_of(graph: MuseGraph, vertex: Vertex) -> Iterable[str]:
    """Yield what a vertex reads, and of how many other sites."""
    reads: dict[str, list[int]] = {}
    for read in graph.inputs[vertex]:
        reads.setdefault(read.projection.text, []).append(read.site)
    for text, sites in reads.items():
        others = [site for site in sites if site != vertex.site]
        if not others:
            yield text
        elif len(others) == 1:
            yield f"{text} of {graph.network.sites[others[0]]}{' too' if len(sites) > 1 else ''}"
        else:
            yield f"{text} of {len(others)} {'others too' if len(sites) > len(others) else 'others'}"


def _channels_tables(graph: MuseGraph) -> Iterable[Table]:
    """Yield what is sent, by projection, and channel by channel if there are few."""
    if not graph.channels:
        return
    table = Table("projection", title="What is sent", title_justify="left")
    for heading in ("streams", "cost", "share"):
        table.add_column(heading, justify="right")
    for projection, channels in channels_by_projection(graph).items():
        cost = sum(graph.channels[channel] for channel in channels)
        share = f"{cost / graph.cost:.1%}" if graph.cost else ""
        table.add_row(escape(projection.text), f"{len(channels):,}", number_text(cost), share)
    yield table
    dearest = dearest_channels(graph, MOST_CHANNELS)
    is_all = len(dearest) == len(graph.channels)
    title = "Streams" if is_all else f"The {len(dearest)} most costly of {len(graph.channels):,} streams"
    streams = Table("projection", "from", "to", title=title, title_justify="left")
    streams.add_column("cost", justify="right")
    names = graph.network.sites
    for (vertex, site), cost in dearest:
        texts = vertex.projection.text, names[vertex.site], names[site]
        streams.add_row(*map(escape, texts), number_text(cost))
    yield streams


def _costs_table(placed: Placed) -> Table:
    table = Table(title="What it costs", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    central = "all events to a place outside the network"
    table.add_row("cost", number_text(placed.cost), "")
    table.add_row("central cost", number_text(placed.central_cost), central)
    table.add_row("ratio", f"{placed.ratio:.4%}", "of the central cost")
    table.add_row("lower bound", number_text(placed.lower_bound), gap_text(placed))
    table.add_row("time", f"{placed.seconds:.3f} s", "")
    return table


def gap_text(placed: Placed) -> str:
    """Return how far a cost can be above the optimum, in words."""
    if placed.gap is None:
        return "says nothing here"
    if placed.gap < 1e-6:
        return "the cost is optimal"
    return f"the cost is at most {placed.gap:.1%} above the optimum"


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"
