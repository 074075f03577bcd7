"""Queries of the language as projected queries: items and projections of the normal form of an alternative.

Events are told apart by the item that takes them: their kind is a type with the conditions on single
events. A list takes any number of events of its kind from any sites; so a kind of which a projection has a
list is named twice in it, like one of two items, and cannot divide its matches among sites.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

from weft.cost.shape import Shape
from weft.errors import WeftError
from weft.expressions import variables_of
from weft.normalize.pipeline import expand
from weft.optimizer.assemble import needs_of
from weft.optimizer.demands import Context
from weft.optimizer.pipeline import context_of
from weft.optimizer.shape_of import shape_of
from weft.pattern.nodes import CountWindow, Query
from weft.pattern.normal_form import Item, NormalForm, project
from weft.placement.network import bits
from weft.placement.projection import ProjectedQuery, Projection
from weft.placement.projection_text import Described, describe, kind_of, leaves_of, operators_of
from weft.schema import Schema
from weft.statistics.model import ItemKey, Statistics
from weft.statistics.sub_patterns import item_key


class NormalFormQuery(ProjectedQuery):
    """An alternative of a query; its rates are matches per second under given statistics.

    >>> from weft.language.parser import parse
    >>> text = "QUERY q PATTERN SEQ(A a, OR(B b, C c)) WHERE a.x = b.x WITHIN 10 seconds"
    >>> first, second = normal_form_queries(parse(text), None, Statistics())
    >>> first.name, first.projection(0b11).text, second.projection(0b11).text
    ('q#1', 'SEQ(A, B) WHERE $0.x = $1.x WITHIN 10 seconds', 'SEQ(A, C) WITHIN 10 seconds')
    >>> second.projection(0b11).factor  # of the pairs that end in a second, 10 follow each A
    10.0
    """

    def __init__(
        self, name: str, query: Query, alternative: int, form: NormalForm, shape: Shape, context: Context
    ) -> None:
        super().__init__()
        self.name = name
        self.query = query
        self.alternative = alternative
        self.whole_form = form
        self.kinds = tuple(kind_of(*leaf) for leaf in self.leaves[: len(form.items)])
        self._shape = shape
        self._described: dict[int, Described] = {}
        numbers = {variable: number for number, variable in enumerate(form.variables)}
        self._needs = tuple(
            sum(1 << numbers[variable] for variable in needs_of(negation, form, context))
            for negation in form.negations
        )

    @cached_property
    def leaves(self) -> list[tuple[Item, NormalForm]]:
        """The items, then those of negations, each with a form that says which events it takes.

        A condition on no event at all is one on the first item; but not for chains.
        """
        form = self.whole_form
        if self.central is not None:
            form = replace(form, predicates=tuple(filter(variables_of, form.predicates)))
        return leaves_of(form)

    @cached_property
    def kind_keys(self) -> Mapping[str, ItemKey]:
        """All kinds of events that the query looks at, and what statistics know them by."""
        return {kind_of(*leaf): item_key(*leaf) for leaf in self.leaves}

    @property
    def operators(self) -> tuple[int, ...]:
        """The items of each operator of the pattern, inner ones first; the last has all."""
        numbers = {variable: number for number, variable in enumerate(self.whole_form.variables)}
        operators = operators_of(self.whole_form)
        return tuple(sum(1 << numbers[variable] for variable in own) for own in operators) or (self.whole,)

    def form(self, items: int) -> NormalForm:
        """Return the normal form of a projection, with the variables of the query."""
        if items == self.whole:
            return self.whole_form
        variables = {self.whole_form.variables[item] for item in bits(items)}
        negations = tuple(
            self.whole_form.negations[number] for number in sorted(self.checked_negations(items))
        )
        return replace(project(self.whole_form, variables), negations=negations)

    def places(self, items: int) -> tuple[int, ...]:
        """Return the items of a projection in the order of its text.

        Where a projection of another query, or another one of this query, has an equal text, the items at
        equal places correspond to each other.
        """
        numbers = {variable: number for number, variable in enumerate(self.whole_form.variables)}
        return tuple(numbers[variable] for variable in self._description(items).variables)

    def checked_negations(self, items: int) -> frozenset[int]:
        """Return the numbers of the negations that the projection to some items checks."""
        return frozenset(number for number, needs in enumerate(self._needs) if not needs & ~items)

    def negated_kinds(self, negation: int) -> tuple[str, ...]:
        """Return the kinds of events that a negation forbids, and those that it looks at in doing so."""
        leaves = leaves_of(self.whole_form.negations[negation].form)
        return tuple(dict.fromkeys(kind_of(*leaf) for leaf in leaves))

    @cached_property
    def is_single_event(self) -> bool:
        """Whether a match is one event, and it alone decides: then every site finds its own."""
        item = self.whole_form.items[0]
        is_alone = self.n_items == 1 and not item.is_list and not self.whole_form.negations
        return is_alone and self.central is None

    @property
    def central(self) -> str | None:
        """The query, if it has TIMEOUTS: a chain may take any of its events, whatever is in a match."""
        return self.query.name if self.query.policy.timeouts else None

    def _project(self, items: int) -> Projection:
        if items.bit_count() == 1 and (self.n_items > 1 or self.is_single_event):
            kind = self.kinds[items.bit_length() - 1]
            return Projection(kind, (kind,))
        numbers = self.places(items)
        lists = [number for number in numbers if number in self._shape.lists]
        named = (*numbers, *lists)
        text = self._description(items).text
        if items == self.whole and self.central is not None:
            text = f"{text} TIMEOUTS of {self.name}"  # nobody else finds it, or reads it
        return Projection(text, tuple(self.kinds[number] for number in named), self._factor(items))

    def _description(self, items: int) -> Described:
        if items not in self._described:
            kinds = dict(zip(self.whole_form.variables, self.kinds, strict=True))
            self._described[items] = describe(self.form(items), kinds)
        return self._described[items]

    def _factor(self, items: int) -> float:
        """Return the matches per second for each product of the rates, those of lists twice."""
        shape = self._shape
        rates = [rate if item in shape.lists else 1.0 for item, rate in enumerate(shape.rates)]
        twice = prod(rates[item] for item in bits(items)) ** 2
        if not twice:
            return 0.0
        return replace(shape, rates=tuple(rates)).rows_per_second(items, shape.window) / twice


def normal_form_queries(
    queries: Sequence[Query], schema: Schema | None, statistics: Statistics
) -> tuple[NormalFormQuery, ...]:
    """Return one projected query for every alternative of every query."""
    context = context_of(schema)
    projected = []
    for query in queries:
        if query.is_trend:
            raise WeftError(f"query {query.name}: trend queries cannot be placed on sites")
        if isinstance(query.window, CountWindow):
            raise WeftError(
                f"query {query.name}: a window that counts events cannot be placed on sites, for no site "
                "knows how many events there are in all; give a window of time"
            )
        forms = expand(query)
        for number, form in enumerate(forms):
            name = query.name if len(forms) == 1 else f"{query.name}#{number + 1}"
            shape = shape_of(form, statistics, context)
            projected.append(NormalFormQuery(name, query, number, form, shape, context))
    return tuple(projected)
