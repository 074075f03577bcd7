"""A cost that no MuSE graph for the queries is below.

Idea        Take a query, and let a binding give each item i the site b(i) of its event; its weight is the
            product of the shares that these sites have in the rates of the kinds. Some site n finds the
            binding first. For every item i with b(i) other than n, a stream into n then brings a projection e
            of the query, smaller than it, that has i, from a vertex that covers the binding's part for e:
            follow from the sink, for item i, the input that covers the part (property 2) until it is at
            another site. A stream costs at least the rate of what it covers, which is the sum over the
            bindings of e that it covers of their weights, times the rate r(e) of e over the whole network.

            Say site n, for a binding whose items T are at n, charges x(i, T) >= 0 for every item i not in T,
            times the binding's weight. If for no e and L, the items of e at n, the streams are overcharged,

                sum over T' of P(T') * (sum of x(i, L | T') over i in e, not in L)  <=  r(e),

            where P(T') is the share of bindings for which just the items T' outside e are at n, then what is
            charged is at most what is sent. If each site charges at least v in total, for every T but all
            items, all bindings that are not within one site pay: v times their weight is a lower bound.
            The largest v is a linear program for each site. Whatever comes out of it is scaled to obey the
            inequalities, so that rounding cannot make the bound wrong.

            For large queries only some items are looked at: r(e) is then the least rate of projections that
            have these of them. For several queries, a stream may serve all whose matches it has, each of
            which is given a share of its cost, in several ways; the best bound counts.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, definitions 4 and 8 and property 2 are what the proof rests on; the bound is our own.
Differs     Nothing.
Complexity  A linear program of 3^i rows and i 2^(i-1) columns for each set of kinds that a site emits, with i
            items, at most MOST_ITEMS.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from itertools import chain, combinations
from math import inf, prod

import numpy as np

from weft.placement.linear_program import maximize
from weft.placement.network import Network, Numbers, bits
from weft.placement.projection import ProjectedQuery, usable_projections

MOST_ITEMS = 4
MANY_SITES = 200  # unlike each other, with more of which only pairs of items are looked at
Rates = Mapping[int, float]  # the rate, or the share of it, that counts for each smaller set of items


def lower_bound(network: Network, queries: Iterable[ProjectedQuery]) -> float:
    """Return a cost that no graph for all the queries is below.

    >>> from weft_lab.placement.example import robots
    >>> round(lower_bound(*robots("SEQ(C c, F f)")), 6)  # each F is sent to the other site
    1.0
    """
    placed = [query for query in queries if query.n_items == len(query.root.kinds) > 1]
    placed = list({query.root.text: query for query in placed}.values())
    if not placed:
        return 0.0
    usable = usable_projections(placed)
    streams = {query: Counter(chain.from_iterable(usable[query].values())) for query in placed}
    users = sum(streams.values(), Counter[str]())
    rates = {
        projection.text: projection.rate(network)
        for query in placed
        for projection in map(query.projection, range(1, query.whole + 1))
    }

    def bound(query: ProjectedQuery, users: Mapping[str, int], free: Container[str] = ()) -> float:
        """Return the bound for a query that pays a user's share of each stream, unless that is free."""
        shares = {text: 0.0 if text in free else rates[text] / users[text] for text in streams[query]}
        paid = {items: min(map(shares.__getitem__, texts)) for items, texts in usable[query].items() if texts}
        return query_bound(network, query, paid)

    alone = {query: bound(query, streams[query]) for query in placed}
    shared = sum(bound(query, users) for query in placed)
    in_turn = 0.0
    taken: set[str] = set()
    for query in sorted(placed, key=lambda query: -alone[query]):
        in_turn += bound(query, streams[query], free=taken)
        taken |= streams[query].keys()
    return max(*alone.values(), shared, in_turn)


def query_bound(network: Network, query: ProjectedQuery, rates: Rates) -> float:
    """Return the bound for one query, if streams count as `rates` says."""
    if not all(map(network.emitters, query.kinds)):
        return 0.0
    shares = np.array([network.rates[kind] / network.totals[kind] for kind in query.kinds]).T
    nearest = _nearest(network)
    most_items = MOST_ITEMS if len(_unlike_sites(shares, nearest)) <= MANY_SITES else 2
    if query.n_items <= most_items:
        return _bound_for(shares, nearest, rates, tuple(range(query.n_items)))
    best = 0.0
    chosen: tuple[int, ...] = ()
    larger: list[tuple[int, ...]] = list(combinations(range(query.n_items), 2))
    while True:
        best_larger = 0.0
        for items in larger:
            bound = _bound_for(shares, nearest, rates, items, best_larger)
            if bound > best_larger:
                best_larger, chosen = bound, items
        if best_larger == 0.0 or len(chosen) == most_items:
            return max(best, best_larger)
        best = max(best, best_larger)
        larger = [(*chosen, item) for item in range(query.n_items) if item not in chosen]


def _bound_for(
    shares: Numbers, nearest: Numbers, rates: Rates, chosen: tuple[int, ...], at_least: float = 0.0
) -> float:
    """Return the bound from looking at some items only, or anything at most `at_least` if it is not above."""
    whole = sum(1 << item for item in chosen)
    least: dict[int, float] = {}  # by set of chosen items, numbered anew
    for items, rate in rates.items():
        if items & whole:
            part = sum(1 << number for number, item in enumerate(chosen) if items >> item & 1)
            least[part] = min(rate, least.get(part, rate))
    shares = shares[:, list(chosen)]
    elsewhere = 1.0 - float(shares.prod(axis=1).sum())
    bound = inf
    for site in _unlike_sites(shares, nearest):
        bound = min(bound, float(nearest[site]) * _most_charged(shares[site], least) * max(elsewhere, 0.0))
        if bound <= at_least:
            break
    return bound


def _nearest(network: Network) -> Numbers:
    """Return what a row costs at least that comes to a site."""
    n_sites = len(network.sites)
    if network.links is None or n_sites == 1:
        return np.ones(n_sites)
    return np.asarray((network.links + np.diag(np.full(n_sites, np.inf))).min(axis=0))


def _unlike_sites(shares: Numbers, nearest: Numbers) -> list[int]:
    """Return one of the sites with equal shares of all kinds each, as near to others; most kinds first."""
    rows = np.column_stack([shares, nearest])
    sites = {row.tobytes(): site for site, row in enumerate(rows)}.values()
    return sorted(sites, key=lambda site: -int((shares[site] > 0).sum()))


def _most_charged(local: Numbers, rates: Rates) -> float:
    """Return the most that a site can charge for every binding, given its shares of the kinds."""
    n_items = len(local)
    whole = (1 << n_items) - 1
    never = sum(1 << item for item in range(n_items) if local[item] == 0)
    always = sum(1 << item for item in range(n_items) if local[item] == 1)
    at_site = [here for here in range(whole) if not here & never and here & always == always]
    if not at_site:
        return 0.0  # all events arise there
    pairs = [(item, here) for here in at_site for item in bits(whole & ~here)]
    columns = {pair: number for number, pair in enumerate(pairs)}
    packed: list[Numbers] = []
    limits: list[float] = []
    for items, rate in rates.items():
        parts: dict[int, Numbers] = {}
        for here in at_site:
            if items & ~here:
                row = parts.setdefault(here & items, np.zeros(len(columns)))
                share = _share(local, here, whole & ~items)
                for item in bits(items & ~here):
                    row[columns[item, here]] += share
        packed += parts.values()
        limits += [rate] * len(parts)
    charged = np.array([[float(here == own) for _, own in pairs] for here in at_site])
    return _largest_least(np.array(packed), np.array(limits), charged)


def _share(local: Numbers, here: int, items: int) -> float:
    """Return the share of bindings for which, of some items, just those given are at the site."""
    return prod(float(local[item] if here >> item & 1 else 1 - local[item]) for item in bits(items))


def _largest_least(packed: Numbers, limits: Numbers, charged: Numbers) -> float:
    """Return the largest v with charged @ x >= v and packed @ x <= limits, or a bit less."""
    scale = float(limits.max())
    if scale <= 0.0:
        return 0.0
    rows = np.block([[packed, np.zeros((len(packed), 1))], [-charged, np.ones((len(charged), 1))]])
    goal = np.zeros(rows.shape[1])
    goal[-1] = 1.0
    right = np.concatenate([limits / scale, np.zeros(len(charged))])
    charges = maximize(goal, rows, right)[:-1] * scale
    charges[(packed[limits == 0.0] > 0).any(axis=0)] = 0.0
    used = packed @ charges
    excess = float(np.max(np.divide(used, limits, out=np.zeros(len(used)), where=limits > 0), initial=1.0))
    return float((charged @ charges).min()) / excess
