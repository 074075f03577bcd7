"""The conditions of rules that no event of some tests ever decided.

Every rule is detected once more without each of its conditions; where it then finds something else in at
least one test, that condition is decided.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from weft.errors import WeftError
from weft.language.read import read_queries
from weft.pattern.nodes import Query
from weft.testing.rule_conditions import RuleCondition, conditions_of
from weft.testing.rule_results import RuleResults, detect_rules
from weft.testing.rule_set import RuleColumns


@dataclass
class DecisionRecord:
    """Which conditions of rules were decided so far, in the order of the rules."""

    columns: RuleColumns
    conditions: dict[RuleCondition, bool] = field(default_factory=dict)  # whether it was decided

    @classmethod
    def of_rules(cls, rules: Iterable[Query], columns: RuleColumns) -> "DecisionRecord":
        """Return the record of rules of which no test was seen."""
        return cls(columns, dict.fromkeys((part for rule in rules for part in conditions_of(rule)), False))

    @property
    def undecided(self) -> list[RuleCondition]:
        """The conditions that no test decided."""
        return [condition for condition, is_decided in self.conditions.items() if not is_decided]

    def see(self, events: Any, results: RuleResults, rules: Collection[str]) -> list[RuleCondition]:
        """Return the conditions that a test decides and that no other did before.

        `results` is what the rules find in its events. A rule that explodes without a condition is one that
        the condition decides about; so is one that makes no sense without it.
        """
        waiting = [condition for condition in self.undecided if condition.rule in rules]
        named = [(str(number), condition) for number, condition in enumerate(waiting)]
        relaxed = {name: replace(condition.without, name=name) for name, condition in named}
        sensible = self._sensible(events, relaxed)
        found = detect_rules(events, sensible, self.columns) if sensible else None
        decided = []
        for name, condition in named:
            if (
                found is None
                or name in found.stopped
                or name not in found.outlines
                or found.outlines[name] != results.outlines.get(condition.rule)
            ):
                self.conditions[condition] = True
                decided.append(condition)
        return decided

    def _sensible(self, events: Any, relaxed: dict[str, Query]) -> Sequence[Query]:
        """Return the rules that can be detected."""
        schema = self.columns.schema_of(events)
        sensible = []
        for query in relaxed.values():
            try:
                read_queries(query, schema, tie_break=self.columns.order_by is not None)
            except WeftError:
                continue
            sensible.append(query)
        return sensible
