"""Query text drawn at random, of every operator and every kind of predicate the language has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

Item = TypeVar("Item")

TYPES = ("A", "B", "C", "D")
MOST_BITS = 14.0  # two to this many bindings are tried in one query, at most

ATTRIBUTES = {
    "long": ("x", "k"),
    "double": ("y",),
    "boolean": ("flag",),
    "string": ("name",),
    "decimal": ("amount",),
    "timestamp": ("ts", "seen", "time"),
    "date": ("day",),
    "duration": ("took",),
}
LITERALS = {
    "long": ("1", "2", "0", "3", "-1", "4611686018427387904"),
    "double": ("0.5", "1.5", "0.0", "-0.0", "1e0", "2"),
    "boolean": ("TRUE", "FALSE"),
    "string": ("'ann'", "'bob'", "'a%b'", "''", "'zoé'"),
    "decimal": ("1.25", "0.5", "1", "0.00", "-1", "0.125", "1.250"),
    "timestamp": (
        "TIMESTAMP '1970-01-01 00:00:02'",
        "TIMESTAMP '1970-01-02'",
        "'1970-01-01T00:00:01Z'",
        "'1970-01-01T01:00:03+01:00'",
    ),
    "date": ("DATE '1970-01-01'", "DATE '1970-01-02'", "'1970-01-02'"),
    "duration": ("1 seconds", "2 seconds", "500 milliseconds", "0 seconds"),
}
PAIRS = (  # the types a comparison may have on its two sides
    ("long", "long"),
    ("string", "string"),
    ("double", "double"),
    ("decimal", "decimal"),
    ("timestamp", "timestamp"),
    ("duration", "duration"),
    ("boolean", "boolean"),
    ("date", "date"),
    ("long", "double"),
    ("decimal", "long"),
    ("decimal", "double"),
    ("date", "timestamp"),
)
QUANTIFIERS = ("+", "+", "{2}", "{1,2}", "{2,}", "{1,3}", "{2,3}")
OPTIONAL_QUANTIFIERS = ("?", "*", "{0,2}")
LIKE_PATTERNS = ("'a%'", "'%b%'", "'_nn'", "'a\\%b'", "'%'", "'bob'", "'%é'")


class Dice(Protocol):
    """A source of choices; the first option and the smallest number are the simplest."""

    def integer(self, low: int, high: int) -> int: ...

    def pick(self, options: Sequence[Item]) -> Item: ...

    def chance(self, percent: int) -> bool: ...

    def group(self, make: Callable[[Dice], Item]) -> Item:
        """Return what `make` makes of choices that belong together: all of them stay or all go."""
        ...


@dataclass(frozen=True)
class Place:
    """A place in the pattern: the NOTs around it, by number, and the branches of ORs it lies in."""

    negations: tuple[int, ...] = ()
    branches: tuple[tuple[int, int], ...] = ()

    def may_meet(self, other: Place) -> bool:
        """Say whether one conjunct may mention variables of both: no two branches of one OR."""
        taken = dict(self.branches)
        return all(taken.get(number, branch) == branch for number, branch in other.branches)


@dataclass(frozen=True)
class Variable:
    """A variable of the pattern."""

    name: str
    is_list: bool
    place: Place


@dataclass
class QueryWriter:
    """Writes one query; `counts` says how many events of each type the stream has."""

    dice: Dice
    counts: Mapping[str, int]
    variables: list[Variable] = field(default_factory=list)
    bits: float = 0.0  # log2 of the bindings that have to be tried
    negations: int = 0
    disjunctions: int = 0
    is_returning: bool = False
    with_policies: bool = False  # whether queries say which matches count

    def another(self) -> QueryWriter:
        """Return a writer of the same kind that has written nothing."""
        return type(self)(self.dice, self.counts, with_policies=self.with_policies)

    def query(self, name: str) -> str:
        """Return the text of a query."""
        dice = self.dice
        pattern = self.pattern()
        lines = [f"QUERY {name}", f"PATTERN {pattern}"]
        conjuncts = self.several(self.conjunct, percent=55, most=3)
        if dice.chance(20):
            conjuncts.append(dice.pick(("[k]", "[name]", "[k, name]", "[y]", "[amount]", "[flag]")))
        if conjuncts:
            lines.append("WHERE " + " AND ".join(conjuncts))
        if dice.chance(20):
            lines.append("PARTITION BY " + dice.pick(("k", "name", "k, name", "y")))
        window = self.window()
        if window:
            lines.append(f"WITHIN {window}")
        policies = self.policies(pattern, window) if self.with_policies else []
        lines += policies
        columns = self.several(self.returned, percent=50, most=4)
        if any(line.startswith("SUPPRESS") for line in policies) and dice.chance(50):
            columns.append("SUPPRESSED()")
        if columns:
            lines.append("RETURN " + ", ".join(f"{text} AS c{index}" for index, text in enumerate(columns)))
        return "\n".join(lines)

    def several(self, write: Callable[[], str], *, percent: int, most: int) -> list[str]:
        """Write something up to `most` times, each time with a chance."""
        texts: list[str] = []
        while len(texts) < most and (text := self.dice.group(lambda dice: dice.chance(percent) and write())):
            texts.append(text)
        return texts

    def window(self) -> str | None:
        """Return a window: by time, by count, or none."""
        dice = self.dice
        kind = dice.pick(("time", "time", "time", "count", "none"))
        if kind == "time":
            return dice.pick(
                ("2 seconds", "3 seconds", "4 seconds", "5 seconds", "1500 milliseconds", "1 minute")
            )
        return f"{dice.integer(2, 12)} EVENTS" if kind == "count" else None

    def policies(self, pattern: str, window: str | None) -> list[str]:
        """Return clauses that say which matches count, as far as they have a meaning for the pattern."""
        dice = self.dice
        lines = []
        if dice.chance(40):
            lines.append("STRATEGY " + dice.pick(("NEXT", "NEXT", "STRICT", "ANY")))
        if dice.chance(40):
            skip = dice.pick(("PAST LAST", "TO NEXT", "NONE"))
            lines.append(f"AFTER MATCH SKIP {skip}")
            if skip != "NONE" and dice.chance(40):
                lines.append("PREFER LONGEST")
        if dice.chance(30):
            lines.append(self.suppress(pattern))
        if dice.chance(70) and self.may_time_out(pattern, window):
            lines.append("TIMEOUTS")
        return lines

    def suppress(self, pattern: str) -> str:
        """Return a quiet time, perhaps for each value of attributes of events that every match binds."""
        dice = self.dice
        length = dice.pick(("2 seconds", "1 seconds", "3500 milliseconds", "1 minute"))
        single = [each for each in self.variables if not each.is_list and each.place == Place()]
        if "SOME(" in pattern or not single or not dice.chance(70):
            return f"SUPPRESS {length}"
        kinds = ("string", "long", "boolean", "decimal", "date")
        per = (
            f"{dice.pick(single).name}.{dice.pick(ATTRIBUTES[dice.pick(kinds)])}"
            for _ in range(dice.integer(1, 2))
        )
        return f"SUPPRESS {length} PER {', '.join(per)}"

    def may_time_out(self, pattern: str, window: str | None) -> bool:
        """Say whether the pattern is a SEQ of events and lists that begins with an event, in a time."""
        positive = [each for each in self.variables if not each.place.negations]
        is_sequence = pattern.startswith("SEQ(") and not re.search(r"(?<!NOT )(AND|OR|SOME)\(", pattern)
        has_time = window is not None and not window.endswith("EVENTS")
        return is_sequence and has_time and len(positive) > 1 and not positive[0].is_list

    # Patterns.

    def pattern(self) -> str:
        """Return a pattern of at most five positive items and three levels."""
        budget = self.dice.pick((2, 1, 2, 2, 3, 3, 4, 5))
        return self.operand(depth=3, budget=budget, place=Place(), is_certain=self.dice.chance(95))

    def operand(self, *, depth: int, budget: int, place: Place, is_certain: bool) -> str:
        """Return a pattern with at least one positive item; a certain one cannot be empty."""
        operator = self.dice.pick(("SEQ", "SEQ", "SEQ", "AND", "AND", "OR", "OR", "SOME"))
        if depth == 0 or budget == 1:
            if depth < 2 or operator != "AND":
                return self.item(place=place, is_certain=is_certain)
            operator = "SEQ"  # an event with its negations
        return self.operator(operator, depth=depth, budget=budget, place=place, is_certain=is_certain)

    def operator(self, name: str, *, depth: int, budget: int, place: Place, is_certain: bool) -> str:
        """Return an operator over positive operands, with negations among them."""
        dice = self.dice
        number = min(budget, dice.pick((2, 2, 3)))
        shares = [budget // number + (index < budget % number) for index in range(number)]
        anchor = dice.integer(0, number - 1)
        places = [place] * number if name != "OR" else self.branches(place, number)
        operands = [
            self.operand(
                depth=depth - 1,
                budget=share,
                place=places[index],
                is_certain=is_certain and (name in ("OR", "SOME") or index == anchor),
            )
            for index, share in enumerate(shares)
        ]
        if name in ("SEQ", "AND"):
            for _ in range(dice.pick((0, 0, 0, 1, 1, 2)) if number > 1 else 1):
                operands.insert(dice.integer(0, len(operands)), self.negative(depth=depth, place=place))
        return f"{name}({', '.join(operands)})"

    def branches(self, place: Place, number: int) -> list[Place]:
        """Return the places of the operands of an OR."""
        self.disjunctions += 1
        return [
            Place(place.negations, (*place.branches, (self.disjunctions, index))) for index in range(number)
        ]

    def item(self, *, place: Place, is_certain: bool) -> str:
        """Return one event or a list of events of a type."""
        dice = self.dice
        type_name = dice.pick((*TYPES, *TYPES[:3], *TYPES[:2]))
        if not self.counts[type_name] and dice.chance(80):
            type_name = max(TYPES, key=self.counts.__getitem__)
        quantifier = ""
        if dice.chance(35):
            quantifier = dice.pick(QUANTIFIERS if is_certain else QUANTIFIERS + OPTIONAL_QUANTIFIERS)
        if self.bits + self.bits_of(type_name, quantifier) > MOST_BITS:
            type_name, quantifier = min(TYPES, key=self.counts.__getitem__), ""
        self.bits += self.bits_of(type_name, quantifier)
        name = f"{type_name.lower()}{len(self.variables)}"
        self.variables.append(Variable(name, bool(quantifier), place))
        brackets = dice.pick(("[]", "")) if quantifier else ""
        return f"{type_name}{quantifier} {name}{brackets}"

    def bits_of(self, type_name: str, quantifier: str) -> float:
        """Return log2 of the ways to bind an item."""
        count = self.counts[type_name]
        return math.log2(count + 1) if quantifier in ("", "?") else float(count)

    def negative(self, *, depth: int, place: Place) -> str:
        """Return a negation of one event, of a list or of a composite pattern."""
        kind = self.dice.pick(("event", "event", "event", "composite", "either"))
        if kind == "either" and not place.negations:
            operator = self.dice.pick(("OR", "OR", "SOME"))
            places = [place] * 2 if operator == "SOME" else self.branches(place, 2)
            one, other = map(self.negated_item, places)
            return f"{operator}({one}, {other})"
        if kind == "event" or depth < 2 or place.negations:  # small inside another NOT
            return self.negated_item(place)
        operator = self.dice.pick(("SEQ", "AND", "OR", "SOME"))
        inner = self.operator(operator, depth=1, budget=2, place=self.negated(place), is_certain=True)
        return f"NOT {inner}"

    def negated_item(self, place: Place) -> str:
        return f"NOT {self.item(place=self.negated(place), is_certain=self.dice.chance(90))}"

    def negated(self, place: Place) -> Place:
        """Return the place inside a NOT at a place."""
        self.negations += 1
        return Place((*place.negations, self.negations), place.branches)

    # Predicates and RETURN columns.

    def conjunct(self) -> str:
        """Return a predicate over positive variables, or over those and the variables of one NOT."""
        dice = self.dice
        if dice.chance(4):
            return dice.pick(("1 = 1", "2 > 1.5", "'a' < 'b'", "1 = 2"))
        is_negative = self.negations > 0 and dice.chance(40)
        first = dice.pick([each for each in self.variables if bool(each.place.negations) == is_negative])
        others = [
            other
            for other in self.variables
            if other.place.may_meet(first.place)
            and other.place.negations == first.place.negations[: len(other.place.negations)]
        ]
        chosen = [first, *([dice.pick(others)] if dice.chance(60) else [])]
        return f"({text})" if " OR " in (text := self.condition(chosen, depth=2)) else text

    def condition(self, variables: Sequence[Variable], *, depth: int) -> str:
        """Return a condition that mentions the first of the variables, and perhaps the others."""
        dice = self.dice
        form = dice.pick(("simple", "simple", "simple", "simple", "OR", "NOT", "AND")) if depth else "simple"
        if form == "simple":
            return self.simple_condition(variables)
        parts = [self.condition(variables, depth=depth - 1) for _ in range(2)]
        if form == "NOT":
            return f"NOT ({parts[0]})"
        return f"({parts[0]}) {form} ({parts[1]})"

    def simple_condition(self, variables: Sequence[Variable]) -> str:
        """Return a condition without AND, OR and NOT on top."""
        dice = self.dice
        lists = [variable for variable in variables if variable.is_list]
        if lists and not self.is_returning and dice.chance(35):
            return self.pair_condition(lists[0], variables)
        form = dice.pick(("compare", "compare", "compare", "between", "in", "null", "like", "flag"))
        if form == "like":
            maybe_not = dice.pick(("", "NOT "))
            return f"{self.reference('string', variables[:1])} {maybe_not}LIKE {dice.pick(LIKE_PATTERNS)}"
        if form == "flag":
            return self.reference("boolean", variables[:1])
        if form == "null":
            kind = dice.pick(tuple(ATTRIBUTES))
            return f"{self.reference(kind, variables[:1])} IS {dice.pick(('', 'NOT '))}NULL"
        if form == "in":
            kind = dice.pick(("long", "string", "decimal", "date", "double", "timestamp", "duration"))
            values = ", ".join(dice.pick(LITERALS[kind]) for _ in range(dice.integer(1, 3)))
            return f"{self.value(kind, variables[:1])} {dice.pick(('', 'NOT '))}IN ({values})"
        if form == "between":
            kind = dice.pick(("long", "decimal", "timestamp", "double", "string"))
            bounds = [self.value(kind, variables[1:]) for _ in range(2)]
            maybe_not = dice.pick(("", "NOT "))
            return f"{self.value(kind, variables[:1])} {maybe_not}BETWEEN {bounds[0]} AND {bounds[1]}"
        return self.comparison(variables)

    def comparison(self, variables: Sequence[Variable]) -> str:
        """Return a comparison of the first variable with another or with a constant."""
        dice = self.dice
        left, right = dice.pick(PAIRS)
        if dice.chance(30):
            left, right = right, left
        signs = ("=", "!=") if left == "boolean" else ("<", "=", ">", "<=", ">=", "!=")
        return f"{self.value(left, variables[:1])} {dice.pick(signs)} {self.value(right, variables[1:])}"

    def pair_condition(self, variable: Variable, variables: Sequence[Variable]) -> str:
        """Return a condition on consecutive elements of a list."""
        dice = self.dice
        kind = dice.pick(("long", "double", "timestamp", "decimal", "string", "duration"))
        name = dice.pick(ATTRIBUTES[kind])
        now, before = f"{variable.name}[i].{name}", f"{variable.name}[i-1].{name}"
        others = [other for other in variables if other != variable]
        if others and kind in ("long", "double", "decimal", "duration") and dice.chance(40):
            before = f"{before} + {self.reference(kind, others)}"
        return f"{now} {dice.pick(('>', '<', '>=', '!=', '='))} {before}"

    def value(self, kind: str, variables: Sequence[Variable]) -> str:
        """Return an expression of a type: over the variables, or a constant when there are none."""
        dice = self.dice
        if not variables:
            return dice.pick(LITERALS[kind])
        one = self.reference(kind, variables)
        if not dice.chance(30):
            return one
        number = dice.pick(LITERALS[kind])
        match kind:
            case "long":
                forms = (
                    f"{one} + {number}",
                    f"{one} - {number}",
                    f"{one} * 2",
                    f"{one} % 2",
                    f"-{one}",
                    f"ABS({one})",
                )
            case "double":
                other = self.reference("long", variables)
                forms = (
                    f"{one} / 2",
                    f"{one} + {other}",
                    f"{one} * {number}",
                    f"{other} / {one}",
                    f"{one} % 1.0",
                    f"-{one}",
                )
            case "decimal":
                forms = (f"{one} + {number}", f"{one} - {one}", f"{one} * {one}", f"-{one}", f"ABS({one})")
            case "timestamp":
                forms = (f"{one} + 1 seconds", f"{one} - {self.reference('duration', variables)}")
            case "duration":
                moment = self.reference("timestamp", variables)
                forms = (
                    f"{one} + 1 seconds",
                    f"{moment} - {moment}",
                    f"ABS({one})",
                    f"-{one}",
                    f"{one} - {one}",
                )
            case _:
                forms = (one,)
        return dice.pick(forms)

    def reference(self, kind: str, variables: Sequence[Variable]) -> str:
        """Return an attribute or an aggregate of a type, of one of the variables."""
        dice = self.dice
        variable = dice.pick(variables)
        name, attribute = variable.name, dice.pick(ATTRIBUTES[kind])
        must_be_whole = variable.is_list and self.is_returning  # RETURN shows no single element
        if not must_be_whole and not dice.chance(50 if variable.is_list else 12):
            index = dice.pick(("", "[i]")) if variable.is_list else ""
            return f"{name}{index}.{attribute}"
        ends = [f"FIRST({name}).{attribute}", f"LAST({name}.{attribute})", f"LAST({name}).{attribute}"]
        return dice.pick([*ends, *self.aggregates(kind, name, attribute)])

    def aggregates(self, kind: str, name: str, attribute: str) -> list[str]:
        """Return the aggregates of a type."""
        found = [] if kind == "boolean" else [f"MIN({name}.{attribute})", f"MAX({name}.{attribute})"]
        if kind in ("long", "double", "decimal", "duration"):
            found.append(f"SUM({name}.{attribute})")
        if kind == "long":
            found += [f"COUNT({name})", f"COUNT({name}.x)", f"COUNT({name})"]
        if kind == "double":
            found += [f"AVG({name}.{of})" for of in ("x", "y", "amount")]
        return found

    def returned(self) -> str:
        """Return an expression for a RETURN column."""
        dice = self.dice
        first = dice.pick(positive := [each for each in self.variables if not each.place.negations])
        variables = [first, dice.pick([each for each in positive if each.place.may_meet(first.place)])]
        self.is_returning = True
        if dice.chance(20):
            return self.simple_condition(variables)
        return self.value(dice.pick(tuple(ATTRIBUTES)), variables)


class SomeWriter(QueryWriter):
    """Writes queries that are SOME of many events, several of one type."""

    def pattern(self) -> str:
        """Return SOME of four to seven events, now and then with SOME in it."""
        dice = self.dice
        operands = [self.event() for _ in range(dice.pick((4, 4, 4, 5, 5, 6, 7)))]
        if dice.chance(20) and len(operands) > 2:
            operands = [operands[0], f"SOME({', '.join(operands[1:])})"]
        return f"SOME({', '.join(operands)})"

    def event(self) -> str:
        """Return one event."""
        type_name = self.dice.pick((*TYPES, *TYPES[:2]))
        if self.bits + self.bits_of(type_name, "") > MOST_BITS:
            type_name = min(TYPES, key=self.counts.__getitem__)
        self.bits += self.bits_of(type_name, "")
        name = f"{type_name.lower()}{len(self.variables)}"
        self.variables.append(Variable(name, False, Place()))
        return f"{type_name} {name}"
