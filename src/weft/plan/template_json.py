"""Templates of trend queries as JSON and back: only known classes."""

import json
from collections.abc import Iterable
from typing import Any

from weft.plan import template
from weft.plan.json_values import EXPRESSIONS, by_name, decode, encode
from weft.plan.template import Template

VERSION = 1

_CLASSES = EXPRESSIONS | by_name(
    template.Item,
    template.Step,
    template.Source,
    template.Feed,
    template.Position,
    template.Automaton,
    template.TrendColumn,
    template.Template,
)


def templates_to_json(templates: Iterable[Template]) -> str:
    """Return templates as JSON text.

    >>> templates_from_json(templates_to_json([]))
    ()
    """
    document = {"version": VERSION, "templates": _encode(tuple(templates))}
    return json.dumps(document, allow_nan=False)


def templates_from_json(text: str) -> tuple[Template, ...]:
    """Return the templates written by `templates_to_json`."""
    document = json.loads(text)
    if document.get("version") != VERSION:
        raise ValueError(f"template version {document.get('version')!r} found, {VERSION} expected")
    return tuple(_decode(one) for one in document["templates"])


def _encode(value: object) -> object:
    return encode(value, _encode)


def _decode(value: Any) -> Any:
    return decode(value, _decode, _CLASSES)
