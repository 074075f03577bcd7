"""Pictures of MuSE graphs: well-formed SVG that shows what there is, or says what it leaves out."""

from xml.etree import ElementTree

import numpy as np

from weft.explanation.placement_picture import MOST_CHANNELS, MOST_ROWS, picture
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import Network
from weft.placement.projection import Projection

SVG = "{http://www.w3.org/2000/svg}"


def everywhere(n_sites: int) -> MuseGraph:
    """Every site pairs its own A with all B."""
    rates = {"A": np.full(n_sites, 9.0), "B": np.arange(1.0, n_sites + 1)}
    network = Network(tuple(f"<{number}>" for number in range(n_sites)), rates)
    a, b = ([Vertex(Projection(kind, (kind,)), site) for site in range(n_sites)] for kind in "AB")
    pairs = Projection("SEQ(A, B) WHERE $0.x < $1.x WITHIN 1 hour", ("A", "B"), 0.1)
    inputs: dict[Vertex, tuple[Vertex, ...]] = dict.fromkeys((*a, *b), ())
    return MuseGraph(network, inputs | {Vertex(pairs, site): (a[site], *b) for site in range(n_sites)})


def drawn(svg: str, kind: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)
    return [element for element in root.iter() if element.get("class") == kind]


def test_every_site_and_stream_is_drawn() -> None:
    graph = everywhere(4)
    svg = picture(graph, unit="rows per second")
    assert len(drawn(svg, "box")) == 4
    assert len(drawn(svg, "stream")) == len(graph.channels) == 12
    assert len(drawn(svg, "cost")) == 12
    assert len(drawn(svg, "local")) == 8
    assert [element.text for element in drawn(svg, "site")] == ["<0>", "<1>", "<2>", "<3>"]
    assert {element.text for element in drawn(svg, "sink")} == {"SEQ(A, B)"}
    assert "cost 30 rows per second" in svg


def test_wider_lines_cost_more() -> None:
    streams = drawn(picture(everywhere(4)), "stream")
    widths = [float(element.get("stroke-width", "0")) for element in streams]
    costs = [float((element.find(f"{SVG}title").text or "").split(": ")[1]) for element in streams]
    assert sorted(zip(costs, widths, strict=True)) == sorted(zip(sorted(costs), sorted(widths), strict=True))
    assert widths[0] > widths[-1]


def test_a_picture_says_what_it_leaves_out() -> None:
    graph = everywhere(12)
    svg = picture(graph)
    assert len(graph.channels) > MOST_CHANNELS
    assert len(drawn(svg, "stream")) == MOST_CHANNELS
    assert "the 60 most costly streams are drawn: 68.2% of the cost" in svg
    assert not drawn(svg, "cost")


def test_a_box_with_many_vertices_says_how_many_more_there_are() -> None:
    kinds = [f"K{number}" for number in range(MOST_ROWS + 4)]
    network = Network(("x", "y"), {kind: np.array([1.0, 0.0]) for kind in kinds})
    events = [Vertex(Projection(kind, (kind,)), 0) for kind in kinds]
    pairs = Vertex(Projection("SEQ(K0, K12)", ("K0", "K12")), 1)
    svg = picture(MuseGraph(network, dict.fromkeys(events, ()) | {pairs: (events[0], events[12])}))
    assert "and 4 more" in svg
    assert len(drawn(svg, "stream")) == 2
    assert ">K12<" in svg
