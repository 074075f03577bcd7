"""The examples of the language reference are what the language accepts."""

import re
from pathlib import Path

import pytest

from weft.language.binder import bind
from weft.language.builder import as_query
from weft.language.parser import parse
from weft.language.printer import to_text

PAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```weft\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_parse_and_make_sense(text: str) -> None:
    queries = bind(parse(text), None, source=text)
    assert parse("\n".join(map(to_text, queries)))


def test_the_python_example_is_the_first_text_example() -> None:
    (example,) = PYTHON
    names: dict[str, object] = {}
    exec(compile(example, "language.md", "exec"), names)
    assert parse(EXAMPLES[0]) == (as_query(names["tailgate"]),)


def test_the_example_of_ccl_is_the_query_after_it() -> None:
    one, other = (text for text in EXAMPLES if "ThreeTrades" in text)
    assert "MATCHING" in one
    assert parse(one) == parse(other)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5
