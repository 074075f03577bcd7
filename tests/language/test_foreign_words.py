"""Words of other languages: each is answered with what our language has for it."""

import pytest
from tests.helpers.mistakes import load_mistakes

from weft.errors import QueryError
from weft.language import foreign_words
from weft.language.parser import parse
from weft.language.read import read_queries


@pytest.mark.parametrize(("text", "message"), load_mistakes("foreign_words.txt"))
def test_words_of_other_languages_are_translated(text: str, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        read_queries(text, None)
    assert str(raised.value) == message


@pytest.mark.parametrize("word", sorted(foreign_words._MEANT))
def test_words_of_other_languages_are_names_where_names_stand(word: str) -> None:
    if word not in ("in", "on"):
        (query,) = parse(f"PATTERN SEQ({word} a, B b) WHERE a.{word} = b.{word}")
        assert query.pattern.operands[0].type == word  # type: ignore[union-attr]


def test_a_skip_that_is_misspelled_is_no_other_language() -> None:
    with pytest.raises(QueryError, match="did you mean AFTER MATCH SKIP"):
        parse("PATTERN SEQ(A a, B b) AFTER MATCHES SKIP PAST LAST")


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('QUERY "brute-force" PATTERN SEQ("4625" a, "odd type" b)', "brute-force"),
        ("brute_force: PATTERN A a", "brute_force"),
        ('QUERY "4625" PATTERN A a', "4625"),
    ],
)
def test_the_remedies_for_names_work(text: str, remedy: str) -> None:
    assert [query.name for query in parse(text)] == [remedy]
