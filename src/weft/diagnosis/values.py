"""Values and times as people read them."""

from datetime import UTC, datetime, timedelta


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


def in_utc(moment: datetime) -> datetime:
    """Return a time in UTC; one without a zone is in UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
