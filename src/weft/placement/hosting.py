"""Choose the hosts of a projection: which of them to open, and which site's events each of them takes.

Idea        Uncapacitated facility location. To open a host costs what its complete inputs cost there; a site
            costs what its part of the divided inputs costs on the way to its host, and what is found from it
            costs on the way from there. Hosts are added and dropped as long as one of these gains most.
Reference   Kuehn, Hamburger. A heuristic program for locating warehouses. Management Science 9(4), 1963.
Differs     Starts from the best single host and those that each save more than they cost besides it.
Complexity  O(h s) numbers for every host added or dropped, for h possible hosts and s sites.
"""

import numpy as np
from numpy.typing import NDArray

from weft.placement.network import Numbers

LEAST_GAIN = 1e-9


def choose_hosts(opening: Numbers, serving: Numbers) -> tuple[float, NDArray[np.int64]]:
    """Return the least cost found, and the host of every site; `serving` is a number for each site and host.

    >>> opening = np.array([9.0, 3.0, 3.0])
    >>> serving = np.array([[0.0, 5.0, 5.0], [5.0, 0.0, 5.0], [5.0, 5.0, 0.0]])
    >>> cost, hosts = choose_hosts(opening, serving)
    >>> cost, hosts.tolist()
    (11.0, [1, 1, 2])
    """
    rows = np.arange(len(serving))
    closest = serving.argmin(axis=1)
    single = int(np.argmin(opening + serving.sum(axis=0)))
    saved = np.bincount(closest, serving[:, single] - serving[rows, closest], minlength=len(opening))
    is_open = saved > opening
    is_open[single] = True
    while True:
        reach = np.where(is_open, serving, np.inf)
        hosts = reach.argmin(axis=1)
        costs = reach[rows, hosts]
        reach[rows, hosts] = np.inf
        second = reach.min(axis=1)
        added = np.maximum(costs[:, np.newaxis] - serving, 0.0).sum(axis=0) - opening
        dropped = opening - np.bincount(hosts, weights=second - costs, minlength=len(opening))
        gains = np.where(is_open, dropped, added)
        change = int(gains.argmax())
        if not gains[change] > LEAST_GAIN:
            return float(opening[is_open].sum() + costs.sum()), hosts
        is_open[change] = not is_open[change]
