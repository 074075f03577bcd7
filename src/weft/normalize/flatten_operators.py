"""Flatten a SEQ directly inside a SEQ and an AND inside an AND, and unwrap operators of one operand."""

import dataclasses

from weft.pattern.nodes import Conjunction, Negation, Pattern, Sequence


def flatten_operators(pattern: Pattern) -> Pattern:
    """Return the flat form of an OR-free pattern.

    An AND of negations alone (what NOT of an OR becomes) is spliced into any operator around it.

    >>> from weft.pattern.nodes import Event
    >>> a, b, c = Event("A", "a"), Event("B", "b"), Event("C", "c")
    >>> flatten_operators(Sequence((a, Sequence((b, c))))) == Sequence((a, b, c))
    True
    """
    if isinstance(pattern, Negation):
        return dataclasses.replace(pattern, operand=flatten_operators(pattern.operand))
    if not isinstance(pattern, Sequence | Conjunction):
        return pattern
    flat: list[Pattern] = []
    for operand in map(flatten_operators, pattern.operands):
        if isinstance(operand, type(pattern)) or _is_negations_only(operand):
            flat.extend(operand.operands if isinstance(operand, Sequence | Conjunction) else (operand,))
        else:
            flat.append(operand)
    return flat[0] if len(flat) == 1 else type(pattern)(tuple(flat), pattern.span)


def _is_negations_only(pattern: Pattern) -> bool:
    return isinstance(pattern, Sequence | Conjunction) and all(
        isinstance(operand, Negation) for operand in pattern.operands
    )
