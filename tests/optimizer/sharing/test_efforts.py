"""What methods took and gained."""

from weft.optimizer.sharing.efforts import Effort, Efforts
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.shared_nodes import SharedNodes


def test_steps_seconds_and_gains_are_those_of_what_was_done() -> None:
    times = iter(range(100))
    limit = Limit(clock=lambda: float(next(times)))
    nodes = SharedNodes(lambda node, _: float(node))
    nodes.add([(5, 1.0), (2, 1.0)])
    efforts = Efforts(nodes)
    for node in (5, 2):
        with efforts.of("less", limit):
            limit.allows_step()
            nodes.remove([(node, 1.0)])
    with efforts.of("more", limit):
        nodes.add([(3, 1.0)])
    assert efforts.by_method == {"less": Effort(2, 2.0, 7.0), "more": Effort(0, 1.0, -3.0)}
    efforts.add_all({"more": Effort(1, 1.0, 3.0), "other": Effort(4)})
    assert efforts.by_method["more"] == Effort(1, 2.0, 0.0)
    assert list(efforts.by_method) == ["less", "more", "other"]
