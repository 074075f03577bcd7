"""What a benchmark reports: a number with its unit and, where there is one, its target."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """One number of one section; `at_most` is the target that it must not exceed."""

    section: str
    what: str
    value: float | str
    unit: str = ""
    at_most: float | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None where there is no target."""
        if self.at_most is None or isinstance(self.value, str):
            return None
        return self.value <= self.at_most

    @property
    def shown(self) -> str:
        """The value as a person reads it.

        >>> Measure("parse", "seconds", 1.2345, "s").shown, Measure("keyed", "matches", 71234).shown
        ('1.23 s', '71,234')
        """
        if isinstance(self.value, str):
            return self.value
        number = (
            f"{self.value:,.0f}"
            if self.value == int(self.value) or self.value >= 1000
            else f"{self.value:.2f}"
        )
        return f"{number} {self.unit}".rstrip()
