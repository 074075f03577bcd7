"""Correct what statistics let expect of sub-patterns by how many partial matches were counted."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations

from weft.cost.shape import items_of
from weft.optimizer.pipeline import context_of
from weft.optimizer.shape_of import shape_of
from weft.pattern.normal_form import NormalForm
from weft.statistics.model import ItemKey, PatternCount, PatternKey, Statistics
from weft.statistics.sub_patterns import names_of

UNSEEN = 0.3  # matches that are expected at most where none was found


def correct(
    statistics: Statistics,
    counts: Mapping[PatternKey, PatternCount],
    forms: Iterable[NormalForm],
    *,
    duration: float,
    part: float = 1.0,
) -> Statistics:
    """Return statistics with a correction for each sub-pattern that was counted.

    `duration` are the seconds in which the complete stream has as many events as those among which was
    counted, of which each was taken with the probability `part`.
    """
    corrections: dict[PatternKey, float] = {}
    context = context_of(None)
    same_span = replace(statistics, duration=duration)
    for form in forms:
        names = names_of(form)
        if names is None:
            continue
        shape = shape_of(replace(form, negations=()), same_span, context)
        known: dict[int, float] = {}
        for mask, key in names.known(counts):
            if key not in corrections:
                thinned = duration * part ** (mask.bit_count() - 1)
                count, prior = counts[key], _composed(known, mask)
                expected = prior * shape.rows_per_second(mask, shape.window) * thinned / count.weight
                corrections[key] = prior * _estimate(count.n_found, expected) / expected
            known[mask] = corrections[key]
    return replace(statistics, corrections=corrections)


def learn(
    statistics: Statistics,
    rates: Mapping[ItemKey, float],
    counts: Mapping[PatternKey, PatternCount],
    forms: Iterable[NormalForm],
) -> Statistics:
    """Return statistics with rates and partial matches as a run over the whole stream found them.

    What it did not count stays as it was.
    """
    found = replace(statistics, rates={**statistics.rates, **rates}, corrections={})
    corrections = correct(found, counts, forms, duration=statistics.span).corrections
    return replace(found, corrections={**statistics.corrections, **corrections})


def _estimate(n_found: int, expected: float) -> float:
    """Return how many matches there are, of which some were found and some would have been expected.

    >>> [round(_estimate(*numbers), 2) for numbers in ((50, 2.0), (0, 100.0), (0, 0.01))]
    [50.01, 0.3, 0.01]
    """
    return n_found + UNSEEN * expected / (UNSEEN + expected) / (1 + n_found)


def _composed(known: Mapping[int, float], mask: int) -> float:
    """Return the correction of a sub-pattern two of whose items are independent, given all others."""
    factors = [
        math.log(known[mask ^ 1 << a] * known[mask ^ 1 << b] / known.get(mask ^ 1 << a ^ 1 << b, 1.0))
        for a, b in combinations(items_of(mask), 2)
        if mask ^ 1 << a in known and mask ^ 1 << b in known
    ]
    return math.exp(sum(factors) / len(factors)) if factors else 1.0
