"""A reader gives the shape that `shape_of` gives, whatever changes."""

import random
from dataclasses import replace

import pytest
from tests.helpers.engine import derived_schema
from tests.helpers.strategies import random_case

from weft.adaptation.shape_reader import ShapeReader
from weft.normalize.pipeline import normalize
from weft.optimizer.pipeline import weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.shape_of import item_keys, questions_of, shape_of
from weft.statistics.model import Statistics


@pytest.mark.parametrize("seed", range(12))
def test_the_shape_is_the_same_as_without_a_memory(seed: int) -> None:
    dice, case = random.Random(seed), random_case(31_000 + seed)
    context = weave_for(derived_schema(case), Planning(cost="partial-matches")).context
    for form in (form for query in case.queries for form in normalize(query)):
        reader = ShapeReader(form, context)
        groups = {question.group for question in questions_of(form, 1.0)}
        known = Statistics()
        for _ in range(8):
            known = replace(known, rates={key: dice.uniform(0.1, 9) for key in item_keys(form)})
            if dice.random() < 0.4:
                known = replace(known, selectivities={group: dice.random() for group in groups})
            if dice.random() < 0.3:
                known = replace(known, agreements={key: dice.random() for key in form.keys})
            if dice.random() < 0.3:
                known = replace(known, total_rate=dice.uniform(1, 99))
            assert reader.shape(known) == shape_of(form, known, context)
