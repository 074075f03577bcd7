"""Turn one flat, OR-free alternative into its normal form."""

from dataclasses import dataclass

from weft.errors import Problem, QueryError
from weft.expressions import Equivalence, Expression, variables_of
from weft.normalize.resolve_absent import resolve_absent
from weft.normalize.simplify_predicates import simplify_predicates
from weft.normalize.split_alternatives import (
    Alternative,
    SplitNegation,
    declared_variables,
    positive_variables,
)
from weft.pattern.nodes import Conjunction, Event, Kleene, Negation, Pattern, Query, Sequence
from weft.pattern.normal_form import Item, NegatedForm, NormalForm
from weft.tree import find


@dataclass(frozen=True, slots=True)
class _Scoped:
    """A negation and the variables of its neighbors in the flat form."""

    negation: Negation
    after: tuple[str, ...]
    before: tuple[str, ...]


def build_form(alternative: Alternative, query: Query) -> NormalForm:
    """Return the normal form of an alternative of a query.

    >>> from weft.pattern.nodes import Event
    >>> a, b, c = Event("A", "a"), Event("B", "b"), Event("C", "c")
    >>> pattern = Sequence((Conjunction((a, b)), c))
    >>> sorted(build_form(Alternative(pattern), Query("q", pattern)).order)
    [('a', 'c'), ('b', 'c')]
    """
    keys = tuple(
        dict.fromkeys(
            [name for part in query.where if isinstance(part, Equivalence) for name in part.attributes]
            + list(query.partition_by)
        )
    )
    conditions = [part for part in query.where if not isinstance(part, Equivalence)]
    if alternative.pattern is None:
        raise ValueError("an alternative without events has no normal form")
    return _form(alternative.pattern, alternative.empty, conditions, frozenset(), keys, query)


def _form(
    pattern: Pattern,
    empty: frozenset[str],
    conditions: list[Expression],
    outside: frozenset[str],
    keys: tuple[str, ...],
    query: Query,
) -> NormalForm:
    """Build the form of a positive or negated pattern; `outside` are the variables around a negation."""
    items = tuple(_items(pattern))
    bound = frozenset(item.variable for item in items)
    negated = frozenset(
        event.variable for negation in find(query.pattern, Negation) for event in find(negation, Event)
    )
    own = [part for part in conditions if not (variables_of(part) & (negated - bound - empty))]
    resolved = [resolve_absent(part, bound | outside, empty) for part in own]
    form = NormalForm(
        items=items,
        order=frozenset(_order(pattern)),
        predicates=simplify_predicates(
            part for part in resolved if part is not None and variables_of(part) <= bound
        ),
        keys=keys,
        negations=(),
        window=query.window,
        partition_by=query.partition_by,
    )
    negations = tuple(
        _negated_form(scoped, bound | outside, empty, conditions, keys, query) for scoped in _scopes(pattern)
    )
    return NormalForm(
        form.items, form.order, form.predicates, form.keys, negations, form.window, form.partition_by
    )


def _negated_form(
    scoped: _Scoped,
    bound: frozenset[str],
    empty: frozenset[str],
    conditions: list[Expression],
    keys: tuple[str, ...],
    query: Query,
) -> NegatedForm:
    operand = scoped.negation.operand
    origin = _origin(query.pattern, operand)
    family = declared_variables(origin)  # all variables written under this NOT
    if isinstance(scoped.negation, SplitNegation):
        empty |= scoped.negation.empty
    mine = [part for part in conditions if variables_of(part) & family]
    form = _form(operand, empty, mine, bound, keys, query)
    inner = frozenset(form.variables)
    nested = family - positive_variables(origin)  # a condition on these belongs to a NOT inside
    resolved = [
        resolve_absent(part, bound | inner, empty) for part in mine if not variables_of(part) & nested
    ]
    crossing = [part for part in resolved if part is not None and not variables_of(part) <= inner]
    return NegatedForm(form, scoped.after, scoped.before, simplify_predicates(crossing))


def _origin(pattern: Pattern, operand: Pattern) -> Pattern:
    """Find the operand, as written, of the innermost NOT that holds all variables of `operand`."""
    wanted = declared_variables(operand)
    holders = [
        negation.operand
        for negation in find(pattern, Negation)
        if wanted <= declared_variables(negation.operand) and wanted & positive_variables(negation.operand)
    ]
    return min(holders, key=lambda holder: len(declared_variables(holder)))


def _items(pattern: Pattern) -> list[Item]:
    match pattern:
        case Event(type=event_type, variable=variable):
            return [Item(variable, event_type)]
        case Kleene(operand=Event(type=event_type, variable=variable), least=least, most=most):
            return [Item(variable, event_type, is_list=True, least=least, most=most)]
        case Sequence(operands=operands) | Conjunction(operands=operands):
            return [item for operand in operands for item in _items(operand)]
        case Kleene(span=span):
            problem = Problem(
                "quantified groups are not supported yet", span, "put the quantifier on a single event"
            )
            raise QueryError([problem])
    return []


def _order(pattern: Pattern) -> set[tuple[str, str]]:
    """Return the strict order among the items; closed, because SEQ relates all that precedes."""
    if not isinstance(pattern, Sequence | Conjunction):
        return set()
    pairs = {pair for operand in pattern.operands for pair in _order(operand)}
    if isinstance(pattern, Sequence):
        earlier: list[str] = []
        for operand in pattern.operands:
            own = [item.variable for item in _items(operand)]
            pairs.update((a, b) for a in earlier for b in own)
            earlier += own
    return pairs


def _scopes(pattern: Pattern) -> list[_Scoped]:
    """Return the negations of a flat pattern with their neighbors, nested operators included."""
    if isinstance(pattern, Negation):
        return [_Scoped(pattern, (), ())]
    if not isinstance(pattern, Sequence | Conjunction):
        return []
    found: list[_Scoped] = []
    for index, operand in enumerate(pattern.operands):
        if not isinstance(operand, Negation):
            found += _scopes(operand)
        elif isinstance(pattern, Conjunction):
            found.append(_Scoped(operand, (), ()))
        else:
            before = [_positive_items(other) for other in pattern.operands[:index]]
            after = [_positive_items(other) for other in pattern.operands[index + 1 :]]
            previous = next((names for names in reversed(before) if names), ())
            following = next((names for names in after if names), ())
            found.append(_Scoped(operand, previous, following))
    return found


def _positive_items(pattern: Pattern) -> tuple[str, ...]:
    return tuple(item.variable for item in _items(pattern))
