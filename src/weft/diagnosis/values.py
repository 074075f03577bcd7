"""Values and times as people read them."""

from datetime import UTC, datetime, timedelta

from weft.expressions import Literal, Predicate
from weft.language.printer import expression_to_text
from weft.schema import DOUBLE, LONG
from weft.tree import transform_up

MOST_EXACT = 2.0**53  # up to here, a whole number is the only one of its value


def value_text(value: object) -> str:
    """Return a value as a rule would write it.

    >>> value_text("ann"), value_text(999.0), value_text(None), value_text(timedelta(minutes=64))
    ("'ann'", '999.0', 'NULL', '1:04:00')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return repr(value)
        case datetime():
            return time_text(value)
        case timedelta() if value < timedelta(0):
            return f"-{-value}"
    return str(value)


def time_text(moment: datetime) -> str:
    """Return a time in UTC, no finer than it is.

    >>> time_text(datetime(2026, 1, 31, 9, 5, tzinfo=UTC))
    '2026-01-31 09:05:00'
    """
    plain = in_utc(moment).replace(tzinfo=None)
    return plain.isoformat(sep=" ", timespec="milliseconds" if plain.microsecond else "seconds")


def condition_text(condition: Predicate) -> str:
    """Return a condition, with whole numbers as such even where they are compared with others.

    >>> from weft.expressions import Attribute, Comparison
    >>> condition_text(Comparison(">", Attribute("t", "amount"), Literal(1000.0, DOUBLE)))
    't.amount > 1000'
    """

    def change(node: object) -> object:
        if isinstance(node, Literal) and node.type == DOUBLE and isinstance(node.value, float):
            is_whole = node.value.is_integer() and abs(node.value) < MOST_EXACT
            return Literal(int(node.value), LONG) if is_whole else node
        return node

    return expression_to_text(transform_up(condition, change))


def in_utc(moment: datetime) -> datetime:
    """Return a time in UTC; one without a zone is in UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
