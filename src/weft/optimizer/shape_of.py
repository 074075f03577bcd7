"""From a normal form and statistics to the numbers that cost models work on."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

from weft.cost.shape import Check, Group, ListBounds, Shape, survival
from weft.expressions import RANK, Aggregate, Attribute, Comparison, Expression, variables_of
from weft.optimizer.assemble import needs_of
from weft.optimizer.demands import Context
from weft.pattern.canonical import in_columns, speaks_of_list
from weft.pattern.nodes import CountWindow, TimeWindow
from weft.pattern.normal_form import EVERY_TYPE, Item, NegatedForm, NormalForm
from weft.statistics.corrections import corrections_of
from weft.statistics.model import GroupKey, Inquiry, ItemKey, Question, Statistics, group_key
from weft.statistics.sub_patterns import item_key
from weft.tree import find

MICROSECONDS = 1_000_000.0
MOST_KNOWN = 4096  # forms of which it is known what is asked about them


def shape_of(form: NormalForm, statistics: Statistics, context: Context) -> Shape:
    """Return the shape of a normal form.

    >>> from weft.optimizer.trees import leaf
    >>> a, b = Item("a", "A"), Item("b", "B")
    >>> context = Context(lambda name: None, False, lambda form: leaf(0))
    >>> shape = shape_of(NormalForm((a, b), frozenset({("a", "b")})), Statistics(), context)
    >>> shape.rates, shape.before, shape.window
    ((1.0, 1.0), (0, 1), 3600.0)
    """
    numbers = {variable: number for number, variable in enumerate(form.variables)}
    groups = tuple(
        Group(mask, statistics.selectivity(key), 1.0 if equal is None else statistics.selectivity(equal))
        for mask, key, equal in _group_keys(form)
    )
    agreement = 1.0
    for key in form.keys:
        agreement *= statistics.agreement(key)
    window = window_seconds(form, statistics)
    before = tuple(
        sum(1 << numbers[a] for a, b in form.order if b == variable) for variable in form.variables
    )
    return Shape(
        rates=tuple(map(statistics.rate, _own_item_keys(form))),
        before=before,
        window=window,
        groups=groups,
        agreement=agreement,
        lists={
            numbers[item.variable]: _list_bounds(item, form, statistics)
            for item in form.items
            if item.is_list
        },
        checks=tuple(
            _check(negation, form, before, window, statistics, context) for negation in form.negations
        ),
        corrections=corrections_of(form, statistics.corrections),
        is_some=form.is_some,
    )


def questions_of(form: NormalForm, window: float | None) -> list[Question]:
    """Return all that a plan for a form would like to know of its predicates."""
    questions: dict[Question, None] = {}

    def ask(variables: frozenset[str], predicates: list[Expression]) -> None:
        if predicates:
            key = _key(form, variables, predicates)
            questions[Question(key, _order_of(key, form, variables, predicates), window)] = None

    for variables, predicates in _group_by_variables(form.predicates).items():
        if len(variables) > 1:
            ask(variables, predicates)
            ask(variables, [p for p in predicates if _is_hashable(p)])
    for item in form.items:
        if item.is_list:
            for part in _about_list(item, form):
                ask(frozenset({item.variable}), part)
    for negation in form.negations:
        for variables, predicates in _group_by_variables(negation.predicates).items():
            outer = _outer_key(negation, form, variables, predicates)
            if outer is not None and len(variables) > 1 and not any(map(_speaks_of_rank, predicates)):
                questions[Question(outer, window=window)] = None
        questions |= dict.fromkeys(questions_of(negation.form, window))
    return list(questions)


def item_keys(form: NormalForm) -> list[ItemKey]:
    """Return the items of a form and of all that it negates, as far as they have a type."""
    own = [item_key(item, form) for item in form.items if item.type != EVERY_TYPE]
    return own + [key for negation in form.negations for key in item_keys(negation.form)]


def inquiry_of(forms: Sequence[NormalForm]) -> Inquiry:
    """Return all that a plan for some forms would like to know.

    The order of items and keys does not depend on that of the queries.
    """
    windows = [
        form.window.length / MICROSECONDS if isinstance(form.window, TimeWindow) else None for form in forms
    ]
    asked = [questions_of(form, window) for form, window in zip(forms, windows, strict=True)]
    return Inquiry(
        items=sorted({key for form in forms for key in item_keys(form)}, key=repr),
        questions=list(dict.fromkeys(chain.from_iterable(asked))),
        keys=sorted({key for form in forms for key in form.keys}),
        longest=max((window for window in windows if window is not None), default=None),
        forms=list(dict.fromkeys(forms)),
    )


def window_seconds(form: NormalForm, statistics: Statistics) -> float:
    """Return the window of a form in seconds; a count of events lasts as long as they take to arrive."""
    if form.window is None:
        return max(statistics.span, 1e-6)
    if isinstance(form.window, CountWindow):
        rate = statistics.events_per_second
        for key in form.partition_by:
            rate *= statistics.agreement(key)
        return max(form.window.length / max(rate, 1e-9), 1e-6)
    return max(form.window.length / MICROSECONDS, 1e-6)


def _group_by_variables(predicates: Iterable[Expression]) -> dict[frozenset[str], list[Expression]]:
    groups: dict[frozenset[str], list[Expression]] = {}
    for predicate in predicates:
        groups.setdefault(variables_of(predicate), []).append(predicate)
    return groups


def _key(form: NormalForm, variables: frozenset[str], predicates: Sequence[Expression]) -> GroupKey:
    items = [item for item in form.items if item.variable in variables]
    about = [p for p in predicates if len(variables) > 1 or speaks_of_list(p)]
    columns = [item.variable for item in items]
    return group_key([item_key(item, form) for item in items], in_columns(about, columns))


def _order_of(
    key: GroupKey, form: NormalForm, variables: frozenset[str], predicates: Sequence[Expression]
) -> frozenset[tuple[int, int]]:
    """Return the order between the places of a key."""
    columns = _columns_of(key, form, variables, predicates)
    return frozenset(
        (columns.index(a), columns.index(b)) for a, b in form.order if a in variables and b in variables
    )


def _columns_of(
    key: GroupKey, form: NormalForm, variables: frozenset[str], predicates: Sequence[Expression]
) -> list[str]:
    """Return the variable at each place of a key; equal items are told apart by the predicates."""
    items = {item.variable: item_key(item, form) for item in form.items if item.variable in variables}

    def extend(chosen: list[str]) -> list[str] | None:
        if len(chosen) == len(key.items):
            about = [p for p in predicates if len(variables) > 1 or speaks_of_list(p)]
            return chosen if set(in_columns(about, chosen)) == set(key.predicates) else None
        for variable, item in items.items():
            if variable not in chosen and item == key.items[len(chosen)]:
                columns = extend([*chosen, variable])
                if columns is not None:
                    return columns
        return None

    return extend([]) or sorted(variables)


@lru_cache(maxsize=MOST_KNOWN)
def _group_keys(form: NormalForm) -> tuple[tuple[int, GroupKey, GroupKey | None], ...]:
    """Return the items of each predicate group, what it is known by, and the equalities among it.

    The engine joins by hash where there are equalities.
    """
    numbers = {variable: number for number, variable in enumerate(form.variables)}
    keys = []
    for variables, predicates in _group_by_variables(form.predicates).items():
        if len(variables) > 1:
            equalities = [p for p in predicates if _is_hashable(p)]
            equal = _key(form, variables, equalities) if equalities else None
            mask = sum(1 << numbers[variable] for variable in variables)
            keys.append((mask, _key(form, variables, predicates), equal))
    return tuple(keys)


@lru_cache(maxsize=MOST_KNOWN)
def _own_item_keys(form: NormalForm) -> tuple[ItemKey, ...]:
    return tuple(item_key(item, form) for item in form.items)


def _speaks_of_rank(predicate: Expression) -> bool:
    return any(attribute.name == RANK for attribute in find(predicate, Attribute))


def _is_hashable(predicate: Expression) -> bool:
    if not isinstance(predicate, Comparison) or predicate.operator != "=":
        return False
    sides = variables_of(predicate.left), variables_of(predicate.right)
    return all(sides) and not sides[0] & sides[1]


def _list_bounds(item: Item, form: NormalForm, statistics: Statistics) -> ListBounds:
    def share(predicates: list[Expression]) -> float:
        key = frozenset({item.variable})
        return statistics.selectivity(_key(form, key, predicates)) if predicates else 1.0

    edges, whole = _about_list(item, form)
    return ListBounds(item.least, item.most, share(edges), share(whole), item.strategy != "any")


def _about_list(item: Item, form: NormalForm) -> tuple[list[Expression], list[Expression]]:
    """Return the predicates on consecutive elements of a list, and those on the list as a whole."""
    about = [p for p in form.predicates if variables_of(p) == {item.variable} and speaks_of_list(p)]
    edges = [p for p in about if not any(find(p, Aggregate)) and _places(p) <= {"current", "previous"}]
    return edges, [p for p in about if p not in edges]


def _places(predicate: Expression) -> set[str]:
    return {attribute.place for attribute in find(predicate, Attribute)}


def _check(
    negation: NegatedForm,
    form: NormalForm,
    before: Sequence[int],
    window: float,
    statistics: Statistics,
    context: Context,
) -> Check:
    """Return the share of rows that pass a negation: no negated row in the spacings open to it."""
    numbers = {variable: number for number, variable in enumerate(form.variables)}
    needs = sum(1 << numbers[v] for v in needs_of(negation, form, context) if v in numbers)
    inner = shape_of(negation.form, statistics, context)
    rate = inner.rows_per_second(inner.everything, window)
    for variables, predicates in _group_by_variables(negation.predicates).items():
        group = _outer_key(negation, form, variables, predicates) if variables else None
        if group is not None:
            rate *= statistics.selectivity(group)
    for key in form.keys:
        rate *= statistics.agreement(key)
    below, above = 0, 0
    for variable in negation.after:
        below |= before[numbers[variable]] | 1 << numbers[variable]
    for variable in negation.before:
        above |= 1 << numbers[variable]
        above |= sum(1 << n for n in range(len(before)) if before[n] >> numbers[variable] & 1)
    if negation.scope == "gap":
        return Check(needs, 1.0)  # lists are counted so that they pass it
    n_points = needs.bit_count()  # not all items: then patterns agree on a check they share
    n_open = min(n_points, n_points + 1 - ((below | above) & needs).bit_count())
    return Check(needs, survival(rate, window, n_points, n_open))


def _outer_key(
    negation: NegatedForm, form: NormalForm, variables: frozenset[str], predicates: Sequence[Expression]
) -> GroupKey | None:
    """Return the key of predicates between a negated pattern and the match.

    None when a NOT around this one has a part in them.
    """
    sources = [(item, form) for item in form.items] + [(item, negation.form) for item in negation.form.items]
    named = [(item, source) for item, source in sources if item.variable in variables]
    if len(named) != len(variables):
        return None
    columns = [item.variable for item, _ in named]
    keys = [item_key(item, source) for item, source in named]
    return group_key(keys, in_columns(predicates, columns))
