"""Tables that grow row by row, for kernels that look at all of a table at once."""

from collections.abc import Iterable

import numpy as np

from weft.cost.shape import Array
from weft.kernels.plans.tables import empty_answers, larger_answers, put_answer

FIRST_ROOM = 64  # of rows
FIRST_ANSWERS = 8  # twice as many as there is room for


class GrowingRows:
    """GrowingRows of one kind, numbered in the order in which they came; `array` has room for more.

    >>> rows = GrowingRows(np.dtype(np.int64))
    >>> rows.add(7), rows.extend([8, 9]), rows.count, rows.array[:3].tolist()
    (0, 1, 3, [7, 8, 9])
    """

    def __init__(self, kind: np.dtype) -> None:
        self.array: Array = np.zeros(FIRST_ROOM, kind)
        self.count = 0

    def add(self, row: object) -> int:
        """Add a row; return its number."""
        self._make_room(1)
        self.array[self.count] = row
        self.count += 1
        return self.count - 1

    def extend(self, rows: Iterable[object]) -> int:
        """Add rows; return the number of the first one."""
        first, added = self.count, list(rows)
        self._make_room(len(added))
        self.count += len(added)
        if added:
            self.array[first : self.count] = added
        return first

    def _make_room(self, n_rows: int) -> None:
        if self.count + n_rows > self.array.size:
            room = np.zeros(max(self.count + n_rows, self.array.size), self.array.dtype)
            self.array = np.concatenate([self.array, room])


class Answers:
    """Answers of kernels' questions, by a number for each question.

    >>> from weft.kernels.plans.tables import answer_to
    >>> answers = Answers()
    >>> for number in range(1_000):
    ...     answers.put(number, 2 * number)
    >>> answer_to(answers.array, 300)
    600
    """

    def __init__(self) -> None:
        self.array: Array = empty_answers(FIRST_ANSWERS)
        self._count = 0

    def put(self, question: int, answer: int) -> None:
        """Note the answer to a question that had none."""
        if 2 * self._count >= len(self.array):
            self.array = larger_answers(self.array)
        put_answer(self.array, question, answer)
        self._count += 1
