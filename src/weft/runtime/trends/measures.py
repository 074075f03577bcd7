"""What is carried along with the number of trends: sums, as lanes of naturals, and extremes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from weft.codec import stored
from weft.plan.template import Automaton, Template
from weft.runtime.columns.events import Array, Column, comparable
from weft.runtime.trends.selection import Selection
from weft.runtime.trends.values import Naturals, Parts, indicators, parts_of, squares_of
from weft.schema import LONG

Part = Literal["one", "valid", "positive", "negative", "nan", "infinite", "minus_infinite", "square"]

SPECIAL: dict[Part, Callable[[Array], Array]] = {  # doubles that are no numbers, counted by kind
    "nan": np.isnan,
    "infinite": np.isposinf,
    "minus_infinite": np.isneginf,
}


@stored
class Lane:
    """A sum over the events of a variable: of ones, of ones where a value counts, of parts of a value."""

    variable: str
    name: str | None
    part: Part


@dataclass(frozen=True, slots=True)
class Extreme:
    """The smallest or largest value of the events of a variable."""

    variable: str
    name: str
    is_largest: bool


@dataclass(frozen=True, slots=True)
class Measures:
    """The lanes and extremes of one template."""

    lanes: tuple[Lane, ...]
    extremes: tuple[Extreme, ...]


def extremes_of(template: Template) -> tuple[Extreme, ...]:
    """Return the smallest and largest values that the columns of a template need."""
    return tuple(
        dict.fromkeys(
            Extreme(column.variable, column.name, column.function == "max")
            for column in template.measured
            if column.function in ("min", "max") and column.variable is not None and column.name is not None
        )
    )


@dataclass
class Values:
    """The values of the selected events, each column once for all templates."""

    selection: Selection
    columns: dict[tuple[str | None, Part], Naturals] = field(default_factory=dict)
    parts: dict[str, Parts] = field(default_factory=dict)
    extremes: dict[tuple[str, bool], Column] = field(default_factory=dict)

    def measures(self, template: Template) -> Measures:
        """Return what the columns of a template need, and see to its values."""
        lanes: dict[Lane, None] = {}
        for column in template.measured:
            variable, name = column.variable, column.name
            if column.function is None or variable is None or column.function == "distinct":
                continue
            if name is None:
                lanes[self._lane(variable, None, "one")] = None
            elif column.function == "count":
                lanes[self._lane(variable, name, "valid")] = None
            elif column.function not in ("min", "max"):
                lanes |= {self._lane(variable, name, part): None for part in self._parts_in_use(name)}
                if column.function == "stddev":
                    lanes[self._lane(variable, name, "square")] = None
        extremes = extremes_of(template)
        for extreme in extremes:
            self._note(extreme)
        return Measures(tuple(lanes), extremes)

    def _lane(self, variable: str, name: str | None, part: Part) -> Lane:
        if (name, part) not in self.columns:
            self.columns[name, part] = self._naturals(name, part)
        return Lane(variable, name, part)

    def _naturals(self, name: str | None, part: Part) -> Naturals:
        if name is None:
            return indicators(np.ones(self.selection.n_rows, np.bool_))
        column = self.selection.column(name)
        if part == "valid":
            return indicators(column.validity)
        if part in SPECIAL:
            return indicators(column.validity & SPECIAL[part](column.values))
        if part == "square":
            return squares_of(column)
        parts = self._parts(name)
        if part == "negative" and parts.negative is not None:
            return parts.negative
        return parts.positive

    def _parts_in_use(self, name: str) -> Iterator[Part]:
        """Yield the parts that add up to the values of an attribute."""
        yield "valid"
        yield "positive"
        if self._parts(name).negative is not None:
            yield "negative"
        column = self.selection.column(name)
        if column.type.kind == "double":
            yield from (
                part for part, is_it in SPECIAL.items() if is_it(column.values[column.validity]).any()
            )

    def _parts(self, name: str) -> Parts:
        if name not in self.parts:
            self.parts[name] = parts_of(self.selection.column(name))
        return self.parts[name]

    def _note(self, extreme: Extreme) -> None:
        name, is_largest = extreme.name, extreme.is_largest
        if (name, is_largest) not in self.extremes:
            column = self.selection.column(name)
            keys = comparable(column, self.selection.events.strings, ordered=True)
            smallest = ~keys if is_largest else keys  # the kernels know smallest values only
            self.extremes[name, is_largest] = Column(LONG, smallest, column.valid)

    @property
    def exponents(self) -> dict[str, int]:
        """The exponent of the naturals of each attribute that is summed."""
        return {name: parts.exponent for name, parts in self.parts.items()}

    @property
    def bits(self) -> int:
        """How many bits the longest value has at most."""
        return 32 * max((values.limbs.shape[1] for values in self.columns.values()), default=0)

    def limbs(self) -> tuple[Array, Array]:
        """Return the limbs of all columns and how many are in use."""
        shape = (len(self.columns), self.selection.n_rows)
        limbs = np.zeros((*shape, max(self.bits // 32, 1)), np.uint32)
        for number, values in enumerate(self.columns.values()):
            limbs[number, :, : values.limbs.shape[1]] = values.limbs
        lengths = np.array([values.lengths for values in self.columns.values()], np.int64)
        return limbs, lengths.reshape(shape)

    def smallest(self) -> tuple[Array, Array]:
        """Return the values of all extremes, and where there are any."""
        shape = (len(self.extremes), self.selection.n_rows)
        values = np.array([column.values for column in self.extremes.values()], np.int64)
        valid = np.array([column.validity for column in self.extremes.values()], np.bool_)
        return values.reshape(shape), valid.reshape(shape)

    def lane_columns(self, measures: Measures) -> list[int]:
        """Return the number of the column of each lane."""
        order = list(self.columns)
        return [order.index((lane.name, lane.part)) for lane in measures.lanes]

    def extreme_columns(self, measures: Measures) -> list[int]:
        """Return the number of the column of each extreme."""
        order = list(self.extremes)
        return [order.index((extreme.name, extreme.is_largest)) for extreme in measures.extremes]


def variable_bits(measured: Sequence[Lane] | Sequence[Extreme], automaton: Automaton) -> list[int]:
    """Return for each lane or extreme the positions at which its variable is bound, as bits."""
    return [
        sum(1 << place for place, position in enumerate(automaton.positions) if position.variable == variable)
        for variable in (measure.variable for measure in measured)
    ]
