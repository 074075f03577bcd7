"""What one shard sees of a stream whose events are dealt by keys, as its statistics.

Of the events of a stream, those of a shard are some, but they agree on the keys more often: as often as an
event has partners, whatever the number of shards. So what is the best plan of the stream is that of a shard.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from weft.expressions import Attribute, Comparison, Expression
from weft.pattern.canonical import column_variable
from weft.pattern.components import connected_components
from weft.statistics.model import GroupKey, Statistics


def shard_share(known: Statistics, keys: Sequence[str], n_shards: int) -> float:
    """Return the share of all events that are in the shard of one of them: those like it, and others.

    >>> round(shard_share(Statistics(agreements={"user": 0.5}), ["user"], 4), 3)
    0.625
    """
    if not keys or n_shards == 1:
        return 1.0
    agreed = prod(map(known.agreement, keys))
    return agreed + (1.0 - agreed) / n_shards


def shard_statistics(known: Statistics, keys: Sequence[str], n_shards: int) -> Statistics:
    """Return the statistics of a shard: those of the stream where events are not dealt by keys.

    >>> from weft.statistics.model import ItemKey
    >>> stream = Statistics({ItemKey("A"): 80.0}, agreements={"user": 0.01, "day": 0.5}, total_rate=800.0)
    >>> shard = shard_statistics(stream, ["user"], 8)
    >>> round(shard.rate(ItemKey("A")), 1), round(shard.events_per_second), round(shard.agreement("user"), 3)
    (10.7, 107, 0.075)
    >>> shard.agreement("day"), round(shard.rate(ItemKey("A")) * shard.agreement("user"), 3)
    (0.5, 0.8)
    """
    share = shard_share(known, keys, n_shards)
    if share == 1.0:
        return known
    agreed = prod(map(known.agreement, keys))
    within = {key: (agreed + (known.agreement(key) - agreed) / n_shards) / share for key in keys}
    return replace(
        known,
        rates={item: share * rate for item, rate in known.rates.items()},
        selectivities={
            group: min(1.0, selectivity / share ** _n_implied(group, keys))
            for group, selectivity in known.selectivities.items()
        },
        agreements={**known.agreements, **within},
        total_rate=None if known.total_rate is None else share * known.total_rate,
    )


def _n_implied(group: GroupKey, keys: Sequence[str]) -> int:
    """Return of how many items the predicates of a group say that they are in the shard of another one."""
    variables = [column_variable(place) for place in range(len(group.items))]
    agreeing = [set(_agreeing(group.predicates, key)) for key in keys]
    return len(variables) - len(connected_components(variables, set[tuple[str, str]].intersection(*agreeing)))


def _agreeing(predicates: Sequence[Expression], key: str) -> list[tuple[str, str]]:
    """Return the pairs of variables whose values of a key are equal."""
    pairs = []
    for predicate in predicates:
        match predicate:
            case Comparison("=", Attribute(one, left), Attribute(other, right)) if left == right == key:
                pairs.append((min(one, other), max(one, other)))
    return pairs
