"""Read which matches count where Python or the command line says it: `"next"`, `"past last"`, `"1 hour"`."""

from datetime import timedelta
from typing import TypeVar, get_args

from weft.errors import WeftError, near_name
from weft.language.literals import parse_duration
from weft.pattern.policies import Policy, Skip, Strategy, Suppression

Word = TypeVar("Word", Strategy, Skip)

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
SKIPS: tuple[Skip, ...] = get_args(Skip)


def word_among(words: tuple[Word, ...], given: str) -> Word | None:
    """Return the one of some words that is given, in any case and with hyphens or spaces.

    >>> word_among(SKIPS, "Past-Last")
    'past last'
    """
    folded = " ".join(str(given).lower().replace("-", " ").split())
    return next((word for word in words if word == folded), None)


def microseconds_of(length: object) -> int | None:
    """Return the microseconds of a length of time, None if it is none.

    >>> microseconds_of("1 second"), microseconds_of(timedelta(seconds=1)), microseconds_of("a while")
    (1000000, 1000000, None)
    """
    if isinstance(length, timedelta):
        return length // timedelta(microseconds=1)
    return parse_duration(length) if isinstance(length, str) else None


def default_policy(
    strategy: str | None = None,
    skip: str | None = None,
    suppress: str | timedelta | None = None,
    *,
    prefix: str = "",
) -> Policy:
    """Return which matches count in queries that do not say; `prefix` stands before names in errors.

    >>> default_policy("next", suppress="1 second").suppression
    Suppression(length=1000000, per=())
    >>> default_policy("nxt", prefix="--")
    Traceback (most recent call last):
    weft.errors.WeftError: --strategy is 'nxt'; expected 'any', 'next', 'strict'; did you mean next?
    """
    return Policy(
        None if strategy is None else _require_word(STRATEGIES, strategy, f"{prefix}strategy"),
        None if skip is None else _require_word(SKIPS, skip, f"{prefix}skip"),
        suppression=None if suppress is None else Suppression(_quiet_time(suppress, f"{prefix}suppress")),
    )


def _require_word(words: tuple[Word, ...], given: str, name: str) -> Word:
    word = word_among(words, given)
    if word is None:
        near = near_name(str(given), words)
        hint = f"; did you mean {near}?" if near else ""
        raise WeftError(f"{name} is {given!r}; expected {', '.join(map(repr, words))}{hint}")
    return word


def _quiet_time(given: str | timedelta, name: str) -> int:
    length = microseconds_of(given)
    if length is None or length <= 0:
        raise WeftError(f"{name} is {given!r}; expected a length of time above 0, such as '1 hour'")
    return length
