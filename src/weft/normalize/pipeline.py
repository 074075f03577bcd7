"""The normal forms of a query: the ordered steps, and the check after each."""

from collections.abc import Callable
from functools import lru_cache

from weft.normalize.build_form import build_form
from weft.normalize.flatten_operators import flatten_operators
from weft.normalize.split_alternatives import Alternative, split_alternatives
from weft.pattern.invariants import InvariantError, check_form
from weft.pattern.nodes import Conjunction, Disjunction, Kleene, Negation, Pattern, Query, Sequence, Some
from weft.pattern.normal_form import NormalForm
from weft.tree import find

Observer = Callable[[str, object], None]


def _ignore(step: str, result: object) -> None:
    pass


def normalize(query: Query, observer: Observer = _ignore) -> tuple[NormalForm, ...]:
    """Return the normal forms of a bound query, one per alternative; their union is its meaning.

    Steps: split_alternatives, then flatten_operators (a negation's neighbors are those of the flat
    form once absent items are gone), then build_form.

    >>> from weft.pattern.nodes import Event
    >>> a, b, c = Event("A", "a"), Event("B", "b"), Event("C", "c")
    >>> query = Query("q", Sequence((a, Disjunction((b, Sequence((c,)))))))
    >>> [form.variables for form in normalize(query)]
    [('a', 'b'), ('a', 'c')]
    """
    return _remembered(query) if observer is _ignore else _normalize(query, observer)


@lru_cache(maxsize=1 << 14)
def _remembered(query: Query) -> tuple[NormalForm, ...]:
    """Several stages ask for the normal forms of the same queries."""
    return _normalize(query, _ignore)


def _normalize(query: Query, observer: Observer) -> tuple[NormalForm, ...]:
    alternatives = split_alternatives(query.pattern, query.name)
    observer("split_alternatives", alternatives)
    for alternative in alternatives:
        _check_split(alternative)
    flat = tuple(
        Alternative(flatten_operators(alternative.pattern), alternative.empty)
        for alternative in alternatives
        if alternative.pattern
    )
    observer("flatten_operators", flat)
    for alternative in flat:
        _check_flat(alternative.pattern)
    forms = tuple(dict.fromkeys(build_form(alternative, query) for alternative in flat))
    observer("build_form", forms)
    for form in forms:
        check_form(form, "build_form")
    return forms


def _check_split(alternative: Alternative) -> None:
    if any(find(alternative.pattern, Disjunction)) or any(find(alternative.pattern, Some)):
        raise InvariantError("after split_alternatives: no OR and no SOME remains")
    if any(kleene.least == 0 for kleene in find(alternative.pattern, Kleene)):
        raise InvariantError("after split_alternatives: no item is optional")


def _check_flat(pattern: Pattern | None) -> None:
    nodes: list[Sequence | Conjunction] = [*find(pattern, Sequence), *find(pattern, Conjunction)]
    for node in nodes:
        if len(node.operands) < 2 or any(isinstance(operand, type(node)) for operand in node.operands):
            raise InvariantError(f"after flatten_operators: {type(node).__name__} is flat")
    for negation in find(pattern, Negation):
        if isinstance(negation.operand, Negation):
            raise InvariantError("after flatten_operators: no NOT directly inside a NOT")
