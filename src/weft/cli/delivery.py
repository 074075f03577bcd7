"""What `weft run` does with the outcome of a detection: count it, write it, or keep some of it to show."""

from collections.abc import Callable, Mapping, Sequence

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row

from weft.api.session import Detection
from weft.cli.report import MOST_RESULTS
from weft.io.sinks import write_matches
from weft.io.trend_sinks import write_results


class Delivery:
    """The outcome of a detection on its way to a file or to the terminal."""

    def __init__(self, detection: Detection, out: str | None, *, is_shown: bool) -> None:
        self.first_results: Sequence[
            Row
        ] = ()  # of trend queries, to be shown: one more than there is room for
        self._detection = detection
        self._out = out
        self._is_shown = is_shown and out is None and bool(detection.trend_queries)

    @property
    def writer(self) -> Callable[..., None] | None:
        """What takes the outcome, None if it is only counted."""
        return self.write if self._out is not None or self._is_shown else None

    def run(self) -> Mapping[str, int]:
        """Run the detection once, deliver what it finds, and count that per query."""
        frames = [self._detection.matches] if self._detection.match_queries else []
        frames += [self._detection.trends] if self._detection.trend_queries else []
        is_kept = self.writer is not None
        if is_kept:
            frames = [frame.persist(StorageLevel.MEMORY_AND_DISK) for frame in frames]
        counted = {
            row["query"]: row["count"] for frame in frames for row in frame.groupBy("query").count().collect()
        }
        if is_kept:
            matches = frames[0] if self._detection.match_queries else self._detection.matches
            self.write(matches, *frames[-1:] if self._detection.trend_queries else ())
            for frame in frames:
                frame.unpersist()
        return counted

    def write(self, matches: DataFrame, trends: DataFrame | None = None) -> None:
        """Write what was found to where it goes, or keep the first results."""
        if self._out is None:
            if trends is not None and self._is_shown:
                ordered = trends.orderBy("window_start", "query")
                self.first_results = ordered.limit(MOST_RESULTS + 1).collect()
        elif trends is None:
            write_matches(matches, self._detection.return_columns, self._out)
        else:
            own = matches if self._detection.match_queries else None
            returned, names = self._detection.return_columns, self._detection.trend_names
            write_results(own, trends, returned, names, self._out)
