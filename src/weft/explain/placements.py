"""Say where queries are best evaluated when events have sites, what that sends, and how good it is."""

from dataclasses import dataclass

from weft.placement.graph_text import channel_lines, number_text, projection_lines
from weft.placement.picture import picture
from weft.placement.pipeline import Placed
from weft.placement.projection import Projection
from weft.placement.site_statistics import SiteStatistics
from weft.runtime.stages.site_wire import OVERHEAD_BYTES

UNITS = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, eq=False)
class ExplainedPlacement:
    """A placement for the events of a frame, and what is known of these."""

    placed: Placed
    known: SiteStatistics

    @property
    def picture(self) -> str:
        """The graph as SVG."""
        return picture(self.placed.graph, unit="rows per second")

    def __str__(self) -> str:
        placed, known = self.placed, self.known
        lines = [
            f"Placement on {len(known.network.sites)} sites",
            f"  cost         {number_text(placed.cost)} rows per second between sites, "
            f"{number_text(known.rows(placed.cost))} in all",
            f"  centralized  {number_text(placed.central_cost)} rows per second; this is "
            f"{percent_text(placed.ratio)} of it",
            f"  bound        {_bound_text(placed)}",
        ]
        if known.idle:
            names = ", ".join(query.name for query in known.idle)
            lines.append(f"  no matches   {names}: there are no events of some item")
        columns = {
            "rows per second": lambda _, rate: number_text(rate),
            "rows": lambda _, rate: number_text(known.rows(rate)),
            "bytes": lambda projection, rate: bytes_text(known.rows(rate) * sent_bytes(known, projection)),
        }
        found = projection_lines(placed.graph)
        lines += ["", "Found, matches per second", *(f"  {line}" for line in found)]
        sent = channel_lines(placed.graph, columns) if placed.graph.channels else ["nothing"]
        lines += ["", "Sent between sites", *(f"  {line}".rstrip() for line in sent)]
        return "\n".join(lines)


def sent_bytes(known: SiteStatistics, projection: Projection) -> float:
    """Return what a match takes on its way to another site, with what is sent of each event besides."""
    return known.match_bytes(projection) + OVERHEAD_BYTES * len(projection.kinds)


def percent_text(share: float) -> str:
    """Return a share in percent.

    >>> percent_text(0.00812), percent_text(12.3)
    ('0.812%', '1,230%')
    """
    return f"{100 * share:,.0f}%" if share >= 1 else f"{100 * share:.3g}%"


def bytes_text(count: float) -> str:
    """Return a number of bytes as people read it.

    >>> bytes_text(999.0), bytes_text(1_234_567.0)
    ('999 B', '1.23 MB')
    """
    unit = 0
    while count >= 1000 and unit < len(UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.3g} {UNITS[unit]}"


def _bound_text(placed: Placed) -> str:
    if placed.gap is None:
        return "nothing is known of what the best placement costs"
    if not placed.gap:
        return "no placement costs less"
    return (
        f"no placement costs less than {number_text(placed.lower_bound)}; this costs at most "
        f"{percent_text(placed.gap)} more than the best"
    )
