"""How many times as many partial matches there are as rates and selectivities alone let expect."""

from collections.abc import Mapping

import numpy as np

from weft.kernels.matches.subsets import compose_corrections
from weft.pattern.normal_form import NormalForm
from weft.statistics.model import PatternKey
from weft.statistics.sub_patterns import names_of

MOST_COMPOSED = 12  # items of a form, all of whose subsets get a correction
SMALLEST = 1e-300  # what stands for 0, which has no logarithm


def known_corrections(form: NormalForm, known: Mapping[PatternKey, float]) -> dict[int, float]:
    """Return the corrections that are known of a form, by masks of its items; none of a long one."""
    names = names_of(form) if known and len(form.items) <= MOST_COMPOSED else None
    return {} if names is None else {mask: known[key] for mask, key in names.known(known)}


def corrections_of(form: NormalForm, known: Mapping[PatternKey, float]) -> dict[int, float]:
    """Return the corrections of a form by masks of its items, where they are not 1.

    What is not known of a sub-pattern is composed of what is known of its parts.
    """
    found = known_corrections(form, known)
    if not found:
        return {}
    logarithms = np.full(1 << len(form.items), np.nan)
    logarithms[list(found)] = np.log(np.maximum(list(found.values()), SMALLEST))
    lists = sum(1 << place for place, item in enumerate(form.items) if item.is_list)
    factors = np.exp(compose_corrections(logarithms, lists))
    return {int(mask): float(factors[mask]) for mask in np.flatnonzero(factors != 1.0)} | found
