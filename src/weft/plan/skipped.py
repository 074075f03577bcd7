"""Nodes whose rows are of no use once the matches that they could be in are skipped."""

from weft.plan.dag import readers, topological_order
from weft.plan.nodes import Absence, NegationCheck, Node, Output, Plan, inputs_of, negated_nodes


def skipped_by(plan: Plan) -> dict[Node, tuple[Output, ...]]:
    """Return the nodes all of whose readers skip past the last event of a match, with these outputs.

    A row that begins before the last event of a match that was kept, in its partition, can be in none that
    counts; nor can it negate one, unless the scope begins before the match. Timeouts are told in any case.
    What a twofold walk has kept by its first event waits to be walked by its last one.

    >>> from weft.plan.nodes import Branch, MatchWalk, Scan
    >>> branches = (Branch(Scan("A"), ("a",), ()),)
    >>> walked, every = Output("p", (), branches, MatchWalk((), "past last")), Output("q", (), branches)
    >>> [node.type for node in skipped_by(Plan((walked,)))], skipped_by(Plan((walked, every)))
    (['A'], {})
    """
    skipping = {
        output.query: output
        for output in plan.outputs
        if output.walk is not None and output.walk.skip == "past last" and not output.timeouts
    }
    if not skipping:
        return {}
    looked_back_at: set[Node] = set()
    for node in reversed(topological_order(plan)):
        if isinstance(node, NegationCheck) and _looks_back(node.absence):
            looked_back_at.update(negated_nodes(node.absence))
        if node in looked_back_at:
            looked_back_at.update(inputs_of(node))
    kept = {
        branch.node
        for output in skipping.values()
        for branch in output.branches
        if output.walk is not None and output.walk.is_twofold
    }
    return {
        node: tuple(skipping[query] for query in sorted(queries))
        for node, queries in readers(plan).items()
        if queries <= skipping.keys() and node not in looked_back_at and node not in kept
    }


def _looks_back(absence: Absence) -> bool:
    return absence.looks_back or any(map(_looks_back, absence.unless))
