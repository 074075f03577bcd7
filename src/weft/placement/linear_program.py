"""Solve small linear programs: the simplex algorithm on a dense tableau.

Reference   Dantzig. Linear Programming and Extensions. Princeton University Press, 1963.
Differs     Starts from zero, so limits must not be negative; to end with certainty, limits are moved apart a
            little and the number of steps is bounded. So the answer may be a bit off; callers that need it
            exact correct it.
Complexity  O(m n) per step for m rows and n columns; usually some m steps.
"""

import numpy as np

from weft.placement.network import Numbers

APART = 1e-9  # how far limits are moved apart, relative to the largest
SMALL = 1e-11
STEPS_PER_ROW = 20


def maximize(goal: Numbers, rows: Numbers, limits: Numbers) -> Numbers:
    """Return x >= 0 that makes goal @ x large, with rows @ x <= limits.

    >>> x = maximize(np.array([3.0, 2.0]), np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([4.0, 3.0]))
    >>> x.round(6).tolist()
    [3.0, 1.0]
    """
    n_rows, n_columns = rows.shape
    apart = APART * max(float(limits.max()), 1.0) * (1 + np.arange(n_rows) / n_rows)
    table = np.zeros((n_rows + 1, n_columns + 1))
    table[:-1, :-1] = rows
    table[:-1, -1] = limits + apart
    table[-1, :-1] = -goal
    inside = np.arange(n_columns, n_columns + n_rows)  # the variable of each row
    outside = np.arange(n_columns)  # the variable of each column
    for _ in range(STEPS_PER_ROW * n_rows):
        column = int(table[-1, :-1].argmin())
        if table[-1, column] > -SMALL:
            break
        coefficients = table[:-1, column]
        is_limiting = coefficients > SMALL
        if not bool(is_limiting.any()):
            break
        ratios = np.full(n_rows, np.inf)
        np.divide(table[:-1, -1], coefficients, out=ratios, where=is_limiting)
        row = int(ratios.argmin())
        _pivot(table, row, column)
        inside[row], outside[column] = outside[column], inside[row]
    values = np.zeros(n_columns + n_rows)
    values[inside] = table[:-1, -1]
    return np.maximum(values[:n_columns], 0.0)


def _pivot(table: Numbers, row: int, column: int) -> None:
    """Exchange the variables of a row and a column."""
    pivot = table[row, column]
    pivot_column = table[:, column].copy()
    table[row] /= pivot
    pivot_column[row] = 0.0
    table -= pivot_column[:, np.newaxis] * table[row]
    table[:, column] = -pivot_column / pivot
    table[row, column] = 1 / pivot
