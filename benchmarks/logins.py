"""Events for queries that want one match at a time: failures of users to log in, and three types in a mix."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from generate import MEAN_GAP, SCHEMA, START

FAILURE, LOGIN = "LoginFailed", "Login"
LETTERS = ("A", "B", "C")


def login_events(n_events: int, *, n_users: int = 1, failures: int | None = None) -> pa.Table:
    """Return failures and logins of users, who are the keys; the last event is a login.

    There is a login after so many failures on average, and without `failures` no other.

    >>> login_events(5)["type"].to_pylist()
    ['LoginFailed', 'LoginFailed', 'LoginFailed', 'LoginFailed', 'Login']
    >>> login_events(10_000, failures=20)["type"].to_pylist().count("Login") in range(400, 560)
    True
    """
    source = np.random.default_rng(n_events)
    is_login = source.random(n_events) < (0 if failures is None else 1 / (failures + 1))
    is_login[-1] = True
    return _events((FAILURE, LOGIN), is_login.astype(np.int8), source.integers(0, n_users, n_events), source)


def letter_events(n_events: int) -> pa.Table:
    """Return events of three types, each as often as the others.

    >>> sorted(set(letter_events(100)["type"].to_pylist()))
    ['A', 'B', 'C']
    """
    source = np.random.default_rng(n_events)
    return _events(LETTERS, source.integers(0, 3, n_events), np.zeros(n_events, np.int64), source)


def _events(
    types: Sequence[str], codes: np.ndarray, keys: np.ndarray, source: np.random.Generator
) -> pa.Table:
    """Return events in order of time, one for each millisecond on average."""
    times = START + np.cumsum(np.ceil(source.exponential(MEAN_GAP, codes.size)).astype(np.int64))
    columns = [
        pa.array(times).cast(SCHEMA.field("ts").type),
        pa.array(types).take(pa.array(codes)),
        pa.array(np.arange(codes.size)),
        pa.array(keys),
        pa.array(np.ones(codes.size)),
        pa.array(np.ones(codes.size, np.int64)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)
