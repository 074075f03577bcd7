"""What `weft explain --placement` does: check its options, look at the events, show and draw the graph."""

from functools import partial
from pathlib import Path

from weft.api.detection import Detection
from weft.api.site_planning import explain_placement
from weft.cli.report import progress_shown
from weft.cli.steps import Wanted
from weft.errors import DataError, WeftError
from weft.hosts.spark.progress import current_progress
from weft.statistics.file import save_statistics


def check_placement_options(
    *, placement: bool, site: str | None, picture: str | None, events: str | None
) -> None:
    """Say what is missing, before anything takes time."""
    if not placement:
        if site is not None or picture is not None:
            raise WeftError("--site and --picture show a placement: add --placement")
        return
    if events is None:
        raise WeftError("--placement needs events: a file or directory after the queries")
    if site is None:
        raise WeftError("--placement needs --site, the column of the site at which events arise")
    if picture is not None and not picture.endswith(".svg"):
        raise WeftError(f"--picture {picture}: expected a name that ends in .svg")


def show_placement(detection: Detection, site: str, wanted: Wanted, picture: str | None) -> str:
    """Return the placement of the queries on the sites of their events as text; draw it if that is wanted."""
    source = detection.source
    with progress_shown("Looking at the events", partial(current_progress, source.events.sparkSession)):
        statistics = detection.statistics
        if wanted.save_statistics is not None:
            save_statistics(statistics, wanted.save_statistics)
        explained = explain_placement(
            source, detection.queries, site, statistics, seconds=wanted.search_seconds
        )
    if picture is not None:
        try:
            Path(picture).write_text(explained.picture, encoding="utf-8")
        except OSError as error:
            raise DataError(f"{picture}: {error.strerror}") from None
    return str(explained)
