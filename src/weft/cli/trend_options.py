"""The options of commands that run trend queries."""

from dataclasses import dataclass

from weft.cli.groups import option
from weft.plan.trend_sets import Sharing


@dataclass(frozen=True, kw_only=True)
class TrendOptions:
    """How trend queries share work, and how they count."""

    sharing: Sharing = option(
        "How trend queries share work: dynamic decides for every burst of events, static always shares, "
        "none never. The results are the same.",
        default="dynamic",
    )
    exact: bool = option(
        "Count with all digits where no decimal holds a number, at a price that grows with them.",
        "--exact",
        default=False,
    )


NO_TRENDS = TrendOptions(sharing="dynamic", exact=False)
