"""What a benchmark reports: a number with its unit and, where there is one, its target."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """One number of one section; a target says what it must not exceed, or must reach."""

    section: str
    what: str
    value: float | str
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None where there is no target.

        >>> Measure("weave100", "gain", 23.0, at_least=20).is_met
        True
        >>> Measure("parse", "seconds", 3.0, "s", at_most=2).is_met
        False
        """
        if isinstance(self.value, str) or (self.at_most is None and self.at_least is None):
            return None
        is_low_enough = self.at_most is None or self.value <= self.at_most
        return is_low_enough and (self.at_least is None or self.value >= self.at_least)

    @property
    def target(self) -> str:
        """The target as a person reads it.

        >>> Measure("parse", "seconds", 3.0, "s", at_most=2).target
        '≤ 2 s'
        """
        bounds = (("≥", self.at_least), ("≤", self.at_most))
        return ", ".join(
            f"{sign} {bound:g} {self.unit}".rstrip() for sign, bound in bounds if bound is not None
        )

    @property
    def shown(self) -> str:
        """The value as a person reads it.

        >>> Measure("parse", "seconds", 1.2345, "s").shown, Measure("keyed", "matches", 71234).shown
        ('1.23 s', '71,234')
        >>> Measure("graph", "add one", 0.00123, "s").shown
        '0.0012 s'
        """
        return (
            self.value if isinstance(self.value, str) else f"{number_text(self.value)} {self.unit}".rstrip()
        )


def number_text(value: float) -> str:
    """Return a number with as many digits as are worth reading."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"
