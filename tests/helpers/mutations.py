"""Queries that differ from given ones in a single detail, as text."""

import random
import re
from collections.abc import Callable

from tests.helpers.random_queries import OPTIONAL_QUANTIFIERS, QUANTIFIERS
from tests.helpers.strategies import SCHEMA

from weft.errors import QueryError
from weft.language.binder import bind
from weft.language.parser import parse

WINDOWS = ("1 seconds", "2 seconds", "3 seconds", "5 seconds", "1 minute", "3 EVENTS", "5 EVENTS", "9 EVENTS")
SAME_TYPE = (("x", "k"), ("ts", "seen", "time"))
MOST_TRIES = 12

Mutation = Callable[[str, random.Random], str]


def queries_in(text: str) -> list[str]:
    """Return the texts of the queries of a workload."""
    return [f"QUERY {one.strip()}" for one in text.split("QUERY ") if one.strip()]


def renamed(query: str, name: str) -> str:
    """Return a query under another name."""
    return re.sub(r"^QUERY \w+", f"QUERY {name}", query)


def mutated(query: str, name: str, dice: random.Random, *, tie_break: bool) -> str:
    """Return a copy of a query with another name and one detail changed; a plain copy if none can be."""
    for _ in range(MOST_TRIES):
        text = renamed(dice.choice(MUTATIONS)(query, dice), name)
        if text != renamed(query, name) and is_valid(text, tie_break=tie_break):
            return text
    return renamed(query, name)


def is_valid(text: str, *, tie_break: bool) -> bool:
    try:
        bind(parse(text), SCHEMA, source=text, tie_break=tie_break)
    except QueryError:
        return False
    return True


def with_window(query: str, window: str | None) -> str:
    """Return a query with another WITHIN clause, or without one."""
    lines = [line for line in query.splitlines() if not line.startswith("WITHIN ")]
    place = len(lines) - lines[-1].startswith("RETURN ")
    return "\n".join([*lines[:place], *([f"WITHIN {window}"] if window else []), *lines[place:]])


def _one(pattern: str, change: Callable[[str, random.Random], str], *, clause: str) -> Mutation:
    """Return a mutation that changes one place that matches, within one clause."""

    def mutate(query: str, dice: random.Random) -> str:
        lines = query.splitlines()
        places = [
            (number, found.span())
            for number, line in enumerate(lines)
            if line.startswith(clause)
            for found in re.finditer(pattern, line)
        ]
        if not places:
            return query
        number, (start, stop) = dice.choice(places)
        line = lines[number]
        lines[number] = line[:start] + change(line[start:stop], dice) + line[stop:]
        return "\n".join(lines)

    return mutate


def _other(*options: str) -> Callable[[str, random.Random], str]:
    return lambda found, dice: dice.choice([option for option in options if option != found])


def _attribute(found: str, dice: random.Random) -> str:
    names = next(names for names in SAME_TYPE if found[1:] in names)
    return "." + dice.choice([name for name in names if name != found[1:]])


def _swap_operands(query: str, dice: random.Random) -> str:
    """Return a query in which two operands of one operator have changed places; a NOT may be one."""
    lines = query.splitlines()
    starts = [found.end() for found in re.finditer(r"(SEQ|AND|OR)\(", lines[1])]
    if not starts:
        return query
    operands, start, stop = _operands(lines[1], dice.choice(starts))
    one, other = dice.sample(range(len(operands)), 2)
    operands[one], operands[other] = operands[other], operands[one]
    lines[1] = lines[1][:start] + ", ".join(operands) + lines[1][stop:]
    return "\n".join(lines)


def _drop_operand(query: str, dice: random.Random) -> str:
    lines = query.splitlines()
    starts = [found.end() for found in re.finditer(r"(SEQ|AND|OR)\(", lines[1])]
    if not starts:
        return query
    operands, start, stop = _operands(lines[1], dice.choice(starts))
    del operands[dice.randrange(len(operands))]
    lines[1] = lines[1][:start] + ", ".join(operands) + lines[1][stop:]
    return "\n".join(lines)


def _operands(line: str, start: int) -> tuple[list[str], int, int]:
    """Return the operands between parentheses, and where they begin and end."""
    depth, stop, cuts = 0, start, [start]
    while depth >= 0:
        character = line[stop]
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            cuts.append(stop + 1)
        stop += 1
    ends = [*(cut - 1 for cut in cuts[1:]), stop - 1]
    return [line[a:b].strip() for a, b in zip(cuts, ends, strict=True)], start, stop - 1


def _add_not(query: str, dice: random.Random) -> str:
    """Return a query with one more event that must not come."""
    lines = query.splitlines()
    starts = [found.end() for found in re.finditer(r"(SEQ|AND)\(", lines[1])]
    if not starts:
        return query
    operands, start, stop = _operands(lines[1], dice.choice(starts))
    operands.insert(dice.randint(0, len(operands)), f"NOT {dice.choice('ABCD')} extra")
    lines[1] = lines[1][:start] + ", ".join(operands) + lines[1][stop:]
    return "\n".join(lines)


def _window(query: str, dice: random.Random) -> str:
    return with_window(query, dice.choice([None, *WINDOWS]))


MUTATIONS: tuple[Mutation, ...] = (
    _one(r"(SEQ|AND|OR)(?=\()", _other("SEQ", "AND", "OR"), clause="PATTERN"),
    _one(r"\b[A-D](?=[ +*?{])", _other(*"ABCD"), clause="PATTERN"),
    _one(r"(?<=[A-D])(\+|\*|\?|\{[\d,]+\})", _other(*QUANTIFIERS, *OPTIONAL_QUANTIFIERS), clause="PATTERN"),
    _one(r"(?<= )(<=|>=|!=|<|>|=)(?= )", _other("<=", ">=", "!=", "<", ">", "="), clause="WHERE"),
    _one(r"(?<= )\d(?= |\)|$)", _other("0", "1", "2", "3"), clause="WHERE"),
    _one(r"'(ann|bob)'", _other("'ann'", "'bob'"), clause="WHERE"),
    _one(r"\.(x|k|ts|seen|time)\b", _attribute, clause="WHERE"),
    _one(r"\[(k|name|y)\]", _other("[k]", "[name]", "[y]"), clause="WHERE"),
    _one(r"(?<=BY ).*", _other("k", "name", "k, name"), clause="PARTITION BY"),
    _one(r"\bNOT (?=[A-Z])", lambda found, dice: "", clause="PATTERN"),
    _swap_operands,
    _swap_operands,
    _drop_operand,
    _add_not,
    _window,
)
