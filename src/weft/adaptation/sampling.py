"""How much of a stream is looked at for its statistics."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampling:
    """How much is looked at, and when it is enough.

    In one batch of every half of the sliding window, or more often where there are more than
    `questions_per_look` questions, `tuples` tuples are drawn for each of so many questions, which take
    turns, and for agreement on keys. Such a batch costs the attributes of at most `rows_per_type` events
    of each type. Any other costs an eighth of that, and no attributes at all where no item has predicates of
    its own and its events are no partners for those of the next look, or there are enough of these. Some
    `kept_events` earlier events are kept as partners for those to come: at most twice as many, or as
    many as there are slots of all roles.

    A selectivity or an agreement counts once `least_tuples` tuples of the sliding window were looked
    at, a rate once the events span `least_covered` of that window, or there were `least_events` of its own.
    Until then, and whenever it is no longer so, the initial value holds, where there is one.
    """

    rows_per_type: int = 512
    tuples: int = 1024
    questions_per_look: int = 16
    kept_events: int = 256
    least_tuples: int = 32
    least_covered: float = 0.25
    least_events: int = 256
    epsilon: float = 0.1
    seed: int = 0
