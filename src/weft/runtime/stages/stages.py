"""The stages of a task: one for query groups, or for each level of sites, and one where matches meet."""

from weft.plan.nodes import Plan
from weft.runtime.stages.meeting_stage import MeetingStage, meetings_of
from weft.runtime.stages.messages import Stage
from weft.runtime.stages.outcomes import outcome_columns
from weft.runtime.stages.shard import Memory
from weft.runtime.stages.shard_executor import Adapter
from weft.runtime.stages.shard_stage import ShardStage, shard_plan
from weft.runtime.stages.site_executor import Timing, site_timing
from weft.runtime.stages.site_stage import SiteNetwork, SiteStage
from weft.runtime.stages.task import StageTask


def stage_of(
    task: StageTask, number: int, memory: Memory, adapters: dict[int, Adapter] | None = None
) -> Stage:
    """Return a stage of a task; `memory` is what the process remembers of its shards."""
    outcomes = outcome_columns(task)
    if task.sites is None and number > 0:
        plans = [shard_plan(group.plan) for group in task.groups]
        outputs = [output for plan in plans if isinstance(plan, Plan) for output in plan.outputs]
        walked = {output.query: output for output in outputs if output.walk is not None}
        return MeetingStage(
            number, task.assignment, outcomes, 0, meetings_of(walked, outcomes), reports=False
        )
    if task.sites is None:
        return ShardStage(task, memory, adapters)
    network = SiteNetwork(task.sites, task.id_type)
    timing = Timing() if task.is_batch else site_timing(network.program)
    if number >= network.program.n_levels:
        meetings = meetings_of(network.program.walked, outcomes, network.program.repeated)
        return MeetingStage(number, task.assignment, outcomes, timing.horizon, meetings)
    return SiteStage(task, network, number, memory, timing)
