"""Tests of rules: small tables of events in text, and what rules are to find in them.

What is exported is imported when it is first asked for: pytest loads the plug-in always.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.testing.assertion import assert_matches as assert_matches
    from weft.testing.event_text import events as events

_HOMES = {"assert_matches": "assertion", "events": "event_text"}

__all__ = ["assert_matches", "events"]


def __getattr__(name: str) -> object:
    """Import an exported name."""
    if name not in _HOMES:
        raise AttributeError(f"module 'weft.testing' has no attribute {name!r}")
    exported: object = getattr(import_module(f"weft.testing.{_HOMES[name]}"), name)
    globals()[name] = exported
    return exported


def __dir__() -> list[str]:
    return __all__
