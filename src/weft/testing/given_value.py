"""Values of a file or of Python as texts, lists and mappings, each with its place if it has one."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeAlias

import yaml

from weft.errors import Problem, Span, near_name
from weft.language.findings import Findings

NONE_WORDS = ("", "none", "null", "~")

Content: TypeAlias = "str | tuple[GivenValue, ...] | Mapping[str, GivenValue]"


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A text, a list or a mapping, and where it stands."""

    content: Content
    span: Span | None = None
    key_span: Span | None = None  # of the key that it is the value of
    is_block: bool = False  # whether it is a text whose lines stand as they are

    @property
    def is_none(self) -> bool:
        """Whether it says that there is nothing."""
        return isinstance(self.content, str) and self.content.strip().lower() in NONE_WORDS

    @property
    def kind(self) -> str:
        """What it is, in words."""
        if isinstance(self.content, str):
            return f"the text {self.content!r}" if len(self.content) < 40 else "a text"
        return "a list" if isinstance(self.content, tuple) else "a mapping"


def of_python(value: object) -> GivenValue:
    """Return a value of Python, its constants as texts.

    >>> of_python({"takeover": [[1, 2]], "other": None}).content["other"].is_none
    True
    """
    if isinstance(value, Mapping):
        return GivenValue({str(key): of_python(own) for key, own in value.items()})
    if isinstance(value, list | tuple | Set):
        return GivenValue(tuple(of_python(member) for member in value))
    if isinstance(value, datetime | date):
        return GivenValue(value.isoformat())
    return GivenValue("none" if value is None else str(value))


def of_yaml(text: str, findings: Findings) -> GivenValue | None:
    """Return the content of a YAML text, every scalar as the text it is written as.

    So `on` is no truth value and 12:30 no number. What is wrong becomes findings.

    >>> of_yaml("time: 12:30", Findings()).content["time"].content
    '12:30'
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return None if node is None else _of_node(node, findings, None)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        span = None if mark is None else Span(mark.index, mark.index + 1)
        context = f" {error.context}" if error.context else ""
        hint = "YAML tells lists and mappings by the blanks before them; put a text with : or # in quotes"
        findings.note(Problem(f"this is no YAML: {error.problem}{context}", span, hint))
    except yaml.reader.ReaderError as error:
        findings.complain(f"this is no YAML: {error.reason}", Span(error.position, error.position + 1))
    except RecursionError:
        findings.complain("this nests without an end", Span(0, 1), "let no alias stand for what holds it")
    return None


def _of_node(node: yaml.Node, findings: Findings, key: Span | None) -> GivenValue:
    span = Span(node.start_mark.index, node.end_mark.index)
    if isinstance(node, yaml.ScalarNode):
        return GivenValue(node.value, span, key, is_block=node.style == "|")
    if isinstance(node, yaml.SequenceNode):
        return GivenValue(tuple(_of_node(member, findings, None) for member in node.value), span, key)
    assert isinstance(node, yaml.MappingNode)
    content: dict[str, GivenValue] = {}
    for named, own in node.value:
        place = Span(named.start_mark.index, named.end_mark.index)
        name = named.value if isinstance(named, yaml.ScalarNode) else None
        if name is None or name in content:
            what = "a key must be a text" if name is None else f"{name} is given twice"
            findings.complain(what, place, "leave one of them out" if name else None)
        else:
            content[name] = _of_node(own, findings, place)
    return GivenValue(content, span, key)


def mapping_of(
    value: GivenValue, what: str, known: tuple[str, ...], findings: Findings
) -> Mapping[str, GivenValue]:
    """Return a mapping whose keys are known; what is not becomes findings.

    >>> findings = Findings()
    >>> sorted(mapping_of(of_python({"tests": [], "rule": ""}), "a file", ("rules", "tests"), findings))
    ['tests']
    >>> findings.problems[0].hint
    'did you mean rules?'
    """
    if not isinstance(value.content, Mapping):
        expected = ", ".join(known)
        findings.complain(f"{what} is {value.kind}; expected a mapping with {expected}", value.span)
        return {}
    for name, own in value.content.items():
        if name not in known:
            near = near_name(name, known)
            hint = f"did you mean {near}?" if near else f"the keys are {', '.join(known)}"
            findings.complain(f"{what} has the unknown key {name}", own.key_span, hint)
    return {name: own for name, own in value.content.items() if name in known}


def text_of(value: GivenValue, what: str, findings: Findings, expected: str = "a text") -> str | None:
    """Return a text that is not empty, None after noting that it is none."""
    if isinstance(value.content, str) and value.content.strip():
        return value.content.strip()
    found = "empty" if isinstance(value.content, str) else value.kind
    findings.complain(f"{what} is {found}; expected {expected}", value.span or value.key_span)
    return None
