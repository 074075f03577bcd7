"""Reading text: mistakes of syntax and of names in one report."""

import pytest

from weft.errors import QueryError
from weft.language.read import read


def test_a_mistake_in_syntax_hides_no_wrong_name_of_another_query() -> None:
    text = "QUERY one PATTERN SEQ(A a, B b\nQUERY two PATTERN SEQ(A a, B b) WHERE a.x > c.y"
    with pytest.raises(QueryError) as caught:
        read(text, None)
    assert [problem.query for problem in caught.value.problems] == ["one", "two"]
    assert "variable c" in str(caught.value)
