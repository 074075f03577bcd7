"""Keep what the methods of an object have found, as long as the object lives."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Given = ParamSpec("Given")
Value = TypeVar("Value")


def memoize(
    method: Callable[Concatenate[Any, Given], Value],
) -> Callable[Concatenate[Any, Given], Value]:
    """Call a method once for the same positional arguments; `functools.cache` would keep the object alive.

    >>> class Squares:
    ...     n_calls = 0
    ...
    ...     @memoize
    ...     def of(self, number: int) -> int:
    ...         self.n_calls += 1
    ...         return number**2
    >>> squares = Squares()
    >>> squares.of(3), squares.of(3), squares.n_calls
    (9, 9, 1)
    """
    name = f"_known_{method.__name__}"

    @wraps(method)
    def remember(self: Any, /, *arguments: Given.args, **options: Given.kwargs) -> Value:
        known: dict[Any, Value] = self.__dict__.setdefault(name, {})
        if arguments not in known:
            known[arguments] = method(self, *arguments, **options)
        return known[arguments]

    return remember
