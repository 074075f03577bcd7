"""The nodes of a shared plan: which exist, for which windows, and what all of them cost.

Idea        Every node is counted with the windows of those who need it, and costs what it costs for the
            longest of these. Adding and removing a plan touches its own nodes only.
Reference   Sections 3.2 and 3.3 of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event
            Streams. SIGMOD 2019: a state has the largest window of the patterns that share it.
Differs     Only single events are counted for several windows: a join is one node for each window that it
            is computed for. Costs are whole numbers of 2^-20, so that sums are exact whatever was added
            and removed.
Complexity  O(m) to add or remove a plan of m nodes.
"""

from collections.abc import Callable, Iterable

from weft.optimizer.memoize import memoize

SCALE = 1 << 20

Price = Callable[[int, float], float]


class SharedNodes:
    """Counts shared nodes and keeps their total cost.

    >>> nodes = SharedNodes(lambda node, window: node * window)
    >>> nodes.add([(1, 10.0), (2, 10.0)])
    >>> nodes.add([(2, 20.0), (3, 20.0)])
    >>> nodes.cost  # 1 for ten, 2 and 3 for twenty
    110.0
    >>> nodes.remove([(2, 20.0), (3, 20.0)])
    >>> nodes.cost
    30.0
    """

    def __init__(self, price: Price) -> None:
        self._price = price
        self._windows: dict[int, dict[float, int]] = {}
        self.total = 0

    @property
    def cost(self) -> float:
        """The cost of all nodes, each counted once."""
        return self.total / SCALE

    @property
    def n_nodes(self) -> int:
        return len(self._windows)

    def __contains__(self, node: int) -> bool:
        return node in self._windows

    def add(self, nodes: Iterable[tuple[int, float]]) -> None:
        """Count the nodes of a plan, each with the window for which it is needed."""
        for node, window in nodes:
            windows = self._windows.get(node)
            if windows is None:
                self._windows[node] = {window: 1}
                self.total += self.whole_cost(node, window)
                continue
            longest = max(windows)
            windows[window] = windows.get(window, 0) + 1
            if window > longest:
                self.total += self.whole_cost(node, window) - self.whole_cost(node, longest)

    def remove(self, nodes: Iterable[tuple[int, float]]) -> None:
        """Take back the nodes of a plan that was added with these windows."""
        for node, window in nodes:
            windows = self._windows[node]
            longest = max(windows)
            windows[window] -= 1
            if not windows[window]:
                del windows[window]
            if not windows:
                del self._windows[node]
                self.total -= self.whole_cost(node, longest)
            elif longest not in windows:
                self.total += self.whole_cost(node, max(windows)) - self.whole_cost(node, longest)

    def count(self, node: int, window: float) -> int:
        """Return how often a node is needed for a window."""
        return self._windows.get(node, {}).get(window, 0)

    @memoize
    def whole_cost(self, node: int, window: float) -> int:
        """Return what a node costs for a window, in units of 1 / SCALE."""
        return round(self._price(node, window) * SCALE)
