"""Which attributes of events travel with the matches that sites send."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from weft.expressions import Aggregate, Attribute, Expression
from weft.pattern.normal_form import NormalForm
from weft.placement.normal_form_query import NormalFormQuery
from weft.schema import Schema
from weft.tree import find


def attributes_by_type(queries: Sequence[NormalFormQuery], schema: Schema) -> dict[str, tuple[str, ...]]:
    """Return, for every type that the queries look at, the attributes of which they speak.

    An event may be sent for several queries, and is the same for all; so they are those of all queries.
    """
    found: dict[str, set[str]] = {}
    for query in queries:
        returned = [column.expression for column in query.query.returns]
        for name, attribute in _mentioned(query.whole_form, {}, (), returned):
            own = found.setdefault(name, set())
            if attribute is not None:
                own.add(attribute)
    if schema.types_overlap:  # an event of one type is one of another too
        every = set[str]().union(*found.values())
        found = dict.fromkeys(found, every)
    return {name: tuple(sorted(attributes)) for name, attributes in found.items()}


def _mentioned(
    form: NormalForm, outer: Mapping[str, str], keys: tuple[str, ...], expressions: Iterable[Expression]
) -> Iterator[tuple[str, str | None]]:
    """Yield the types of a form, and each with the attributes that are mentioned of it.

    `outer` are the types of the variables around a negated form, `keys` the attributes on which it agrees.
    """
    types = {**outer, **{item.variable: item.type for item in form.items}}
    for item in form.items:
        yield item.type, None
        yield from ((item.type, key) for key in (*keys, *form.keys))
    for expression in (*form.predicates, *expressions):
        named = [(node.variable, node.name) for node in find(expression, Attribute)]
        named += [(node.variable, node.name) for node in find(expression, Aggregate) if node.name]
        yield from ((types[variable], name) for variable, name in named if variable in types)
    for negation in form.negations:
        yield from _mentioned(negation.form, types, (*keys, *form.keys), negation.predicates)
