"""The `match_id` of a match that the reference finds, by which walks order what is alike in all else."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from weft.kernels.matches.identity import hash_bindings, write_hex
from weft.reference.events import ReferenceEvent
from weft.reference.matches import Match
from weft.runtime.columns.events import hash_values
from weft.runtime.matches.emit import SECOND_SEED


def match_ids(query: str, events: Sequence[ReferenceEvent]) -> Callable[[Match], str]:
    """Return the function that gives each match of a query its `match_id`."""
    ids = {event.row: event.identity for event in events}
    seed = int(hash_values(pa.array([query]))[0]) >> 1

    def match_id(match: Match) -> str:
        bound = sorted(match.bindings)
        rows = [row for _, bindings in bound for row in bindings]
        lanes = hash_bindings(
            np.array([0, len(rows)]),
            hash_values(pa.array([variable for variable, _ in bound])),
            np.array([number for number, (_, bindings) in enumerate(bound) for _ in bindings]),
            hash_values(pa.array([ids[row] for row in rows])),
            np.arange(len(rows)),
            np.array([seed, seed ^ SECOND_SEED]),
        )
        return bytes(write_hex(lanes)).decode()

    return match_id
