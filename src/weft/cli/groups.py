"""Groups of options: dataclasses whose fields become options of a command."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, field, fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar, get_type_hints

import typer

Value = TypeVar("Value")
REQUIRED: Any = MISSING  # the default of an option that must be given


def option(help: str, *names: str, default: Value = REQUIRED, **settings: Any) -> Value:
    """Return a field of a group: an option with its help, its default and what else Typer takes."""
    shown = ... if default is REQUIRED else default
    return field(default=default, metadata={"option": typer.Option(shown, *names, help=help, **settings)})


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: each field of a group becomes an option of its own.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Greeting:
    ...     word: str = option("What to say.", default="Hello")
    >>> @with_groups
    ... def greet(name: str, *, greeting: Greeting) -> None:
    ...     print(greeting.word, name)
    >>> inspect.signature(greet).parameters["word"].default.help
    'What to say.'
    >>> greet("Ann", word="Good day,")
    Good day, Ann
    """
    signature = inspect.signature(command)
    annotations = {name: given.annotation for name, given in signature.parameters.items()}
    groups: dict[str, Any] = {name: kind for name, kind in annotations.items() if is_dataclass(kind)}

    @wraps(command)
    def call(*arguments: Any, **options: Any) -> None:
        made = {
            name: group(**{own.name: options.pop(own.name) for own in fields(group)})
            for name, group in groups.items()
        }
        command(*arguments, **options, **made)

    parameters = [part for given in signature.parameters.values() for part in _parameters(given)]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {}  # those of the groups are none of the options
    return call


def _parameters(given: inspect.Parameter) -> Iterator[inspect.Parameter]:
    if not is_dataclass(given.annotation):
        yield given
        return
    hints = get_type_hints(given.annotation)
    for own in fields(given.annotation):
        yield inspect.Parameter(
            own.name, given.kind, default=own.metadata["option"], annotation=hints[own.name]
        )
