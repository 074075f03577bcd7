"""Queries that want the next event that fits, and one match at a time: by clauses, and as chains of NOT."""

from collections.abc import Callable
from dataclasses import replace

from logins import FAILURE, LOGIN
from workloads import SequenceQuery, Workload

NEXT = "STRATEGY NEXT"
ONE_BY_ONE = f"{NEXT} AFTER MATCH SKIP PAST LAST"
ONE_BY_ONE_FROM_FIRST = f"{ONE_BY_ONE} PREFER LONGEST"


def with_clauses(workload: Workload, clauses: str) -> Workload:
    """Return the sequences of a workload with clauses that say which matches count."""
    return _with_texts(workload, lambda query: f"{query.text}\n{clauses}")


def as_chains(workload: Workload) -> Workload:
    """Return the sequences of a workload such that they find what NEXT keeps, without saying it."""
    return _with_texts(workload, chain)


def _with_texts(workload: Workload, text: Callable[[SequenceQuery], str]) -> Workload:
    return replace(workload, text="\n\n".join(map(text, workload.sequences)))


def chain(query: SequenceQuery) -> str:
    """Return a sequence with an event forbidden before each but the first: one that would fit as well.

    >>> from workloads import PriceStep
    >>> print(chain(SequenceQuery("q", ("A", "B"), (PriceStep("<", 0.9),), 50)))
    QUERY q
    PATTERN SEQ(A a, NOT B not_b, B b)
    WHERE b.price < a.price * 0.9 AND not_b.price < a.price * 0.9
    WITHIN 50 milliseconds
    """
    events, conditions = [f"{query.types[0]} a"], []
    for kind, earlier, later, step in zip(
        query.types[1:], query.variables, query.variables[1:], query.steps, strict=False
    ):
        events += [f"NOT {kind} not_{later}", f"{kind} {later}"]
        conditions += [
            f"{one}.price {step.operator} {earlier}.price * {step.factor}" for one in (later, f"not_{later}")
        ]
    return (
        f"QUERY {query.name}\nPATTERN SEQ({', '.join(events)})\n"
        f"WHERE {' AND '.join(conditions)}\nWITHIN {query.window} milliseconds"
    )


def login_workload(window: str, clauses: str = ONE_BY_ONE) -> Workload:
    """Return the query for five failures or more of a user, and a login."""
    text = (
        f"QUERY login\nPATTERN SEQ({FAILURE}{{5,}} f[], {LOGIN} l)\nWHERE [key]\nWITHIN {window}\n{clauses}"
    )
    return Workload("login", text, (FAILURE, LOGIN), ("key",), key="key")


def letters_workload(clauses: str = ONE_BY_ONE) -> Workload:
    """Return the query for three types one after the other, of which all events are in one window."""
    text = f"QUERY letters\nPATTERN SEQ(A a, B b, C c)\nWITHIN 1 day\n{clauses}"
    return Workload("letters", text, ("A", "B", "C"), ())
