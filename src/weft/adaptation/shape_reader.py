"""The shape of a pattern under changing statistics, as `shape_of` gives it, without repeated work."""

from dataclasses import replace

from weft.cost.shape import Shape
from weft.optimizer.demands import Context
from weft.optimizer.shape_of import shape_of
from weft.pattern.nodes import TimeWindow
from weft.pattern.normal_form import NormalForm
from weft.statistics.model import Statistics
from weft.statistics.sub_patterns import item_key


class ShapeReader:
    """The shape of a pattern under changing statistics.

    Rates change all the time, selectivities and agreement seldom: as long as the statistics hold the same
    values of these, only the rates are read. Negations and windows that count events depend on rates too.

    >>> from weft.optimizer.trees import leaf
    >>> from weft.pattern.normal_form import Item
    >>> from weft.statistics.model import ItemKey
    >>> form = NormalForm((Item("a", "A"),), frozenset(), window=TimeWindow(60_000_000))
    >>> reader = ShapeReader(form, Context(lambda name: None, False, lambda form: leaf(0)))
    >>> [reader.shape(Statistics({ItemKey("A"): rate})).rates for rate in (2.0, 3.0)]
    [(2.0,), (3.0,)]
    """

    def __init__(self, form: NormalForm, context: Context) -> None:
        self._form, self._context = form, context
        self.items = [item_key(item, form) for item in form.items]
        self._reads_rates_alone = isinstance(form.window, TimeWindow) and not form.negations
        self._latest: tuple[Statistics, Shape] | None = None

    def shape(self, statistics: Statistics) -> Shape:
        """Return the shape under statistics."""
        if self._latest is not None and self._reads_rates_alone:
            known, shape = self._latest
            if statistics.selectivities is known.selectivities and statistics.agreements == known.agreements:
                return replace(shape, rates=tuple(map(statistics.rate, self.items)))
        self._latest = statistics, shape_of(self._form, statistics, self._context)
        return self._latest[1]
