"""Panes: the pieces into which the beginnings and ends of windows cut time.

Windows of a length that is no multiple of the slide begin and end by turns, so there are two panes to a
slide, an even and an odd one; else one.
"""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array


@njit(cache=True, nogil=True)
def pane_at(time: int, length: int, slide: int) -> int:
    """Return the number of the pane that holds a time."""
    window, rest = time // slide, length % slide
    if rest == 0:
        return window
    return 2 * window + (1 if time - window * slide >= rest else 0)


@njit(cache=True, nogil=True)
def panes_at(times: Array, length: int, slide: int) -> Array:
    """Return the number of the pane of each time."""
    panes = np.empty(times.size, np.int64)
    for place in range(times.size):
        panes[place] = pane_at(times[place], length, slide)
    return panes


@njit(cache=True, nogil=True)
def pane_start(pane: int, length: int, slide: int) -> int:
    """Return the time at which a pane begins."""
    rest = length % slide
    if rest == 0:
        return pane * slide
    return pane // 2 * slide + (rest if pane % 2 else 0)


@njit(cache=True, nogil=True)
def pane_starts(panes: Array, length: int, slide: int) -> Array:
    """Return the time at which each pane begins."""
    times = np.empty(panes.size, np.int64)
    for place in range(panes.size):
        times[place] = pane_start(panes[place], length, slide)
    return times


@njit(cache=True, nogil=True)
def pane_end(pane: int, length: int, slide: int) -> int:
    """Return the time at which a pane is over."""
    return pane_start(pane + 1, length, slide)


@njit(cache=True, nogil=True)
def panes_of(window: int, length: int, slide: int) -> tuple[int, int]:
    """Return the first pane of a window, and the one after its last."""
    n_slides, rest = length // slide, length % slide
    if rest == 0:
        return window, window + n_slides
    return 2 * window, 2 * (window + n_slides) + 1
