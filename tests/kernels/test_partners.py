"""The events that extend a partial match, against all events looked at one by one."""

import numpy as np
import pytest

from weft.kernels.partners import find_partners

N_EVENTS, N_MATCHES = 40, 30


@pytest.mark.parametrize("window", [-1, 0, 3, 100])
@pytest.mark.parametrize("seed", range(4))
def test_partners_are_those_in_order_and_within_the_window(window: int, seed: int) -> None:
    dice = np.random.default_rng(seed)
    times = np.sort(dice.integers(20, size=N_EVENTS))
    pieces = [np.sort(dice.choice(N_EVENTS, 15, replace=False)) for _ in range(2)]
    rows = np.concatenate(pieces)
    own = dice.integers(2, size=N_MATCHES)
    edges = np.stack([15 * own, 15 * (own + 1)])
    spans = np.sort(dice.integers(N_EVENTS, size=(2, N_MATCHES)), axis=0)
    bounds = np.where(dice.random((2, N_MATCHES)) < 0.5, -1, spans)
    found = find_partners(times, times, rows, edges, np.concatenate([spans, bounds]), window)
    n_found = 0
    for match in range(N_MATCHES):
        first, last = times[spans[:, match]]
        before, after = bounds[:, match]
        wanted = [
            place
            for place in range(*edges[:, match])
            if (window < 0 or last - window <= times[rows[place]] <= first + window)
            and (before < 0 or times[rows[place]] > times[before])
            and (after < 0 or times[rows[place]] < times[after])
        ]
        assert list(range(*found[:, match])) == wanted
        n_found += len(wanted)
    assert n_found > 0 or window == 0
