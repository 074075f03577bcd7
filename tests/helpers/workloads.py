"""Small workloads for the optimizer: patterns from text, or drawn at random."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tests.helpers.strategies import SCHEMA

from weft.cost.partial_matches import PartialMatches
from weft.language.binder import bind
from weft.language.parser import parse
from weft.normalize.pipeline import normalize
from weft.optimizer.pipeline import weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.shape_of import questions_of
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multi_pattern_graph import MultiPatternGraph
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sharables import Sharables
from weft.optimizer.sharing.sub_patterns import InternTable
from weft.optimizer.trees import Tree, tree_text
from weft.optimizer.weave import Weave
from weft.pattern.nodes import Query
from weft.statistics.model import ItemKey, Statistics

MODEL = PartialMatches()
TYPES = "ABCDEFGH"


def rates(**by_type: float) -> Statistics:
    """Return statistics of nothing but rates."""
    return Statistics(rates={ItemKey(name): rate for name, rate in by_type.items()})


@dataclass(frozen=True)
class Workload:
    """Queries P1, P2, ... with patterns and conditions as written, and what is known of the events."""

    texts: tuple[str, ...]
    statistics: Statistics = field(default_factory=Statistics)

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        text = "\n".join(f"QUERY P{number} PATTERN {one}" for number, one in enumerate(self.texts, start=1))
        return bind(parse(text), SCHEMA, source=text)

    @cached_property
    def numbers(self) -> InternTable:
        return InternTable()

    @cached_property
    def patterns(self) -> dict[str, Pattern]:
        """The pattern of each query; none of them has alternatives."""
        context = weave_for(SCHEMA, Planning(cost="partial-matches")).context
        found = {}
        for query in self.queries:
            (form,) = normalize(query)
            found[query.name] = Pattern(form, self.statistics, context, self.numbers)
        return found

    def graph(self) -> MultiPatternGraph[str]:
        """Return the multi-pattern graph of all patterns."""
        graph: MultiPatternGraph[str] = MultiPatternGraph()
        for key, pattern in self.patterns.items():
            graph.add(key, pattern)
        return graph

    def sharables(self) -> Sharables[str]:
        """Return what all patterns could share."""
        sharables: Sharables[str] = Sharables()
        for key, pattern in self.patterns.items():
            sharables.add(key, pattern)
        return sharables

    def multitree(self, trees: Mapping[str, Tree] | None = None) -> MultiTree[str]:
        """Return a multitree with the given trees, or with the best tree of each pattern."""
        found: MultiTree[str] = MultiTree(self.numbers, MODEL)
        plans = LocalPlans(MODEL)
        for key, pattern in self.patterns.items():
            found.add(key, pattern, trees[key] if trees else plans.best(pattern))
        return found

    def weave(self) -> Weave:
        """Return a loom with the best tree of each query."""
        weave = weave_for(SCHEMA, Planning(statistics=self.statistics, cost="partial-matches"))
        for query in self.queries:
            weave.add(query, weave.plans.best)
        return weave

    def shown(self, trees: Mapping[str, Tree]) -> dict[str, str]:
        """Return trees as text over the variables of their patterns."""
        return {key: tree_text(tree, self.patterns[key].form.variables) for key, tree in trees.items()}


def sequence(types: str, window: int = 10) -> str:
    """Return the text of a sequence with a variable for each type.

    >>> sequence("AB")
    'SEQ(A a, B b) WITHIN 10 seconds'
    """
    items = ", ".join(f"{name} {name.lower()}" for name in types)
    return f"SEQ({items}) WITHIN {window} seconds"


def items(types: str, of: str) -> int:
    """Return the mask of some types of a pattern that names each of its types once."""
    return sum(1 << of.index(name) for name in types)


def random_workload(
    dice: random.Random,
    n_patterns: int,
    sizes: Sequence[int],
    *,
    n_types: int = 5,
    windows: Sequence[int] = (10,),
    has_lists: bool = False,
    has_negations: bool = False,
) -> Workload:
    """Return patterns that overlap, with predicates between two and three items."""
    texts = tuple(
        _random_pattern(
            dice,
            dice.choice(sizes),
            TYPES[:n_types],
            dice.choice(windows),
            has_lists=has_lists,
            has_negations=has_negations,
        )
        for _ in range(n_patterns)
    )
    return _measured(dice, texts, {ItemKey(name): dice.uniform(0.2, 4.7) for name in TYPES})


def negating_workload(dice: random.Random) -> Workload:
    """Return one pattern of three to five types, no two alike, with one to three negations."""
    size = dice.randint(3, 5)
    names = dice.sample(TYPES, size)
    operands = [f"{name} {name.lower()}" for name in names]
    if dice.random() < 0.4:
        place = dice.randrange(size)
        operands[place] = f"{names[place]}{{1,2}} {names[place].lower()}[]"
    conditions = [f"{a.lower()}.x = {b.lower()}.x" for a, b in [dice.sample(names, 2)] if dice.random() < 0.5]
    for number in range(dice.randint(1, 3)):
        operands.insert(dice.randint(1, len(operands) - 1), f"NOT {dice.choice(TYPES)} n{number}")
        if dice.random() < 0.4:
            conditions.append(f"n{number}.x < {dice.choice(names).lower()}.x")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    operator = dice.choice(["SEQ", "SEQ", "SEQ", "AND"])
    text = f"{operator}({', '.join(operands)}){where} WITHIN 10 seconds"
    return _measured(dice, (text,), {ItemKey(name): 10 ** dice.uniform(-2, 1) for name in TYPES})


def _measured(dice: random.Random, texts: tuple[str, ...], rates: Mapping[ItemKey, float]) -> Workload:
    """Return a workload with random selectivities."""
    patterns = Workload(texts).patterns.values()
    questions = [question for pattern in patterns for question in questions_of(pattern.form, None)]
    selectivities = {question.group: dice.uniform(0.01, 0.92) for question in questions}
    return Workload(texts, Statistics(rates=rates, selectivities=selectivities))


def _random_pattern(
    dice: random.Random, size: int, types: str, window: int, *, has_lists: bool, has_negations: bool
) -> str:
    is_repeated = size > len(types) or dice.random() < 0.2
    names = dice.choices(types, k=size) if is_repeated else dice.sample(types, size)
    variables = [f"{name.lower()}{place}" for place, name in enumerate(names)]
    operands = [f"{name} {variable}" for name, variable in zip(names, variables, strict=True)]
    if has_lists and dice.random() < 0.3:
        place = dice.randrange(size)
        operands[place] = f"{names[place]}{{1,2}} {variables[place]}[]"
    if has_negations and dice.random() < 0.4:
        operands.insert(dice.randint(1, size - 1), f"NOT {dice.choice(types)} n")
    operator = dice.choice(["SEQ", "SEQ", "AND"])
    conditions = [
        f"{variables[a]}.x {dice.choice(['<', '='])} {variables[b]}.x"
        for a, b in (sorted(dice.sample(range(size), 2)) for _ in range(dice.randint(0, 2)))
    ]
    if size > 2 and dice.random() < 0.2:
        one, two, three = dice.sample(variables, 3)
        conditions.append(f"{one}.x + {two}.x < {three}.x")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"{operator}({', '.join(operands)}){where} WITHIN {window} seconds"
