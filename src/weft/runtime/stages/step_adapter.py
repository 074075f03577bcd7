"""What adapts the plan of a shard in a step: its state is in the journal and in a segment; all is timed."""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import ParamSpec, TypeVar

from weft.plan.nodes import Plan
from weft.runtime.columns.events import Events
from weft.runtime.stages.report import Report
from weft.runtime.stages.shard_executor import Adapter, AdapterState, ShardExecutor
from weft.runtime.state.journal import Journal, Segment, Store

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


class StepAdapter:
    """The adapter of a shard in one step, and the seconds that it took for all it did."""

    def __init__(self, adapter: Adapter, store: Store) -> None:
        self._adapter, self._store = adapter, store
        self.seconds = 0.0

    def plan(self, journal: Journal, given: Plan) -> Plan:
        """Return the plan to run now."""
        return self._timed(self._adapter.plan, self._state(journal), given)

    def switch(self, executor: ShardExecutor, plan: Plan, journal: Journal) -> None:
        """Let an executor that is up to date go on with another plan."""
        self._timed(self._adapter.switch, executor, plan, self._state(journal))

    def observe(self, journal: Journal, executor: ShardExecutor, events: Events, report: Report) -> Journal:
        """Let the adapter see a step, and return the journal with what it remembers."""
        return self._timed(self._observe, journal, executor, events, report)

    def _observe(self, journal: Journal, executor: ShardExecutor, events: Events, report: Report) -> Journal:
        observed = self._adapter.observe(self._state(journal), executor, events, journal.frontier)
        report.changes = observed.changes
        journal = replace(journal, adaptation=observed.state.passing)
        if not observed.is_rewritten:
            return journal
        content, number = observed.state.text().encode(), journal.next_number
        self._store.set_segment(number, content)
        written = Segment(number, 0, len(content), journal.frontier, journal.step, journal.step)
        return replace(forget_text(self._store, journal), next_number=number + 1, adapted=written)

    def _state(self, journal: Journal) -> AdapterState | None:
        passing, written = journal.adaptation, journal.adapted
        if passing is None:
            return None
        if written is None:
            return AdapterState(passing, str)
        return AdapterState(passing, lambda: self._store.segment(written.number).decode())

    def _timed(
        self, call: Callable[Arguments, Value], *given: Arguments.args, **named: Arguments.kwargs
    ) -> Value:
        begun = perf_counter()
        try:
            return call(*given, **named)
        finally:
            self.seconds += perf_counter() - begun


def forget_text(store: Store, journal: Journal) -> Journal:
    """Return the journal without the text of an adapter, which the store gives up too."""
    if journal.adapted is not None:
        store.remove_segment(journal.adapted.number)
    return replace(journal, adapted=None)
