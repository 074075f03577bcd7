"""Short notations for streams, queries and matches, for tests worked by hand."""

from ast import literal_eval

from tests.helpers.strategies import SCHEMA, event

from weft.language.binder import bind
from weft.language.parser import parse
from weft.pattern.nodes import Conjunction, Disjunction, Event, Negation, Pattern, Query, Sequence, Some
from weft.testing.events import ReferenceEvent
from weft.testing.matcher import find_matches, returned
from weft.testing.values import Value


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


def found(text: str, events: str, *, tie_break: bool = False) -> set[str]:
    """Return the matches as texts such as "a=0 l=1,2": variables with their rows."""
    return {
        " ".join(f"{variable}={','.join(map(str, rows))}" for variable, rows in sorted(match.bindings))
        for match in find_matches(query_of(text), stream(events), tie_break=tie_break)
    }


def values(text: str, events: str) -> list[dict[str, Value]]:
    """Return the RETURN columns of each match."""
    query, given = query_of(text), stream(events)
    return [returned(query, match, given) for match in find_matches(query, given)]


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
