"""Detections on streams of Spark, whose state survives restarts: at one place, and at sites."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import cast

from weft.adaptation.settings import AdaptedGroup
from weft.api.detection import Detection
from weft.api.one_place import OnePlaceDetection
from weft.api.options import Sites
from weft.api.planning import PlannedGroup, plan_group, search_lines, trend_plan, work_of
from weft.api.sites import SiteDetection
from weft.api.workload import Workload
from weft.codec import from_json, stored, to_json
from weft.errors import WeftError
from weft.explanation.plans import caution_lines, form_lines, plan_lines
from weft.explanation.trends import trend_lines
from weft.hosts.divide import QueryGroup, Together
from weft.hosts.host import Frame
from weft.hosts.spark.assignment import ShardAssignment, ShardGroup, assign_shards, check_windows
from weft.hosts.spark.batch import n_shuffled
from weft.hosts.spark.frame import EventFrame
from weft.hosts.spark.outcomes import Outcomes
from weft.hosts.spark.stream import (
    Lateness,
    PlannedShards,
    build_site_stream,
    build_stream,
    fingerprint,
    use_rocksdb,
)
from weft.io.spark.checkpoint_notes import CheckpointNotes
from weft.pattern.nodes import Query
from weft.placement.network import Network
from weft.placement.normal_form_query import NormalFormQuery
from weft.placement.site_statistics import stream_network
from weft.plan.nodes import Plan
from weft.plan.sites import SiteProgram
from weft.runtime.trends.executor import TrendPlan

SEARCHED_BY = ("plan", "heuristic", "neighborhood", "k", "prefix_only")  # options of a planning
ASSIGNMENT, PLACEMENT = "assignment", "placement"  # the names of notes beside a checkpoint


class Streamed(Detection):
    """Queries on events that are still to come."""

    is_streaming = True

    @property
    def source(self) -> EventFrame:
        return cast("EventFrame", super().source)

    @property
    def late(self) -> Frame:
        return self._results.late

    @property
    @abstractmethod
    def _results(self) -> Outcomes: ...

    @property
    def _notes(self) -> CheckpointNotes:
        """What is kept beside the checkpoint of a stream."""
        return CheckpointNotes(self.source.events.sparkSession, self.workload.streaming.checkpoint)


class StreamDetection(Streamed, OnePlaceDetection):
    """Queries on a stream, assigned to shards that keep their state over restarts."""

    def __init__(self, workload: Workload, lateness: Lateness) -> None:
        check_windows(workload.queries)
        super().__init__(workload)
        self._lateness = lateness

    @cached_property
    def _results(self) -> Outcomes:
        use_rocksdb(self.source.events.sparkSession)
        if self._known_assignment != self.assignment:
            self._notes.write(ASSIGNMENT, self.assignment.to_json())
        shards = [*self._match_shards(), *self._trend_shards()]
        n_shards = self.assignment.n_shards
        return Outcomes(build_stream(shards, self.source, self._options, self._lateness, n_shards))

    @property
    def changes(self) -> Frame:
        return self._results.changes

    @cached_property
    def assignment(self) -> ShardAssignment:
        known, wanted = self._known_assignment, self.workload.partitions
        if known is None:
            n_shards = wanted or n_shuffled(self.source)
        elif wanted in (None, known.n_shards):
            n_shards = known.n_shards
        else:
            raise WeftError(
                f"the stream has started with partitions={known.n_shards}, and its state is divided so; now "
                f"partitions is {wanted}\n  hint: leave it out, or start with a new checkpoint"
            )
        return assign_shards(self.queries, n_shards, self._plan_together, known)

    @cached_property
    def _known_assignment(self) -> ShardAssignment | None:
        """The latest assignment in the checkpoint, if there is one."""
        known = [ShardAssignment.from_json(text, place) for text, place in self._notes.read(ASSIGNMENT)]
        return max(known, key=lambda assignment: assignment.revision, default=None)

    @property
    def started(self) -> list[str]:
        known = self._known_assignment
        return (
            [] if known is None else [query.name for query in self.queries if query.name not in known.groups]
        )

    @property
    def ended(self) -> list[str]:
        known = self._known_assignment
        return [] if known is None else [name for name in known.groups if name not in self._names]

    @property
    def _names(self) -> list[str]:
        return [query.name for query in self.queries]

    def _members(self, *, trends: bool) -> dict[ShardGroup, tuple[Query, ...]]:
        """Return the groups for matches or for trends, with their queries."""
        by_name = {query.name: query for query in self.queries}
        return {
            group: tuple(by_name[name] for name in names)
            for group, names in self.assignment.members.items()
            if group.trends == trends
        }

    def _groups(self) -> Iterable[QueryGroup]:
        return [QueryGroup(queries, Together()) for queries in self._members(trends=False).values()]

    def _plan_together(self, queries: Sequence[Query]) -> tuple[Plan, float]:
        group = QueryGroup(tuple(queries), Together())
        planning = self.workload.planning
        planned = plan_group(group, self.source.schema, planning, self.statistics, is_stream=True)
        self._searched = planned.optimized if planning.searches else None
        work = work_of(planned, self.source.schema, planning, self.statistics)
        return planned.optimized.plan, work / self.statistics.events_per_second

    def _match_shards(self) -> list[PlannedShards]:
        return [
            PlannedShards(
                group, planned.group.queries, planned.optimized.plan, self._adapted_group(group, planned)
            )
            for group, planned in zip(self._members(trends=False), self._plans, strict=True)
        ]

    def _trend_shards(self) -> list[PlannedShards]:
        plans = self._trend_plans()
        return [
            PlannedShards(group, queries, plans[group])
            for group, queries in self._members(trends=True).items()
        ]

    def _trend_plans(self) -> dict[ShardGroup, TrendPlan]:
        templates = {template.query: template for template in self._templates}
        return {
            group: trend_plan([templates[query.name] for query in queries], self.workload.planning)
            for group, queries in self._members(trends=True).items()
        }

    def _adapted_group(self, group: ShardGroup, planned: PlannedGroup) -> AdaptedGroup | None:
        """Return what it takes to adapt a plan; one asked for by name, by a file or by latency stays."""
        streaming, planning = self.workload.streaming, self.workload.planning
        is_wanted = streaming.adapt is not None or planning.cost == "measured"
        adaptation = streaming.adaptation
        if adaptation.decide == "off" or planning.plan not in ("auto", "mcep") or not is_wanted:
            return None
        if planning.latency_weight:
            return None
        return AdaptedGroup(
            planned.group.queries,
            self.source.schema,
            planned.optimized.stored,
            self.statistics,
            adaptation,
            {name: getattr(planning, name) for name in SEARCHED_BY},
            planned.optimized.cost if planning.cost == "measured" else None,
            group.keys,
            group.n_shards(self.assignment.n_shards),
        )

    def explain(self) -> str:
        """Return the normal forms, and the plan of each group; of trend queries, the templates."""
        lines = form_lines(self.match_queries) if self.match_queries else []
        for group, planned in zip(self._members(trends=False), self._plans, strict=True):
            lines += ["", self._headline(group), *search_lines(planned, self.workload.planning)]
            lines += plan_lines(planned.optimized.plan)
            adapted = self._adapted_group(group, planned)
            lines += [] if adapted is None else adapted.stream_adapter().lines()
        for group, plan in self._trend_plans().items():
            lines += ["", self._headline(group), *trend_lines(plan.templates)]
        return "\n".join([*lines, *caution_lines(self._cautions)]).lstrip("\n")

    def _headline(self, group: ShardGroup) -> str:
        count = group.n_shards(self.assignment.n_shards)
        return f"{group.name}: {count} shards" if count > 1 else f"{group.name}: 1 shard"


@stored
class KnownPlacement:
    """What a checkpoint knows of a placed stream: queries by their fingerprints, sites, and the program."""

    queries: Mapping[str, str]
    sites: tuple[str, ...]
    program: SiteProgram


class SiteStreamDetection(Streamed, SiteDetection):
    """Queries on a stream whose events arise at sites, evaluated there as far as that pays.

    The first start decides where queries are evaluated; the checkpoint remembers it.
    """

    def __init__(self, workload: Workload, sites: Sites, lateness: Lateness) -> None:
        super().__init__(workload, sites)
        if workload.streaming.adapt is not None and workload.streaming.adaptation.decide != "off":
            raise WeftError("`adapt` cannot be combined with `sites`: a placement is kept")
        if sites.network is None:
            raise WeftError(
                "`sites` of a stream needs `network`: there are no events to look at before it starts\n"
                "  hint: give network=weft.Network(sites, rates), or that of weft.prepare for its past"
            )
        check_windows(workload.queries)
        self._network = sites.network
        self._lateness = lateness
        self._placing = stream_network(self.queries, self.source.schema, self.statistics, self._network)

    @cached_property
    def _results(self) -> Outcomes:
        use_rocksdb(self.source.events.sparkSession)
        program, sites = self.site_program, self.network.sites
        if self._known_program is None:
            known = KnownPlacement(self._fingerprints, tuple(sites), program)
            self._notes.write(PLACEMENT, to_json(PLACEMENT, known))
        return Outcomes(build_site_stream(program, sites, self.source, self._options, self._lateness))

    @property
    def network(self) -> Network:
        return self._network

    @property
    def _problem(self) -> tuple[Network, tuple[NormalFormQuery, ...]]:
        return self._placing

    @cached_property
    def site_program(self) -> SiteProgram:
        return super().site_program if self._known_program is None else self._known_program

    def explain(self) -> str:
        """Return what each site evaluates at each level, and what it sends."""
        program = self.site_program
        lines = [f"{len(program.sites)} sites, {program.n_levels} levels"]
        for channel in program.channels:
            way = f"{program.sites[channel.source]} -> {program.sites[channel.target]}"
            lines.append(f"{way}: {channel.projection} ({channel.rate:.6g} per second)")
        lines += [
            f"{output.query}: for its TIMEOUTS, all of its events come to {program.sites[work.site]}"
            for work in program.works
            for output in work.plan.outputs
            if output.timeouts
        ]
        return "\n".join(lines)

    @property
    def _fingerprints(self) -> Mapping[str, str]:
        return {query.name: fingerprint(query) for query in self.queries}

    @cached_property
    def _known_program(self) -> SiteProgram | None:
        """The program in the checkpoint, if there is one."""
        if self._notes.read(ASSIGNMENT):
            raise WeftError(
                "the stream has started without sites, and its state is divided so\n"
                "  hint: leave out `sites`, or start with a new checkpoint"
            )
        texts = self._notes.read(PLACEMENT)
        if not texts:
            return None
        known: KnownPlacement = from_json(PLACEMENT, *texts[0])
        if dict(known.queries) != self._fingerprints or known.sites != tuple(self.network.sites):
            raise WeftError(
                "the stream has started with other queries or other sites, and its state is divided so\n"
                "  hint: give those of the first start, or start with a new checkpoint"
            )
        return known.program
