"""Short notations for streams, queries and matches, for tests worked by hand."""

from ast import literal_eval

from tests.helpers.strategies import SCHEMA, event

from weft.language.binder import bind
from weft.language.parser import parse
from weft.pattern.nodes import Conjunction, Disjunction, Event, Negation, Pattern, Query, Sequence, Some
from weft.reference.events import ReferenceEvent


def stream(text: str) -> list[ReferenceEvent]:
    """Read "A 0 x=1; AB 5": types, time in microseconds, attributes; rows count from 0."""
    events = []
    for row, line in enumerate(text.split(";")):
        types, time, *settings = line.split()
        attributes = {name: literal_eval(value) for name, value in (each.split("=") for each in settings)}
        events.append(event(row, types, int(time), tie=attributes.get("rank"), **attributes))
    return events


def query_of(text: str) -> Query:
    (query,) = bind(parse(f"QUERY q PATTERN {text}"), SCHEMA)
    return query


def without_negations(query: Query) -> Query:
    """Return the query with each NOT looking for a type that no event has."""

    def forget(pattern: Pattern) -> Pattern:
        match pattern:
            case Negation():
                return Negation(Event("no such type", "nothing"))
            case (
                Sequence(operands=operands)
                | Conjunction(operands=operands)
                | Disjunction(operands=operands)
                | Some(operands=operands)
            ):
                return type(pattern)(tuple(forget(operand) for operand in operands))
            case _:
                return pattern

    return Query(query.name, forget(query.pattern), query.where, query.window, query.partition_by)
