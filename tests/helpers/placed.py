"""Cases whose events arise at sites, run by the program of a MuSE graph, level by level, without Spark."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from tests.helpers.engine import Bindings, arrow_events, bindings_of, derived_schema, is_supported, plain
from tests.helpers.random_queries import Dice
from tests.helpers.strategies import Case, matching_case

from weft.optimizer.assemble import assemble, leaf_node
from weft.optimizer.pipeline import context_of
from weft.optimizer.trees import Tree, order_tree
from weft.pattern.nodes import CountWindow
from weft.pattern.normal_form import EVERY_TYPE
from weft.placement.boxes import Box
from weft.placement.found_bindings import FoundBindings
from weft.placement.muse_graph import MuseGraph
from weft.placement.network import Network, bits
from weft.placement.normal_form_query import NormalFormQuery, normal_form_queries
from weft.placement.projection_text import kind_of
from weft.placement.site_program import site_program
from weft.placement.site_statistics import with_rare_events
from weft.plan.nodes import Branch, Output, Plan
from weft.plan.sites import SITE, SiteProgram
from weft.runtime.budget import Budget, OnBudget
from weft.runtime.columns.events import Array, Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.matches.emit import emit, match_schema
from weft.runtime.matches.execute import Executor
from weft.runtime.matches.program import Program
from weft.runtime.matches.table import Lists, MatchColumn
from weft.runtime.stages.messages import RAW, Message
from weft.runtime.stages.shard import Memory
from weft.runtime.stages.shard_executor import FoundAtSite
from weft.runtime.stages.shard_program import StepOutcome
from weft.runtime.stages.site_stage import SiteNetwork, SiteStage
from weft.runtime.stages.slices import TimeSlices
from weft.runtime.stages.stages import stage_of
from weft.runtime.stages.task import SitesTask, StageTask
from weft.runtime.state.segments import table_to_bytes
from weft.schema import LONG
from weft.statistics.model import Statistics


@dataclass(frozen=True)
class PlacedCase:
    """A case, the site of each of its events, and its queries placed in the network that these make up."""

    case: Case
    sites: tuple[int, ...]
    network: Network
    queries: tuple[NormalFormQuery, ...]

    def program(self, graph: MuseGraph) -> SiteProgram:
        schema = derived_schema(self.case)
        built = site_program(graph, self.queries, schema, Statistics())
        return SiteProgram.from_json(built.to_json())


@dataclass(frozen=True)
class PlacedOutcome:
    """The matches of each query with their RETURN values, the rows of every stream, and what was stopped."""

    matches: dict[str, dict[Bindings, dict[str, object]]]
    sent: dict[int, int]
    stopped: dict[str, str]


def is_placeable(case: Case) -> bool:
    return not any(isinstance(query.window, CountWindow) for query in case.queries)


def placeable_case(seed: int, most_queries: int = 3) -> Case:
    """Return a case with matches whose queries can be placed."""

    def accepts(case: Case) -> bool:
        return is_placeable(case) and is_supported(case)

    return matching_case(seed, most_queries=most_queries, accepts=accepts)


def placed_case(case: Case, dice: Dice, n_sites: int) -> PlacedCase:
    """Deal the events to sites; those with one id arise at one site."""
    by_id: dict[object, int] = {}
    sites = tuple(
        by_id.setdefault(event.row if event.id is None else event.id, dice.integer(0, n_sites - 1))
        for event in case.events
    )
    queries = normal_form_queries(case.queries, derived_schema(case), Statistics())
    rates = {}
    for query in queries:
        for kind, key in query.kind_keys.items():
            counts = np.zeros(n_sites)
            for event, site in zip(case.events, sites, strict=True):
                counts[site] += key.type in {*event.types, EVERY_TYPE}
            rates[kind] = counts
    network = Network(tuple(f"s{site}" for site in range(n_sites)), with_rare_events(rates, queries))
    able = tuple(query for query in queries if all(network.emitters(kind) for kind in query.kinds))
    return PlacedCase(case, sites, network, able)


def run_program(
    placed: PlacedCase,
    program: SiteProgram,
    slices: TimeSlices | None = None,
    *,
    budget: Budget | None = None,
    on_budget: OnBudget = "stop",
) -> PlacedOutcome:
    """Run all stages of a batch, each shard once."""
    table, layout = arrow_events(placed.case)
    sites = SitesTask(program.to_json(), layout, slices)
    task = StageTask(pa.int64(), budget or Budget(), sites=sites, is_batch=True, on_budget=on_budget)
    network = SiteNetwork(sites, task.id_type)
    messages = raw_messages(table, placed.sites, network)
    matches: dict[str, dict[Bindings, dict[str, object]]] = {query.name: {} for query in placed.case.queries}
    sent: dict[int, int] = {}
    stopped: dict[str, str] = {}
    for level in range(program.n_levels):
        stage = stage_of(task, level, Memory())
        assert isinstance(stage, SiteStage)
        addressed: dict[str, list[Message]] = {}
        for message in messages:
            addressed.setdefault(message.shard, []).append(message)
        messages = []
        for shard, own in addressed.items():
            messages += [message for message in own if stage.passes(shard, message)]
            outcome = stage.step(shard, own, 0, None)
            assert outcome is not None
            messages += stage.send(shard, outcome)
            stopped |= outcome.report.stopped
            for transfer in outcome.report.sent:
                sent[transfer.channel or 0] = sent.get(transfer.channel or 0, 0) + transfer.rows
            for query, bindings, values in matches_at(outcome):
                if bindings in matches[query]:
                    assert query in program.repeated, f"a match was found twice: {bindings}"
                matches[query][bindings] = values
    return PlacedOutcome(matches, sent, stopped)


def raw_messages(table: pa.Table, origins: Sequence[int], network: SiteNetwork) -> list[Message]:
    """Return rows as messages to the sites at which they arose, in all slices that have to see them."""
    sites = np.array(origins, np.int64)
    rows, shards = np.arange(sites.size), np.zeros(sites.size, np.int64)
    if network.sites.slices is not None:
        rows, shards = network.sites.slices.copies(table["__time"].to_numpy())
    return [
        Message(name, RAW, table_to_bytes(table.take(pa.array(chosen))))
        for name, (site, own) in network.places.items()
        if (chosen := rows[(sites[rows] == site) & (shards == own)]).size
    ]


def matches_at(outcome: StepOutcome) -> Iterator[tuple[str, Bindings, dict[str, object]]]:
    """Yield the matches of queries that a step of a site found."""
    for result in outcome.found:
        if not isinstance(result, FoundAtSite) or result.query is None:
            continue
        columns = result.found.output.columns
        names = [f"c{number}" for number in range(len(columns))]
        kinds = dict(zip(names, (column.type for column in columns), strict=True))
        for row in emit(result.found, names, match_schema(pa.int64(), kinds)).to_pylist():
            values = {column.name: plain(row[name]) for column, name in zip(columns, names, strict=True)}
            yield result.query, bindings_of(row["events"]), values


def expected_rows(placed: PlacedCase, graph: MuseGraph) -> dict[int, int]:
    """Count the matches of every stream's projection among all events, with events from the right sites."""
    found = FoundBindings(graph, placed.queries)
    counts = {}
    for number, (vertex, _) in enumerate(graph.channels):
        if graph.inputs[vertex]:
            query, items = found.parts[vertex.projection]
            counts[number] = _count(placed, query, items, found.boxes[vertex])
        else:
            counts[number] = _count_events(placed, vertex.projection.text, vertex.site)
    return {number: count for number, count in counts.items() if count}


def _count(placed: PlacedCase, query: NormalFormQuery, items: int, boxes: Sequence[Box]) -> int:
    """Evaluate a projection on all events, and count the rows whose events come from one of the boxes."""
    built = assemble(query.form(items), _tree(query, items), context_of(derived_schema(placed.case)))
    columns = [built.variables.index(query.whole_form.variables[item]) for item in query.places(items)]
    plan = Plan((Output("q", (), (Branch(built.node, built.variables, ()),)),))
    count = 0
    for found in Executor(Program(plan)).run(_all_events(placed)):
        origins = found.events.columns[SITE].values
        for row in range(found.table.n_rows):
            sites = [origins[_rows(found.table.columns[column], row)] for column in columns]
            count += any(
                all(set(own) <= set(bits(allowed)) for own, allowed in zip(sites, box, strict=True))
                for box in boxes
            )
    return count


def _count_events(placed: PlacedCase, kind: str, site: int) -> int:
    leaves = [leaf for query in placed.queries for leaf in query.leaves if kind_of(*leaf) == kind]
    node = leaf_node(*leaves[0], context_of(derived_schema(placed.case)))
    plan = Plan((Output("q", (), (Branch(node, ("e",), ()),)),))
    return sum(
        int((found.events.columns[SITE].values[found.table.first] == site).sum())
        for found in Executor(Program(plan)).run(_all_events(placed))
    )


def _all_events(placed: PlacedCase) -> Events:
    table, layout = arrow_events(placed.case)
    with_sites = table.append_column("__site", pa.array(placed.sites, pa.int64()))
    return ingest(with_sites, replace(layout, attributes={**layout.attributes, SITE: ("__site", LONG)}))


def _tree(query: NormalFormQuery, items: int) -> Tree:
    forms = query.form(items).items
    return order_tree(sorted(range(len(forms)), key=lambda place: forms[place].is_list))


def _rows(column: MatchColumn, row: int) -> Array:
    if isinstance(column, Lists):
        return column.rows[column.starts[row] : column.starts[row] + column.lengths[row]]
    return column[row : row + 1]
