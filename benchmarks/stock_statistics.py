"""What is known of the stock stream: its exact rates and selectivities, as the optimizer wants them."""

from functools import cache

from stocks import N_TYPES, stock_rates, stock_selectivities

from weft.expressions import Attribute, Comparison
from weft.schema import DOUBLE
from weft.statistics.model import ItemKey, Statistics, group_key


@cache
def stock_statistics(seconds: float | None = None, n_types: int = N_TYPES) -> Statistics:
    """Return the statistics of a stream that lasts so long.

    >>> len(stock_statistics(60.0, n_types=4).rates)
    4
    """
    rates = {ItemKey(name): rate for name, rate in stock_rates(n_types).items()}
    left, right = (Attribute(variable, "diff", type=DOUBLE) for variable in ("$0", "$1"))
    shares = {
        group_key([ItemKey(a), ItemKey(b)], [Comparison(operator, left, right)]): share
        for (a, b, operator), share in stock_selectivities(n_types).items()
        if a != b
    }
    return Statistics(rates, shares, total_rate=sum(rates.values()), duration=seconds)
