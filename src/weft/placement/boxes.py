"""Sets of event type bindings as boxes: for every item of a projection, a set of sites by bits.

A box holds all bindings that take each item's event from one of its sites. A list takes its events from
any of them; two boxes that differ in the sites of a list are therefore less than the box of both.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from operator import or_

Box = tuple[int, ...]


def overlap(a: Box, b: Box) -> Box | None:
    """Return the bindings that two boxes share.

    >>> overlap((0b011, 0b1), (0b110, 0b1)), overlap((0b01,), (0b10,))
    ((2, 1), None)
    """
    common = tuple(x & y for x, y in zip(a, b, strict=True))
    return common if all(common) else None


def overlaps(boxes: Iterable[Box], others: Sequence[Box]) -> list[Box]:
    """Return the bindings that two unions of boxes share."""
    common = (overlap(box, other) for box in boxes for other in others)
    return [box for box in common if box is not None]


def subtract(boxes: Iterable[Box], removed: Iterable[Box], lists: Collection[int] = ()) -> list[Box]:
    """Return boxes of the bindings that are in none of those removed; `lists` must lie wholly in these.

    >>> subtract([(0b11, 0b11)], [(0b01, 0b01)])
    [(2, 3), (1, 2)]
    >>> subtract([(0b11, 0b11)], [(0b11, 0b01)], lists=[1])
    [(3, 3)]
    """
    left = list(boxes)
    for box in removed:
        left = [part for larger in left for part in _minus(larger, box, lists)]
    return left


def _minus(box: Box, removed: Box, lists: Collection[int]) -> list[Box]:
    common = overlap(box, removed)
    if common is None or any(box[place] & ~removed[place] for place in lists):
        return [box]
    parts = []
    for place, (mine, shared) in enumerate(zip(box, common, strict=True)):
        if mine & ~shared:
            parts.append((*common[:place], mine & ~shared, *box[place + 1 :]))
    return parts


def merge(boxes: Iterable[Box], lists: Collection[int] = ()) -> list[Box]:
    """Return the same bindings in fewer boxes.

    >>> merge([(0b01, 0b11), (0b10, 0b11), (0b01, 0b01)])
    [(3, 3)]
    """
    merged: list[Box] = list(dict.fromkeys(boxes))
    for place in range(len(merged[0]) if merged else 0):
        if place in lists:
            continue
        groups: dict[Box, int] = {}
        for box in merged:
            rest = (*box[:place], 0, *box[place + 1 :])
            groups[rest] = groups.get(rest, 0) | box[place]
        merged = [(*rest[:place], sites, *rest[place + 1 :]) for rest, sites in groups.items()]
    return [box for box in merged if not any(box != other and overlap(box, other) == box for other in merged)]


def hull(boxes: Sequence[Box]) -> Box:
    """Return the smallest box that has all of the boxes in it.

    >>> hull([(0b01, 0b1), (0b10, 0b1)])
    (3, 1)
    """
    return tuple(reduce(or_, sites) for sites in zip(*boxes, strict=True))
