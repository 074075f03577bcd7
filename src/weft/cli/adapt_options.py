"""The options that say when a stream plans anew while the data drifts."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from weft.adaptation.settings import Adaptation, Decider
from weft.cli.groups import option
from weft.errors import WeftError

PREFIX = "adapt_"


@dataclass(frozen=True, kw_only=True)
class AdaptOptions:
    """When a stream plans anew, and takes the new plan; what is not given is as in weft.Adaptation."""

    adapt: Decider | None = option(
        "When to plan anew while the data drifts: when a condition behind the plan is violated (invariants, "
        "the default, but not with --site), when a statistic has changed by half (threshold), in every step "
        "(unconditional), or never (off). The matches are the same.",
        default=None,
    )
    adapt_k: str | None = option(
        "Of invariants: how many conditions of each part of the plan are watched.",
        metavar="N|all",
        default=None,
    )
    adapt_selection: Literal["tightest", "violation-probability"] | None = option(
        "Of invariants: which conditions are watched, the tightest or those likeliest to be violated.",
        default=None,
    )
    adapt_distance: str | None = option(
        "Of invariants: beyond which share of the cost a violation counts; average: that of all conditions; "
        "tuned: as new plans were worth it.",
        metavar="SHARE|average|tuned",
        default=None,
    )
    adapt_threshold: float | None = option(
        "Of threshold: how far a statistic may be from its value when the plan was made.", default=None
    )
    adapt_threshold_is: Literal["share", "amount"] | None = option(
        "Of threshold: whether that is a share of the value, or an amount.", default=None
    )
    adapt_watching: float | None = option(
        "The share of the run that watching may take; with 1, and unconditional by default, every step is "
        "watched.",
        default=None,
    )
    adapt_steps: int | None = option("Steps that a search for a new plan may take.", default=None)
    adapt_least_gain: float | None = option("The share of the cost that new trees must save.", default=None)
    adapt_horizon: float | None = option(
        "In how many sliding windows a new plan must save more than it costs to switch.", default=None
    )
    adapt_planning: float | None = option(
        "Nanoseconds that planning takes for each query; where all work ahead is less, nothing is planned.",
        default=None,
    )
    adapt_way: Literal["parallel", "rebuild"] | None = option(
        "How to switch: beside the old plan for a window, or by running the new one over the events that are "
        "kept.",
        default=None,
    )

    def adaptation(self) -> Adaptation | None:
        """Return what the options say, if they say anything; what they cannot say is refused."""
        given = {own.name: getattr(self, own.name) for own in fields(self) if own.name.startswith(PREFIX)}
        named = {name.removeprefix(PREFIX): value for name, value in given.items() if value is not None}
        if named and self.adapt == "off":
            first = next(name for name, value in given.items() if value is not None)
            raise WeftError(
                f"{_shown(first)}: with --adapt off, nothing is adapted\n  hint: leave out one of the two"
            )
        if self.adapt is None and not named:
            return None
        try:
            return Adaptation(self.adapt or "invariants", **_read(named))
        except WeftError as error:
            name, _, rest = str(error).partition(" of the adaptation ")
            raise WeftError(f"{_shown(PREFIX + name)} {rest}" if rest else str(error)) from None


def _read(named: dict[str, Any]) -> dict[str, Any]:
    """Return options with numbers for what is text on the command line.

    >>> _read({"k": "all", "distance": "0.5"})
    {'k': None, 'distance': 0.5}
    """
    read = dict(named)
    if "k" in read:
        read["k"] = None if read["k"] == "all" else _number(int, "k", read["k"], "a whole number or all")
    if read.get("distance") not in (None, "average", "tuned"):
        read["distance"] = _number(float, "distance", read["distance"], "a share, average or tuned")
    return read


def _number(kind: type[int] | type[float], name: str, text: str, expected: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise WeftError(f"{_shown(PREFIX + name)} is {text!r}; expected {expected}") from None


def _shown(name: str) -> str:
    return f"--{name.replace('_', '-')}"
