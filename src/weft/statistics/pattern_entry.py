"""A sub-pattern as an entry of a file: a pattern, conditions and a window, in the query language."""

from collections.abc import Mapping, Sequence

from weft.expressions import And, Equivalence, Expression, Not, Or
from weft.language.printer import expression_to_text, pattern_to_text, window_to_text
from weft.pattern.canonical import column_variable, in_columns, rename_variables
from weft.pattern.nodes import Conjunction, CountWindow, Event, Kleene, Pattern
from weft.pattern.nodes import Sequence as Sequenced
from weft.pattern.normal_form import NormalForm, project
from weft.pattern.series_parallel import Nesting, nesting_of
from weft.statistics.model import PatternKey

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def variable_name(place: int) -> str:
    """Return the variable of the event at a place of an entry."""
    return LETTERS[place] if place < len(LETTERS) else f"v{place}"


def is_writable(key: PatternKey) -> bool:
    """Say whether a pattern of the language is a sub-pattern by itself; none is with lists of a strategy."""
    form = project(key.form, set(key.variables))
    is_any = all(item.strategy == "any" for item in form.items)
    is_timed = not isinstance(form.window, CountWindow)
    return is_any and is_timed and nesting_of(form.variables, form.order) is not None


def pattern_entry(key: PatternKey) -> dict[str, str]:
    """Return the pattern of a sub-pattern that is writable, and its conditions and window if it has any.

    >>> from weft.pattern.nodes import TimeWindow
    >>> from weft.pattern.normal_form import Item
    >>> order, window = frozenset({("x", "y")}), TimeWindow(60_000_000)
    >>> form = NormalForm((Item("x", "A"), Item("y", "B")), order, keys=("user",), window=window)
    >>> pattern_entry(PatternKey("a name", form, ("y", "x")))
    {'pattern': 'SEQ(A b, B a)', 'where': '[user]', 'within': '1 minute'}
    """
    form = project(key.form, set(key.variables))
    names = {variable: variable_name(place) for place, variable in enumerate(key.variables)}
    columns = {column_variable(place): variable_name(place) for place in range(len(key.variables))}
    nesting = nesting_of(form.variables, form.order)
    if nesting is None:
        raise ValueError(f"no SEQ and AND give the order {sorted(form.order)}")
    keys = [expression_to_text(Equivalence(tuple(sorted(form.keys))))] if form.keys else []
    spelled = in_columns(form.predicates, key.variables)
    predicates = [rename_variables(predicate, columns) for predicate in spelled]
    conditions = keys + ([where_text(predicates)] if predicates else [])
    entry = {"pattern": pattern_to_text(_pattern(nesting, form, names))}
    if conditions:
        entry["where"] = " AND ".join(conditions)
    return entry if form.window is None else {**entry, "within": window_to_text(form.window)}


def where_text(predicates: Sequence[Expression]) -> str:
    """Write predicates joined by AND; an AND that must not be split is written as a NOT of an OR."""
    whole = [
        Not(Or(tuple(Not(part) for part in predicate.operands))) if isinstance(predicate, And) else predicate
        for predicate in predicates
    ]
    return expression_to_text(And(tuple(whole)))


def _pattern(nesting: str | Nesting[str], form: NormalForm, names: Mapping[str, str]) -> Pattern:
    """Return the pattern of a nesting of the variables of a form."""
    if isinstance(nesting, Nesting):
        operands = tuple(_pattern(operand, form, names) for operand in nesting.operands)
        return Sequenced(operands) if nesting.operator == "SEQ" else Conjunction(operands)
    item = next(item for item in form.items if item.variable == nesting)
    event = Event(item.type, names[nesting])
    return Kleene(event, item.least, item.most) if item.is_list else event
