"""Write docs/api.md: the public names of Weft, from their signatures and docstrings.

`make docs` writes it; a test fails when it is stale.
"""

import ast
import dataclasses
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import weft

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
WIDTH = 100
HEAD = """# Public names

What `import weft` offers, from the docstrings; `make docs` writes this page. Everything else is internal
and may change. [language.md](language.md) is the language of queries; [streams.md](streams.md),
[placement.md](placement.md) and [optimizer.md](optimizer.md) tell how the options belong together.
"""
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
NAMES = re.compile(r"^\w+(, \w+)*$")
PROPERTIES = property | cached_property
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def page() -> str:
    """Return the whole page."""
    groups: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": [], "Values": []}
    for name in sorted(weft.__all__, key=str.lower):
        groups[_group_of(getattr(weft, name))].append(name)
    parts = [HEAD]
    for title, names in groups.items():
        if names:
            parts.append(f"{title}: " + ", ".join(f"[`{name}`](#{_anchor(name)})" for name in names) + "\n")
    for title, names in groups.items():
        if names:
            parts.append(f"## {title}\n")
            parts += [_entry(name, getattr(weft, name)) for name in names]
    return "\n".join(parts)


def _anchor(name: str) -> str:
    return f"weft{name}".lower()


def _group_of(thing: object) -> str:
    if isinstance(thing, type):
        return "Errors" if issubclass(thing, BaseException) else "Classes"
    return "Functions" if callable(thing) else "Values"


def _entry(name: str, thing: object) -> str:
    """Return the section about one public name."""
    lines = [f"### weft.{name}\n"]
    if isinstance(thing, type):
        lines.append(_code(_class_head(name, thing)))
        lines.append(_prose(inspect.getdoc(thing) if thing.__doc__ else None))
        lines += [_member(name, key, member) for key, member in _members(thing)]
    elif callable(thing):
        lines.append(_code(_signature(f"weft.{name}", _definition(thing))))
        lines.append(_prose(inspect.getdoc(thing)))
    elif inspect.ismodule(thing):
        lines.append(_prose(inspect.getdoc(thing)))
    else:
        lines.append("The version, as text.\n" if name == "__version__" else f"`{thing!r}`\n")
    return "\n".join(line for line in lines if line)


def _definition(thing: object) -> ast.AST:
    """Return the definition of a function or a class, as it is written."""
    (node, *_) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body  # type: ignore[arg-type]
    return node


def _signature(name: str, node: ast.AST, *, is_method: bool = False) -> str:
    """Return a call with the arguments and annotations of a definition, on one line where that is short."""
    assert isinstance(node, FunctionNode)
    arguments = list(_arguments(node.args))
    if is_method and arguments and arguments[0] in ("self", "cls"):
        arguments = arguments[1:]
    return _call(name, arguments, _result(node))


def _result(node: FunctionNode) -> str:
    return "" if node.returns is None else f" -> {_kind(node.returns)}"


def _kind(annotation: ast.expr) -> str:
    """Return an annotation as it is written, without the quotes of one that is not evaluated."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)


def _value(value: ast.expr) -> str:
    """Return a default as it is written; texts have double quotes, as in the code."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return json.dumps(value.value, ensure_ascii=False)
    return ast.unparse(value)


def _call(name: str, arguments: list[str], result: str = "") -> str:
    line = f"{name}({', '.join(arguments)}){result}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), f"){result}"])


def _arguments(given: ast.arguments) -> Iterator[str]:
    """Yield arguments with annotations and defaults, and the signs that set kinds of them apart."""
    positional = given.posonlyargs + given.args
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    for place, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        yield _argument(argument, default)
        if place + 1 == len(given.posonlyargs):
            yield "/"
    if given.vararg is not None:
        yield f"*{_argument(given.vararg, None)}"
    elif given.kwonlyargs:
        yield "*"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _argument(argument, default)
    if given.kwarg is not None:
        yield f"**{_argument(given.kwarg, None)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    annotation = "" if argument.annotation is None else f": {_kind(argument.annotation)}"
    if default is None:
        return argument.arg + annotation
    return f"{argument.arg}{annotation}{' = ' if annotation else '='}{_value(default)}"


def _class_head(name: str, thing: type) -> str:
    """Return how a class is made: the fields of a dataclass, or the arguments of its own constructor."""
    if issubclass(thing, BaseException):
        bases = ", ".join(base.__name__ for base in thing.__bases__)
        return f"class weft.{name}({bases})"
    if dataclasses.is_dataclass(thing):
        return _call(f"weft.{name}", [field for base in _own(thing) for field in _fields(base)])
    if "__init__" in vars(thing):
        return _signature(f"weft.{name}", _definition(vars(thing)["__init__"]), is_method=True)
    return f"class weft.{name}"


def _own(thing: type) -> list[type]:
    """Return a class and the classes of Weft that it comes from, the most general first."""
    return [base for base in reversed(thing.__mro__) if base.__module__.split(".")[0] == "weft"]


def _fields(thing: type) -> Iterator[str]:
    """Yield the fields of a dataclass that its constructor takes, as they are written."""
    given = {field.name: field for field in dataclasses.fields(thing)}
    definition = _definition(thing)
    assert isinstance(definition, ast.ClassDef)
    for node in definition.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            field = given.get(node.target.id)
            if field is None or not field.init or field.name.startswith("_"):
                continue
            default = "" if node.value is None else f" = {_default(field, node.value)}"
            yield f"{field.name}: {_kind(node.annotation)}{default}"


def _default(field: "dataclasses.Field[object]", value: ast.expr) -> str:
    """Return the default of a field: what a factory makes is shown as its call."""
    if field.default_factory is not dataclasses.MISSING:
        return f"{getattr(field.default_factory, '__name__', 'factory')}()"
    return _value(value)


def _members(thing: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties of a class, in the order in which they are written."""
    found: dict[str, object] = {}
    for base in _own(thing):
        if issubclass(base, BaseException):
            continue
        for key, member in vars(base).items():
            is_member = isinstance(member, PROPERTIES | classmethod | staticmethod) or inspect.isfunction(
                member
            )
            if is_member and not key.startswith("_"):
                found[key] = member
    yield from found.items()


def _member(owner: str, name: str, member: object) -> str:
    """Return the lines about a method or a property."""
    if isinstance(member, PROPERTIES):
        getter = member.func if isinstance(member, cached_property) else member.fget
        assert getter is not None
        node = _definition(getter)
        assert isinstance(node, FunctionNode)
        head, about = f"property {owner}.{name}{_result(node)}", inspect.getdoc(member)
    else:
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        is_method = not isinstance(member, staticmethod)
        head = _signature(f"{owner}.{name}", _definition(function), is_method=is_method)
        about = inspect.getdoc(function)
    return f"{_code(head)}\n{_prose(about)}"


def _code(text: str) -> str:
    return f"```python\n{text}\n```\n"


def _prose(docstring: str | None) -> str:
    """Return a docstring as Markdown: sections in bold, what they list as lists, examples as code."""
    if not docstring:
        return ""
    parts = SECTION.split(docstring)
    shown = [_examples_fenced(parts[0])]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        is_list = title in (
            "Parameters",
            "Attributes",
            "Returns",
            "Yields",
            "Raises",
            "Columns",
            "Other Parameters",
        )
        shown.append(f"**{title}**\n\n{_listed(body) if is_list else _examples_fenced(body)}")
    return "\n\n".join(part.strip("\n") for part in shown if part.strip()) + "\n"


def _listed(body: str) -> str:
    """Return `name : type` lines with indented descriptions as a list; other text stays as it is."""
    items: list[str] = []
    for line in body.strip("\n").splitlines():
        if line.startswith(" "):
            items[-1] += f" {line.strip()}"
        elif line.strip():
            name, _, kind = (part.strip() for part in line.partition(" : "))
            items.append(f"- `{name}`" + (f" ({kind}):" if kind else ":"))
    return "\n".join(items)


def _defined(text: str) -> Iterator[str]:
    """Yield lines, of which names alone on a line with an indented description become items of a list."""
    lines = text.strip("\n").splitlines()
    is_item = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if NAMES.match(line) and following.startswith("    "):
            shown = ", ".join(f"`{name.strip()}`" for name in line.split(","))
            yield f"- {shown}:"
            is_item = True
        else:
            is_item = is_item and line.startswith("    ")
            yield f"  {line.strip()}" if is_item else line


def _examples_fenced(text: str) -> str:
    """Return text with its doctests in fences, and its definitions as lists."""
    lines: list[str] = []
    is_open = False
    for line in _defined(text):
        if line.startswith(">>>") and not is_open:
            lines.append("```python")
            is_open = True
        elif is_open and not line.strip():
            lines.append("```")
            is_open = False
        lines.append(line)
    return "\n".join([*lines, "```"] if is_open else lines)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
