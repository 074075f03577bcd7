"""Which of a pattern's matches count: strategy, skip, suppression and timeouts, as the user says them.

Each is a filter on the set of all matches, so what counts never depends on the plan.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from weft.errors import Span
from weft.expressions import Attribute

Strategy = Literal["any", "next", "strict"]
Skip = Literal["none", "to next", "past last"]


@dataclass(frozen=True, slots=True)
class Suppression:
    """Of the matches that end less than `length` microseconds after the one kept before, none counts.

    There is a quiet time for each value of the attributes `per`; without any, of the query's keys. Of a trend
    query, results are suppressed, by the ends of their windows, for each value of attributes of the group.
    """

    length: int
    per: tuple[Attribute, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Policy:
    """Which matches of a query count; what is None was not said.

    >>> Policy(skip="to next").or_else(Policy(strategy="next", skip="past last"))
    Policy(strategy='next', skip='to next', prefer_longest=False, suppression=None, timeouts=False)
    """

    strategy: Strategy | None = None
    skip: Skip | None = None
    prefer_longest: bool = False
    suppression: Suppression | None = None
    timeouts: bool = False

    def or_else(self, default: "Policy") -> "Policy":
        """Return the policy, with the strategy, skip and suppression of another where it has none."""
        return replace(
            self,
            strategy=self.strategy or default.strategy,
            skip=self.skip or default.skip,
            suppression=self.suppression or default.suppression,
        )

    @property
    def walks(self) -> bool:
        """Whether matches are walked in order, so that one decides about others."""
        return self.skip not in (None, "none") or self.suppression is not None


ALL_MATCHES = Policy()  # nothing said: all of them count
