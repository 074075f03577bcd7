"""One text for a projection, however a query names and orders its items: equal texts mean equal matches."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice, permutations, product

from weft.expressions import And, Expression, Or, variables_of
from weft.language.lexer import quote_name
from weft.language.printer import expression_to_text, window_to_text
from weft.pattern.canonical import canonical, column_variable, own_predicates, renamed, speaks_of_list
from weft.pattern.normal_form import Item, NegatedForm, NormalForm

MOST_LABELLINGS = 24  # of items that look the same; with more, equal projections may get different texts

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
    shown = _Shown(form, kinds)
    structure, labellings = shown.arranged(form.variables)
    options = [(shown.conditions(columns, ()), columns) for columns in islice(labellings, MOST_LABELLINGS)]
    conditions, variables = min(options)
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


def operators_of(form: NormalForm) -> list[Columns]:
    """Return the variables of every operator of the pattern, nested in SEQ and AND, inner ones first.

    >>> from weft.language.parser import parse
    >>> from weft.normalize.pipeline import normalize
    >>> (form,) = normalize(parse("QUERY q PATTERN SEQ(AND(C x, B y), A z)")[0])
    >>> operators_of(form)
    [('x', 'y'), ('x', 'y', 'z')]
    """
    return _Shown(form, {}).operators(form.variables)


@dataclass(frozen=True, slots=True)
class _Shown:
    form: NormalForm
    kinds: Mapping[str, str]

    def arranged(self, variables: Sequence[str]) -> tuple[str, Iterator[Columns]]:
        """Return the pattern of some variables, and the orders of them in which it may be read."""
        if len(variables) == 1:
            return self._label(variables[0]), iter([(variables[0],)])
        name, parts = self.operands(variables)
        operands = [self.arranged(part) for part in parts]
        if name == "AND":
            operands.sort(key=lambda operand: operand[0])
            labellings = self._exchanged(operands)
        else:
            labellings = _joined(list(labellings) for _, labellings in operands)
        return f"{name}({', '.join(text for text, _ in operands)})", labellings

    def operands(self, variables: Sequence[str]) -> tuple[str, list[list[str]]]:
        """Return the operator that puts some variables together, and the variables of its operands."""
        parts = self._parts(variables, ordered=True)
        if len(parts) > 1:
            return "AND", parts
        steps = self._parts(variables, ordered=False)
        if len(steps) == 1:
            raise ValueError(f"the order of {', '.join(variables)} is not one of nested SEQ and AND")
        steps.sort(key=lambda part: sum((before, part[0]) in self.form.order for before in variables))
        return "SEQ", steps

    def operators(self, variables: Sequence[str]) -> list[Columns]:
        """Return the variables of the operators within some variables, inner ones first."""
        if len(variables) == 1:
            return []
        inner = [one for part in self.operands(variables)[1] for one in self.operators(part)]
        return [*inner, tuple(variables)]

    def conditions(self, columns: Columns, outer: Columns) -> str:
        """Return what a form demands besides its pattern; `outer` are the columns of a match around it."""
        every = (*outer, *columns)
        numbers = {variable: column_variable(place) for place, variable in enumerate(every)}
        about = [p for p in self.form.predicates if len(variables_of(p)) > 1 or self._is_of_list(p)]
        texts = sorted({_shown_text(p, numbers) for p in about})
        if self.form.keys:
            texts.insert(0, f"[{', '.join(sorted(map(quote_name, self.form.keys)))}]")
        where = f" WHERE {' AND '.join(texts)}" if texts else ""
        negated = sorted(_negation_text(negation, every, numbers) for negation in self.form.negations)
        return where + "".join(negated)

    def _label(self, variable: str) -> str:
        item = next(item for item in self.form.items if item.variable == variable)
        if not item.is_list:
            return self.kinds[variable]
        most = "" if item.most is None else item.most
        return f"{self.kinds[variable]}{{{item.least},{most}}}"

    def _is_of_list(self, predicate: Expression) -> bool:
        lists = {item.variable for item in self.form.items if item.is_list}
        return speaks_of_list(predicate) and bool(variables_of(predicate) & lists)

    def _parts(self, variables: Sequence[str], *, ordered: bool) -> list[list[str]]:
        """Return the variables in the fewest groups such that no pair that is (not) in order is separated."""
        order, parts = self.form.order, list[list[str]]()
        for variable in variables:
            linked = [
                part
                for part in parts
                if any(((one, variable) in order or (variable, one) in order) == ordered for one in part)
            ]
            parts = [part for part in parts if part not in linked]
            parts.append([*(one for part in linked for one in part), variable])
        return parts

    def _exchanged(self, operands: Sequence[tuple[str, Iterator[Columns]]]) -> Iterator[Columns]:
        """Yield the orders of operands of an AND in which those that look the same are exchanged."""
        listed = [(text, list(labellings)) for text, labellings in operands]
        ties = [list(tie) for _, tie in groupby(listed, key=lambda operand: operand[0])]
        for choice in product(*(permutations(tie) for tie in ties)):
            yield from _joined(labellings for tie in choice for _, labellings in tie)


def _joined(options: Iterable[Sequence[Columns]]) -> Iterator[Columns]:
    return (tuple(variable for part in choice for variable in part) for choice in product(*options))


def _negation_text(negation: NegatedForm, outer: Columns, numbers: Mapping[str, str]) -> str:
    form = negation.form
    shown = _Shown(form, {item.variable: kind_of(item, form) for item in form.items})
    structure, labellings = shown.arranged(form.variables)
    after = ", ".join(sorted(numbers[variable] for variable in negation.after))
    before = ", ".join(sorted(numbers[variable] for variable in negation.before))
    scope = (f" AFTER {after}" if after else "") + (f" BEFORE {before}" if before else "")
    options = []
    for columns in islice(labellings, MOST_LABELLINGS):
        names = {variable: column_variable(place) for place, variable in enumerate((*outer, *columns))}
        texts = sorted({_shown_text(p, names) for p in negation.predicates})
        where = f" IF {' AND '.join(texts)}" if texts else ""
        options.append(f"{where}{shown.conditions(columns, outer)}")
    return f" NOT ({structure}{scope}{min(options)})"


def _shown_text(predicate: Expression, names: Mapping[str, str]) -> str:
    return _text(
        predicate, tuple((variable, names[variable]) for variable in sorted(variables_of(predicate)))
    )


@lru_cache(maxsize=1 << 16)
def _text(predicate: Expression, names: tuple[tuple[str, str], ...]) -> str:
    text = re.sub(r'"(\$\d+)"', r"\1", expression_to_text(canonical(renamed(predicate, dict(names)))))
    return f"({text})" if isinstance(predicate, And | Or) else text
