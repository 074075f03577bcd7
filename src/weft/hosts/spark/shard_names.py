"""The names of shards, chosen so that Spark spreads those of a group evenly over its partitions.

Spark places a shard by the hash of its name. The name of shard n ends so that the hash is n on a circle
of CIRCLE places, and so on one of any number of partitions that divides it. The name depends on
nothing else: it is the same after a restart, whatever the session says then.
"""

from collections.abc import Iterable
from itertools import count

from weft.hosts.spark.assignment import ShardGroup

CIRCLE = 192  # as many partitions as it has divisors are filled evenly
SEED = 42  # of Spark's hash
WORD = 0xFFFFFFFF


def shard_names(groups: Iterable[ShardGroup], n_shards: int) -> dict[ShardGroup, list[str]]:
    """Return the names of the shards of each group.

    >>> names = shard_names([ShardGroup(("user",))], 2)[ShardGroup(("user",))]
    >>> names, [spark_hash(name) % CIRCLE for name in names]
    (['by user #0~157', 'by user #1~127'], [0, 1])
    """
    return {
        group: [
            _choose_name(f"{group.name} #{number}", group.number + number)
            for number in range(group.n_shards(n_shards))
        ]
        for group in groups
    }


def _choose_name(name: str, place: int) -> str:
    labels = (f"{name}~{end}" for end in count())
    return next(label for label in labels if (spark_hash(label) - place) % CIRCLE == 0)


def spark_hash(text: str) -> int:
    """Return the hash by which Spark places a string: Murmur3, the last bytes one by one, with a sign."""
    data = text.encode()
    n_whole = len(data) - len(data) % 4
    state = SEED
    for start in range(0, n_whole, 4):
        state = _mix(state, int.from_bytes(data[start : start + 4], "little"))
    for byte in data[n_whole:]:
        state = _mix(state, byte - 256 if byte > 127 else byte)
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & WORD
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _mix(state: int, word: int) -> int:
    word = word * 0xCC9E2D51 & WORD
    word = (word << 15 | word >> 17) & WORD
    state ^= word * 0x1B873593 & WORD
    state = (state << 13 | state >> 19) & WORD
    return (state * 5 + 0xE6546B64) & WORD
