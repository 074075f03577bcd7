"""What a detection refuses: what its mode cannot give, and names that nothing has."""

from collections.abc import Mapping
from typing import TypeVar

from weft.errors import WeftError, near_name

Named = TypeVar("Named")


def runs_once() -> WeftError:
    """Return the error of a stream that is asked for what only a run that ends can tell."""
    return WeftError(
        "a stream is not run once, and counted or analyzed\n"
        "  hint: follow it with weft.StreamMonitor, or run the queries on past events"
    )


def needs_sites(name: str) -> WeftError:
    """Return the error of what there is with sites alone."""
    return WeftError(f"{name} needs sites=weft.Sites(column), the column of the site of an event")


def check_option(name: str, value: object, kind: type, example: str) -> None:
    """Refuse an option that is not an object of its class.

    >>> check_option("planning", "mcep", int, 'weft.Planning(plan="mcep")')
    Traceback (most recent call last):
    weft.errors.WeftError: planning is 'mcep'; expected a weft.int, such as weft.Planning(plan="mcep")
    """
    if value is not None and not isinstance(value, kind):
        raise WeftError(f"{name} is {value!r}; expected a weft.{kind.__name__}, such as {example}")


def look_up(name: str, known: Mapping[str, Named], kind: str) -> Named:
    """Return what has a name.

    >>> look_up("larg", {"large": 1}, "query")
    Traceback (most recent call last):
    weft.errors.WeftError: no query named 'larg'; did you mean 'large'?
    """
    if name not in known:
        near = near_name(name, known)
        hint = f"; did you mean {near!r}?" if near else ""
        raise WeftError(f"no {kind} named {name!r}{hint}")
    return known[name]
