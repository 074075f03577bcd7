"""All combinations of a projection: what smaller projections it can be made up of.

Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks. SIGMOD 2021,
definitions 6 and 15. Projections are sets of items as bits.
"""

from collections.abc import Iterable, Iterator

from weft.placement.combinations import Combination, is_redundant
from weft.placement.network import bits


def is_correct(items: int, inputs: Iterable[int]) -> bool:
    """Whether inputs are smaller than a projection and have its items between them (definition 6).

    >>> is_correct(0b111, [0b011, 0b110]), is_correct(0b111, [0b011])
    (True, False)
    """
    union = 0
    for part in inputs:
        if part == items or part & ~items:
            return False
        union |= part
    return union == items


def all_combinations(items: int, candidates: Iterable[int]) -> Iterator[Combination]:
    """Yield the correct combinations that are not redundant, of candidates; primitive ones are among them.

    >>> [len(list(all_combinations((1 << n) - 1, range(1, 1 << n)))) for n in (2, 3, 4)]
    [1, 7, 48]
    """
    sets = sorted(
        {part for part in candidates if part & items == part != items} | {1 << i for i in bits(items)}
    )

    def extend(chosen: Combination, first: int, covered: int) -> Iterator[Combination]:
        if covered == items:
            yield chosen
            return
        for number in range(first, len(sets)):
            combination = (*chosen, sets[number])
            if sets[number] & ~covered and not is_redundant(combination):
                yield from extend(combination, number + 1, covered | sets[number])

    return extend((), 0, 0)
