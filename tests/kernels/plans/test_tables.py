"""Answers are found again, and two questions never have one number."""

import random
from itertools import product

from weft.kernels.plans.tables import (
    MOST_EXTENTS,
    MOST_GENERALS,
    MOST_PLACES,
    UNKNOWN,
    answer_to,
    empty_answers,
    larger_answers,
    pair_key,
    placing_key,
    put_answer,
)


def test_answers_are_found_again_in_larger_tables_too() -> None:
    dice, answers, known = random.Random(0), empty_answers(8), dict[int, int]()
    for number in range(2_000):
        question = dice.randrange(1 << 62)
        if 2 * len(known) >= len(answers):
            answers = larger_answers(answers)
        put_answer(answers, question, number)
        known[question] = number
    assert all(answer_to(answers, question) == number for question, number in known.items())
    assert all(answer_to(answers, question + 1) == UNKNOWN for question in known if question + 1 not in known)


def test_an_answer_may_be_given_anew() -> None:
    answers = empty_answers(8)
    put_answer(answers, 7, 1)
    put_answer(answers, 7, 2)
    assert answer_to(answers, 7) == 2


def test_questions_have_numbers_of_their_own() -> None:
    ends = [[0, 1, most - 1] for most in (MOST_GENERALS, MOST_PLACES, MOST_EXTENTS)]
    placings = {placing_key(*numbers, flag) for numbers in product(*ends) for flag in (False, True)}
    assert len(placings) == 54
    assert min(placings) >= 0
    pairs = [0, 1, 2, (1 << 31) - 1]
    keys = {pair_key(*numbers) for numbers in product(pairs, pairs)}
    assert len(keys) == 16
    assert min(keys) >= 0
