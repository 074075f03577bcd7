"""The normal forms of a query: the ordered steps, and the check after each."""

from functools import lru_cache

from weft.normalize.apply_strategy import apply_strategy
from weft.normalize.build_form import build_form
from weft.normalize.flatten_operators import flatten_operators
from weft.normalize.some_form import some_form
from weft.normalize.split_alternatives import Alternative, split_alternatives
from weft.pattern.invariants import InvariantError, check_form
from weft.pattern.nodes import Conjunction, Disjunction, Kleene, Negation, Pattern, Query, Sequence, Some
from weft.pattern.normal_form import NormalForm
from weft.tree import find


@lru_cache(maxsize=1 << 14)  # several stages ask for the normal forms of the same queries
def normalize(query: Query) -> tuple[NormalForm, ...]:
    """Return the normal forms of a bound query, one per alternative; their union is its meaning.

    All combinations of a SOME of many single events are one form. Steps otherwise: split_alternatives, then
    flatten_operators (a negation's neighbors are those of the flat form once absent items are gone), then
    build_form, then apply_strategy.

    >>> from weft.pattern.nodes import Event
    >>> a, b, c = Event("A", "a"), Event("B", "b"), Event("C", "c")
    >>> query = Query("q", Sequence((a, Disjunction((b, Sequence((c,)))))))
    >>> [form.variables for form in normalize(query)]
    [('a', 'b'), ('a', 'c')]
    """
    form = some_form(query)
    if form is None:
        return expand(query)
    check_form(form, "some_form")
    return (form,)


def expand(query: Query) -> tuple[NormalForm, ...]:
    """Return the normal forms of a bound query, one per alternative, each combination of SOME being one.

    >>> from weft.pattern.nodes import Event
    >>> query = Query("q", Some(tuple(Event("A", name) for name in "abcd")))
    >>> len(normalize(query)), len(expand(query))
    (1, 15)
    """
    forms: dict[NormalForm, None] = {}
    for alternative in split_alternatives(query.pattern, query.name):
        _check_split(alternative)
        flat = flatten_operators(alternative.pattern)
        _check_flat(flat)
        form = build_form(Alternative(flat, alternative.empty), query)
        check_form(form, "build_form")
        form = apply_strategy(form, query, alternative.empty)
        check_form(form, "apply_strategy")
        forms.setdefault(form)
    return tuple(forms)


def _check_split(alternative: Alternative) -> None:
    if any(find(alternative.pattern, Disjunction)) or any(find(alternative.pattern, Some)):
        raise InvariantError("after split_alternatives: no OR and no SOME remains")
    if any(kleene.least == 0 for kleene in find(alternative.pattern, Kleene)):
        raise InvariantError("after split_alternatives: no item is optional")


def _check_flat(pattern: Pattern) -> None:
    nodes: list[Sequence | Conjunction] = [*find(pattern, Sequence), *find(pattern, Conjunction)]
    for node in nodes:
        if len(node.operands) < 2 or any(isinstance(operand, type(node)) for operand in node.operands):
            raise InvariantError(f"after flatten_operators: {type(node).__name__} is flat")
    for negation in find(pattern, Negation):
        if isinstance(negation.operand, Negation):
            raise InvariantError("after flatten_operators: no NOT directly inside a NOT")
