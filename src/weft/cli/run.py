"""The command `weft run`: the matches of queries in events, and the aggregates of trend queries."""

import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from weft.api.detection import Detection
from weft.cli import options
from weft.cli.console import STOPPED, Queries, in_options, report_errors, say_error, say_notices, terminal
from weft.cli.engines import Engine, run_engine
from weft.cli.groups import with_groups
from weft.cli.policy_options import PolicyOptions
from weft.cli.report import MOST_RESULTS, print_summary, show_progress, trends_table
from weft.cli.steps import choose_plan, learn_statistics, planning_of, prepare_files
from weft.cli.trend_options import TrendOptions
from weft.explanation.analysis import Analysis, StoppedQueries, stopped_lines
from weft.hosts.host import Frame
from weft.io.event_files import find_events
from weft.io.targets import check_target
from weft.kernels.compilation import keep_quiet
from weft.language.read import read_queries
from weft.runtime.budget import Budget

SHOWN_OF_TRANSFERS = (
    *("projection", "source", "target"),
    *("predicted_rows", "rows", "predicted_bytes", "bytes"),
)
EXAMPLES = (
    "Examples:\n\n"
    "  weft run fraud.weft events.parquet --time ts --type type\n\n"
    "  weft run fraud.weft log.csv --time at --time-unit s --type kind --id id --out matches.jsonl\n\n"
    "  weft run queries/ events/ --time ts --type type --out matches/ --json\n\n"
    "  weft run fraud.weft events.parquet --time ts --type type --explain analyze\n\n"
    "  weft run fraud.weft events.parquet --time ts --type type --site plant --placement muse"
)


@with_groups
def run(
    queries: Queries,
    events: options.Events,
    *,
    columns: options.ColumnOptions,
    policies: PolicyOptions,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.jsonl|DIR",
            help="Where matches and results of trend queries go: JSON lines, or a directory of Parquet.",
        ),
    ] = None,
    as_json: options.AsJson = False,
    budget: options.BudgetOption = options.PARTIAL_MATCHES,
    on_budget: options.OnBudgetOption = "stop",
    planning: options.StoredPlanOptions,
    trends: TrendOptions,
    sites: options.SiteOptions,
    explained: options.Explained = None,
    engine: options.EngineOptions,
    notices: options.NoticesOption = True,
) -> None:
    """Find all matches of queries in events, and the aggregates of trend queries.

    The exit status is 3 if a query was stopped as it exceeded its budget (--on-budget stop): its matches are
    incomplete, those of all others are complete and delivered.
    """
    with report_errors():  # mistakes show before anything starts
        tie_break = columns.order_by is not None
        read_queries(queries, None, tie_break=tie_break, default=policies.policy(), times={columns.time})
        sites.check()
        planning_of(planning, trends)
        find_events(events)
        if out is not None:
            check_target(out)
    if not notices:
        keep_quiet()
    with run_engine(engine, events) as chosen:
        started = clock.perf_counter()
        detection = prepare_files(
            chosen.read,
            queries,
            events,
            columns,
            planning,
            policies=policies,
            sites=sites,
            trends=trends,
            budget=Budget(partial_matches=budget),
            on_budget=on_budget,
        )
        choose_plan(detection, planning)
        told = detection.notices
        say_notices(told if notices else ())
        delivery = Delivery(detection, chosen, out, is_shown=not as_json)
        with show_progress("Finding matches", detection.host.progress):
            delivery.run(is_analyzed=explained == "analyze" or sites.site is not None)
        say_notices(own for own in detection.notices if notices and own not in told)
        delivery.summarize(clock.perf_counter() - started, as_json=as_json)
        if planning.save_statistics is not None and explained == "analyze" and sites.site is None:
            learn_statistics(detection, delivery.analysis, planning.save_statistics)
        if explained == "plan":
            typer.echo(f"\n{detection.explain()}", err=as_json)
        if delivery.analysis is not None and not (as_json and explained is None):
            typer.echo(f"\n{delivery.analysis}", err=as_json)
        if delivery.n_rejected and not delivery.n_events:
            say_error(_all_rejected(chosen.reasons(detection.rejected, 5), columns))
        for line in stopped_lines(delivery.stopped):
            say_error(line)
        if delivery.stopped:
            raise typer.Exit(STOPPED)


class Delivery:
    """The outcome of a detection on its way to a file or to the terminal, counted."""

    def __init__(self, detection: Detection, engine: Engine, out: str | None, *, is_shown: bool) -> None:
        self.analysis: Analysis | None = None
        self.counts: Mapping[str, int] = {}
        self.timeouts: Mapping[str, int] = {}
        self.stopped: StoppedQueries = {}
        self.n_events = self.n_rejected = 0
        # Of trend queries, one more than there is room for.
        self._first_results: Sequence[Mapping[str, Any]] = ()
        self._detection = detection
        self._engine = engine
        self._out = out
        self._is_shown = is_shown and out is None and bool(detection.trend_queries)

    def run(self, *, is_analyzed: bool) -> None:
        """Run the detection once, deliver what it finds, and count that."""
        detection = self._detection
        if is_analyzed:
            self.analysis = detection.analyze(self._writer)
        counted = self.analysis or detection.run(self._writer)
        self.counts = {query.name: counted.counts.get(query.name, 0) for query in detection.queries}
        self.timeouts = {name: counted.timeouts.get(name, 0) for name in self._timed}
        self.stopped = counted.stopped
        self.n_events, self.n_rejected = detection.input_counts()

    def summarize(self, seconds: float, *, as_json: bool) -> None:
        """Print what was found: one JSON object, or tables."""
        detection = self._detection
        own = {query.name: self.counts[query.name] for query in detection.match_queries}
        results: dict[str, Mapping[str, int]] = {"matches": own}
        if self._timed:
            results["timeouts"] = self.timeouts
        if detection.trend_queries:
            results["trends"] = {query.name: self.counts[query.name] for query in detection.trend_queries}
        told = [notice.to_dict() for notice in detection.notices]
        more: dict[str, object] = {"engine": self._engine.name, "notices": told}
        if detection.search is not None:
            more["search"] = detection.search.to_dict()
        if self.stopped:
            more["stopped"] = first_reasons(self.stopped)
        if self.analysis is not None and self.analysis.transfers is not None:
            more["transfers"] = [
                {name: getattr(transfer, name) for name in SHOWN_OF_TRANSFERS}
                for transfer in self.analysis.transfers
            ]
        if self._first_results and not as_json:
            terminal().print(trends_table(self._first_results, detection.trend_names))
        counts = {"events": self.n_events, "rejected": self.n_rejected}
        print_summary(detection, results, counts, seconds, more, as_json=as_json)

    @property
    def _writer(self) -> Callable[..., None] | None:
        """What takes the outcome, None if it is only counted."""
        return self._write if self._out is not None or self._is_shown else None

    @property
    def _timed(self) -> list[str]:
        """The queries that ask for timeouts."""
        return [query.name for query in self._detection.match_queries if query.policy.timeouts]

    def _write(self, matches: Frame, trends: Frame | None = None, timeouts: Frame | None = None) -> None:
        """Write what was found to where it goes, or keep the first results."""
        detection = self._detection
        if self._out is None:
            if trends is not None and self._is_shown:
                self._first_results = self._engine.first_rows(
                    trends, ("window_start", "query"), MOST_RESULTS + 1
                )
        else:
            own = matches if detection.match_queries else None
            names = detection.return_columns, detection.trend_names
            self._engine.write_results(own, trends, *names, self._out, timeouts)


def first_reasons(stopped: StoppedQueries) -> dict[str, str]:
    """Return why queries were stopped, in the words of the command line."""
    return {query: in_options(next(iter(reasons.values()))) for query, reasons in stopped.items()}


def _all_rejected(reasons: Sequence[str], columns: options.ColumnOptions) -> str:
    return (
        f"every row was rejected: {'; '.join(reasons)}\n"
        f"  hint: is `{columns.time}` the time of the events, in {columns.time_unit} if it is a number "
        "(--time-unit)?"
    )
