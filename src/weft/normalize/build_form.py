"""Turn one flat, OR-free alternative into its normal form."""

from collections.abc import Collection, Iterator, Set

from weft.errors import Problem, QueryError
from weft.expressions import Expression, variables_of
from weft.normalize.resolve_absent import resolve_absent
from weft.normalize.simplify_predicates import simplify_predicates
from weft.normalize.split_alternatives import (
    Alternative,
    SplitNegation,
    declared_variables,
    negated_variables,
    positive_variables,
)
from weft.pattern.nodes import Conjunction, Event, Kleene, Negation, Pattern, Query, Sequence
from weft.pattern.normal_form import Item, NegatedForm, NormalForm
from weft.tree import find


def build_form(alternative: Alternative, query: Query) -> NormalForm:
    """Return the normal form of an alternative of a query.

    >>> from weft.pattern.nodes import Event
    >>> a, b, c = Event("A", "a"), Event("B", "b"), Event("C", "c")
    >>> pattern = Sequence((Conjunction((a, b)), c))
    >>> sorted(build_form(Alternative(pattern), Query("q", pattern)).order)
    [('a', 'c'), ('b', 'c')]
    """
    return _form(alternative.pattern, alternative.empty, query.conditions, frozenset(), query)


def _form(
    pattern: Pattern,
    empty: frozenset[str],
    conditions: Collection[Expression],
    outside: frozenset[str],
    query: Query,
) -> NormalForm:
    """Build the form of a positive or negated pattern; `outside` are the variables around a negation."""
    items = tuple(_items(pattern))
    bound = frozenset(item.variable for item in items)
    hidden = negated_variables(query.pattern) - bound - empty
    own = _resolve(conditions, hidden, bound | outside, empty)
    return NormalForm(
        items=items,
        order=frozenset(_order(pattern)),
        predicates=simplify_predicates(part for part in own if variables_of(part) <= bound),
        keys=query.keys,
        negations=tuple(
            _negated_form(*scoped, bound | outside, empty, conditions, query) for scoped in _scopes(pattern)
        ),
        window=query.window,
        partition_by=query.partition_by,
    )


def _resolve(
    conditions: Collection[Expression], hidden: Set[str], bound: Set[str], empty: Set[str]
) -> list[Expression]:
    """Return what conditions without hidden variables say when only `bound` variables have events."""
    visible = [part for part in conditions if not variables_of(part) & hidden]
    return [left for part in visible if (left := resolve_absent(part, bound, empty)) is not None]


def _negated_form(
    negation: Negation,
    after: tuple[str, ...],
    before: tuple[str, ...],
    bound: frozenset[str],
    empty: frozenset[str],
    conditions: Collection[Expression],
    query: Query,
) -> NegatedForm:
    origin = _origin(query.pattern, negation.operand)
    family = declared_variables(origin)  # all variables written under this NOT
    if isinstance(negation, SplitNegation):
        empty |= negation.empty
    mine = [part for part in conditions if variables_of(part) & family]
    form = _form(negation.operand, empty, mine, bound, query)
    inner = frozenset(form.variables)
    nested = family - positive_variables(origin)  # a condition on these belongs to a NOT inside
    resolved = _resolve(mine, nested, bound | inner, empty)
    crossing = [part for part in resolved if not variables_of(part) <= inner]
    return NegatedForm(form, after, before, simplify_predicates(crossing))


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


def _scopes(pattern: Pattern) -> Iterator[tuple[Negation, tuple[str, ...], tuple[str, ...]]]:
    """Yield the negations of a flat pattern and of its operators, with the variables next to them."""
    if isinstance(pattern, Negation):
        yield pattern, (), ()
    elif isinstance(pattern, Conjunction):
        for operand in pattern.operands:
            yield from _scopes(operand)
    elif isinstance(pattern, Sequence):
        variables = [tuple(item.variable for item in _items(operand)) for operand in pattern.operands]
        for index, operand in enumerate(pattern.operands):
            if isinstance(operand, Negation):
                previous = next(filter(None, reversed(variables[:index])), ())
                following = next(filter(None, variables[index + 1 :]), ())
                yield operand, previous, following
            else:
                yield from _scopes(operand)
