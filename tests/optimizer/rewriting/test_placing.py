"""Where queries stand in patterns."""

from tests.helpers.workloads import Workload, sequence

from weft.optimizer.rewriting.levels import levels_of
from weft.optimizer.rewriting.placing import LevelIndex, Placing
from weft.optimizer.sharing.limits import Limit

WORKLOAD = Workload(tuple(map(sequence, ("ABC", "AC", "ABD", "CA"))))


def masks(placing: Placing[str]) -> dict[str, list[int]]:
    return {key: sorted(label.mask for label in places) for key, places in placing.places.items()}


def test_only_levels_with_all_operands_are_looked_at() -> None:
    index = LevelIndex(level for key, one in WORKLOAD.patterns.items() for level in levels_of(key, one))
    assert [level.key for level in index.around(index.levels[1].query)] == ["P1", "P2", "P4"]


def test_whole_queries() -> None:
    placing = Placing(WORKLOAD.patterns, Limit())
    placing.place_whole_queries()
    assert masks(placing) == {"P1": [5, 7], "P2": [3], "P3": [7], "P4": [3]}


def test_sub_queries_are_placed_even_when_it_is_late() -> None:
    early, late = Placing(WORKLOAD.patterns, Limit()), Placing(WORKLOAD.patterns, Limit(seconds=0))
    for placing in (early, late):
        placing.place_sub_queries()
    assert early.is_complete
    assert masks(early) == {"P1": [3, 5, 7], "P2": [3], "P3": [3, 7], "P4": [3]}
    assert not late.is_complete
    assert masks(late) == {"P1": [5, 7], "P2": [3], "P3": [7], "P4": [3]}
