"""Whether a MuSE graph finds every match of its queries, and each once.

Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks. SIGMOD 2021,
definitions 7 and 8 and property 2. Bindings are never listed: what a vertex covers is a box, for every item a
set of sites, and boxes are subtracted from one another.

What differs: property 2 is checked at every vertex, since a graph can meet both definitions and yet miss
matches (example 8); sinks that find the same binding are refused as well.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import combinations

from weft.errors import PlacementError
from weft.placement.boxes import Box, overlap, subtract
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import Network, bits
from weft.placement.projection import ProjectedQuery, Projection


def check_graph(graph: MuseGraph, queries: Iterable[ProjectedQuery]) -> None:
    """Raise an error that names the vertex unless a graph finds every match of the queries once."""
    queries = tuple(queries)
    check_well_formed(graph, queries)
    check_inputs_suffice(graph)
    check_complete(graph, queries)


def check_well_formed(graph: MuseGraph, queries: Iterable[ProjectedQuery]) -> None:
    """Check definition 7: all events are there, and what each vertex reads makes up what it finds."""
    queries = tuple(queries)
    network = graph.network
    for query in queries:
        for kind in query.event_kinds:
            for site in bits(network.emitters(kind)):
                if Vertex(Projection(kind, (kind,)), site) not in graph.inputs:
                    raise PlacementError(f"query {query.name}: no vertex for {kind} at {network.sites[site]}")
    has_negations = any(query.checked_negations(query.whole) for query in queries)
    correct: dict[tuple[Projection, frozenset[Projection]], bool] = {}
    for vertex, inputs in graph.inputs.items():
        if not inputs:
            if not vertex.projection.is_primitive:
                raise PlacementError(f"{_name(network, vertex)} reads nothing")
            if not network.emitters(vertex.projection.text) >> vertex.site & 1:
                raise PlacementError(f"{_name(network, vertex)}: no such event arises there")
            continue
        key = (vertex.projection, frozenset(read.projection for read in inputs))
        if key not in correct:
            correct[key] = any(is_correct(query, *key, queries) for query in queries)
        if not correct[key]:
            texts = ", ".join(sorted(projection.text for projection in key[1]))
            raise PlacementError(f"{_name(network, vertex)} cannot be made up of what it reads: {texts}")
        if has_negations:
            _check_negated_events(graph, vertex, queries)


def is_correct(
    query: ProjectedQuery,
    projection: Projection,
    inputs: Iterable[Projection],
    queries: Iterable[ProjectedQuery] = (),
) -> bool:
    """Whether inputs are smaller than a projection, and have all its items between them.

    An input may also be one of another of the queries whose matches include those of such a projection.
    """
    queries = tuple(queries)
    parts = {read: _parts_found(query, read, queries) for read in inputs if read != projection}
    for items in query.occurrences(projection):
        covered = 0
        is_used = True
        for read, sets in parts.items():
            used = [part for part in sets if part & items == part and (part != items or read.is_primitive)]
            is_used &= bool(used) or read.text in query.all_negated_kinds
            for part in used:
                covered |= part
        if covered == items and is_used:
            return True
    return False


def _parts_found(query: ProjectedQuery, read: Projection, queries: tuple[ProjectedQuery, ...]) -> list[int]:
    """Return the sets of items of a query whose matches an input has, and perhaps more."""
    return query.occurrences(read) or [
        part
        for part in query.sets_of_kinds(read.kinds)
        if any(query.implies(part, other, items) for other in queries for items in other.occurrences(read))
    ]


def _check_negated_events(graph: MuseGraph, vertex: Vertex, queries: Iterable[ProjectedQuery]) -> None:
    """Check that a vertex reads all negated events that no input has looked at."""
    read_sites: dict[Projection, int] = {}
    for read in graph.inputs[vertex]:
        read_sites[read.projection] = read_sites.get(read.projection, 0) | 1 << read.site
    events = {projection.text: sites for projection, sites in read_sites.items() if projection.is_primitive}
    lacking: set[str] = set()
    for query in queries:
        for items in query.occurrences(vertex.projection):
            inputs = [part for read in read_sites for part in query.occurrences(read)]
            lacking = {
                kind
                for kind in query.needed_kinds(items, inputs)
                if graph.network.emitters(kind) & ~events.get(kind, 0)
            }
            if not lacking:
                return
    if lacking:
        name = _name(graph.network, vertex)
        raise PlacementError(f"{name} does not read all negated events: {', '.join(sorted(lacking))}")


def check_inputs_suffice(graph: MuseGraph) -> None:
    """Check property 2: for every binding a vertex covers, its inputs cover the parts they contribute."""
    covered = {vertex: _box(cover, vertex.projection) for vertex, cover in graph.covers.items()}
    for vertex, inputs in graph.inputs.items():
        cover = graph.covers[vertex]
        boxes: dict[Projection, list[Box]] = {}
        for read in inputs:
            boxes.setdefault(read.projection, []).append(covered[read])
        for projection, parts in boxes.items():
            needed = _box(cover, projection)
            missing = _missing(needed, tuple(parts))
            if missing is not None:
                raise PlacementError(
                    f"{_name(graph.network, vertex)} misses matches of {projection.text} with events from "
                    f"{_origins(graph.network, projection, missing)}"
                )


def check_complete(graph: MuseGraph, queries: Iterable[ProjectedQuery]) -> None:
    """Check definition 8: the sinks of a query cover all its bindings; and none covers one of another."""
    network = graph.network
    sinks: dict[str, list[Vertex]] = {}
    for vertex in graph.inputs:
        sinks.setdefault(vertex.projection.text, []).append(vertex)
    for query in queries:
        projection = query.root
        own = sinks.get(projection.text, [])
        boxes = tuple(_box(graph.covers[vertex], projection) for vertex in own)
        missing = _missing(tuple(network.emitters(kind) for kind in projection.kinds), boxes)
        if missing is not None:
            raise PlacementError(
                f"query {query.name}: no sink finds {projection.text} with events from "
                f"{_origins(network, projection, missing)}"
            )
        pair = _overlapping_pair(boxes)
        if pair is not None:
            first, second = (_name(network, own[number]) for number in pair)
            raise PlacementError(f"query {query.name}: {first} and {second} find the same matches")


@lru_cache(maxsize=65536)
def _missing(whole: Box, boxes: tuple[Box, ...]) -> Box | None:
    """Return a part of a box that no other box has, or None."""
    remaining = subtract([whole], boxes)
    return remaining[0] if remaining and all(remaining[0]) else None


def _overlapping_pair(boxes: tuple[Box, ...]) -> tuple[int, int] | None:
    """Return the numbers of two boxes that overlap."""
    for place in range(len(boxes[0]) if boxes else 0):
        seen = 0
        for box in boxes:
            if seen & box[place]:
                break
            seen |= box[place]
        else:
            return None  # disjoint in one item, as partitions are
    for (first, box), (second, other) in combinations(enumerate(boxes), 2):
        if overlap(box, other) is not None:
            return first, second
    return None


def _box(cover: Mapping[str, int], projection: Projection) -> Box:
    return tuple(cover.get(kind, 0) for kind in projection.kinds)


def _name(network: Network, vertex: Vertex) -> str:
    return f"{vertex.projection.text} at site {network.sites[vertex.site]}"


def _origins(network: Network, projection: Projection, box: Box) -> str:
    return ", ".join(
        f"{kind} at {network.sites[bits(sites)[0]]}"
        for kind, sites in zip(projection.kinds, box, strict=True)
    )
