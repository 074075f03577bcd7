"""One text for a projection, however a query names and orders its items: equal texts mean equal matches."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby, islice, product

from weft.expressions import And, Expression, Or, variables_of
from weft.language.lexer import quote_name
from weft.language.printer import expression_to_text, window_to_text
from weft.pattern.canonical import (
    MOST_LABELLINGS,
    canonical,
    column_variable,
    exchanges,
    least_labelling,
    own_predicates,
    rename_variables,
    speaks_of_list,
)
from weft.pattern.normal_form import Item, NegatedForm, NormalForm
from weft.pattern.series_parallel import Nesting, nesting_of
from weft.tree import find

Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Described:
    """The text of a normal form, and its variables: the one at place i is `$i` in the text."""

    text: str
    variables: Columns


def describe(form: NormalForm, kinds: Mapping[str, str]) -> Described:
    """Return the canonical text of a normal form, given the kind of events of each variable.

    >>> from weft.language.parser import parse
    >>> from weft.normalize.pipeline import normalize
    >>> text = "QUERY q PATTERN SEQ(AND(C x, B y), A z) WHERE x.u = z.u WITHIN 30 minutes"
    >>> (form,) = normalize(parse(text)[0])
    >>> describe(form, {"x": "C", "y": "B", "z": "A"})
    Described(text='SEQ(AND(B, C), A) WHERE $1.u = $2.u WITHIN 30 minutes', variables=('y', 'x', 'z'))
    """
    structure, labellings = _structure(_nesting(form), _labels(form, kinds))
    conditions, variables = least_labelling(labellings, lambda columns: _conditions(form, columns, ()))
    within = "" if form.window is None else f" WITHIN {window_to_text(form.window)}"
    return Described(f"{structure}{conditions}{within}", variables)


def kind_of(item: Item, form: NormalForm) -> str:
    """Return the text of the events of an item: their type, and the conditions on them alone.

    >>> from weft.language.parser import parse
    >>> from weft.normalize.pipeline import normalize
    >>> (form,) = normalize(parse("QUERY q PATTERN SEQ(A a, B b) WHERE b.x > 3 AND a.x < b.x")[0])
    >>> [kind_of(item, form) for item in form.items]
    ['A', 'B[x > 3]']
    """
    texts = sorted({_shown_text(p, {item.variable: ""}) for p in own_predicates(item, form)})
    return quote_name(item.type) + (f"[{' AND '.join(texts)}]" if texts else "")


def leaves_of(form: NormalForm) -> list[tuple[Item, NormalForm]]:
    """Return the items of a form and of its negations, each with the form it is in."""
    return [(item, part) for part in find(form, NormalForm) for item in part.items]


def operators_of(form: NormalForm) -> list[Columns]:
    """Return the variables of every operator of the pattern, nested in SEQ and AND, inner ones first.

    >>> from weft.language.parser import parse
    >>> from weft.normalize.pipeline import normalize
    >>> (form,) = normalize(parse("QUERY q PATTERN SEQ(AND(C x, B y), A z)")[0])
    >>> operators_of(form)
    [('x', 'y'), ('x', 'y', 'z')]
    """
    operators: list[Columns] = []

    def variables(nesting: str | Nesting[str]) -> Columns:
        if isinstance(nesting, str):
            return (nesting,)
        operators.append(tuple(chain.from_iterable(map(variables, nesting.operands))))
        return operators[-1]

    variables(_nesting(form))
    return operators


def _nesting(form: NormalForm) -> str | Nesting[str]:
    """Return the SEQ and AND of a form's variables."""
    nesting = nesting_of(form.variables, form.order)
    if nesting is None:
        raise ValueError(f"the order of {', '.join(form.variables)} is not one of nested SEQ and AND")
    return nesting


def _labels(form: NormalForm, kinds: Mapping[str, str]) -> dict[str, str]:
    """Return what stands for each variable in a pattern."""
    return {
        item.variable: f"{kinds[item.variable]}{{{item.least},{'' if item.most is None else item.most}}}"
        if item.is_list
        else kinds[item.variable]
        for item in form.items
    }


def _structure(nesting: str | Nesting[str], labels: Mapping[str, str]) -> tuple[str, list[Columns]]:
    """Return a pattern as text, and the orders of its variables in which it may be read."""
    if isinstance(nesting, str):
        return labels[nesting], [(nesting,)]
    operands = [_structure(operand, labels) for operand in nesting.operands]
    orders: Iterable[tuple[int, ...]] = [tuple(range(len(operands)))]
    if nesting.operator == "AND":
        operands.sort(key=lambda operand: operand[0])
        ties = groupby(range(len(operands)), key=lambda number: operands[number][0])
        orders = exchanges([list(tie) for _, tie in ties])
    text = f"{nesting.operator}({', '.join(text for text, _ in operands)})"
    labellings = (
        tuple(chain.from_iterable(choice))
        for order in orders
        for choice in product(*(operands[number][1] for number in order))
    )
    return text, list(islice(labellings, MOST_LABELLINGS))


def _conditions(form: NormalForm, columns: Columns, outer: Columns) -> str:
    """Return what a form demands besides its pattern; `outer` are the columns of a match around it."""
    every = (*outer, *columns)
    lists = {item.variable for item in form.items if item.is_list}
    about = [
        p
        for p in form.predicates
        if len(variables_of(p)) > 1 or speaks_of_list(p) and variables_of(p) & lists
    ]
    texts = sorted(_texts(about, every))
    if form.keys:
        texts.insert(0, f"[{', '.join(sorted(map(quote_name, form.keys)))}]")
    where = f" WHERE {' AND '.join(texts)}" if texts else ""
    return where + "".join(sorted(_negation_text(negation, every) for negation in form.negations))


def _negation_text(negation: NegatedForm, outer: Columns) -> str:
    form = negation.form
    kinds = {item.variable: kind_of(item, form) for item in form.items}
    structure, labellings = _structure(_nesting(form), _labels(form, kinds))
    after, before = (
        ", ".join(sorted(column_variable(outer.index(variable)) for variable in variables))
        for variables in (negation.after, negation.before)
    )
    scope = (f" AFTER {after}" if after else "") + (f" BEFORE {before}" if before else "")

    def conditions(columns: Columns) -> str:
        texts = sorted(_texts(negation.predicates, (*outer, *columns)))
        where = f" IF {' AND '.join(texts)}" if texts else ""
        return f"{where}{_conditions(form, columns, outer)}"

    return f" NOT ({structure}{scope}{least_labelling(labellings, conditions)[0]})"


def _texts(predicates: Iterable[Expression], columns: Columns) -> set[str]:
    """Return predicates as texts that speak of columns."""
    names = {variable: column_variable(place) for place, variable in enumerate(columns)}
    return {_shown_text(predicate, names) for predicate in predicates}


def _shown_text(predicate: Expression, names: Mapping[str, str]) -> str:
    return _text(
        predicate, tuple((variable, names[variable]) for variable in sorted(variables_of(predicate)))
    )


@lru_cache(maxsize=1 << 16)
def _text(predicate: Expression, names: tuple[tuple[str, str], ...]) -> str:
    text = re.sub(
        r'"(\$\d+)"', r"\1", expression_to_text(canonical(rename_variables(predicate, dict(names))))
    )
    return f"({text})" if isinstance(predicate, And | Or) else text
