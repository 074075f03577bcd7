"""Place one query by aMuSE or aMuSE*: projections that may pay, placed from small to large.

Idea        For every beneficial projection keep the cheapest graph for each place where it may be found:
            at all sites that emit one of its kinds, or at one of them. Graphs of larger projections are made
            of those of smaller ones, and what two of them send to the same site is paid once. aMuSE* takes
            only a projection whose matches are all together no more than the events of one of its kinds at
            one site, and only where such events arise: placed there, it saves something for sure.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, section 6.2, algorithms 2 and 3, and aMuSE*.
Differs     A projection is placed both ways and the cost decides, where the paper decides by inequality 6. At
            the sites of a kind, every input that has the kind must be divided by it as well: the paper sends
            all of such an input to all sites, which then find the same matches. Of the combinations, only the
            cheapest by the sum of the costs of their inputs are tried, more of them for smaller queries, and
            a single host is the cheapest by that sum instead of any. Projections that are nowhere
            cheaper to read than their parts, by the same sums, do not take part, and of very many only the
            most selective do. A graph has one option at most for a projection: inputs that rest on different
            ones are not combined. In aMuSE* the places of a projection are limited by the kinds of its items,
            where the paper limits them by the inputs of each combination, and the whole query may be
            placed anywhere.
Complexity  O(4^n (n + s)) for the sums, for n items and s sites, as operations on rows of all sites; then
            O(p n k) graphs for p beneficial projections and k combinations each.
"""

import heapq
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np

from weft.errors import PlacementError
from weft.placement.arrangement import Arrangement, partition_kinds
from weft.placement.combinations import (
    CheapestCombinations,
    Combination,
    beneficial_projections,
    rate_per_binding,
)
from weft.placement.draft import NOTHING, GraphDraft
from weft.placement.network import Network, Numbers, bits, mask_of
from weft.placement.projection import ProjectedQuery, Projection

MayHost = Callable[[Projection, str], bool]
MOST_GRAPHS = 3000  # that are put together for one query
MOST_ITEMS = 12
MOST_PROJECTIONS = 800  # of a query; those with the fewest matches for their events
TRIED_INPUTS = 3  # options of an input that are tried in a graph


class Option(NamedTuple):
    """One way to find a projection, and a draft of all that it rests on, itself included."""

    arrangement: Arrangement
    draft: GraphDraft


def place_query(query: ProjectedQuery, others: GraphDraft) -> GraphDraft:
    """Return a draft with the query besides the others, by aMuSE.

    >>> from weft.placement.draft import TransferLedger
    >>> from weft_lab.placement.example import robots
    >>> network, (query,) = robots("SEQ(C c, F f)")
    >>> place_query(query, TransferLedger(network).draft()).cost
    1.0
    """
    projections = beneficial_projections(others.ledger.network, query)
    return _construct(query, projections, others, lambda *_: True)


def place_query_star(query: ProjectedQuery, others: GraphDraft) -> GraphDraft:
    """Return a draft with the query besides the others, by aMuSE*.

    >>> from weft.placement.draft import TransferLedger
    >>> from weft_lab.placement.example import robots
    >>> network, (query,) = robots("SEQ(C c, F f)")
    >>> place_query_star(query, TransferLedger(network).draft()).cost
    1.0
    """
    network = others.ledger.network

    def may_host(projection: Projection, kind: str) -> bool:
        saves = rate_per_binding(network, Projection(kind, (kind,))) >= projection.rate(network)
        return saves or projection == query.root

    projections = [
        items
        for items in beneficial_projections(network, query)
        if any(may_host(query.projection(items), kind) for kind in query.projection(items).kinds)
    ]
    return _construct(query, projections, others, may_host)


def _construct(
    query: ProjectedQuery, projections: list[int], others: GraphDraft, may_host: MayHost
) -> GraphDraft:
    """Return a draft with the query besides the others.

    `projections` are those to use, smaller ones first; `may_host` says whether a projection may be placed
    where the events of one of its kinds arise.
    """
    if query.n_items > MOST_ITEMS:
        raise PlacementError(
            f"query {query.name} has {query.n_items} items, more than the {MOST_ITEMS} that aMuSE can place; "
            "place it centrally or at a single sink"
        )
    projections = _most_selective(others.ledger.network, query, projections)
    construction = _Construction(query, others, may_host)
    most = max(1, MOST_GRAPHS // max(1, sum(2 * items.bit_count() for items in projections)))
    for items in projections:
        construction.add(items, most)
    return construction.cheapest(query.whole)


def _most_selective(network: Network, query: ProjectedQuery, projections: list[int]) -> list[int]:
    """Return as many projections as can be handled, in the same order; the whole query, the last, is kept."""

    def matches_per_event(items: int) -> float:
        projection = query.projection(items)
        return projection.rate(network) / sum(network.totals[kind] for kind in projection.kinds)

    kept = set(heapq.nsmallest(MOST_PROJECTIONS, projections[:-1], key=matches_per_event))
    return [items for items in projections if items in kept or items == query.whole]


class _Construction:
    """The options found so far for the projections of a query, and what it costs to read them.

    A way to place a projection is a column: first every site on its own, then all sites that emit a kind.
    """

    def __init__(self, query: ProjectedQuery, others: GraphDraft, may_host: MayHost) -> None:
        network = self.network = others.ledger.network
        self.query = query
        self.others = others
        self.may_host = may_host
        self.kinds = tuple(dict.fromkeys(query.root.kinds))
        self.n_sites = len(network.sites)
        self.hosts = [1 << site for site in range(self.n_sites)]
        self.hosts += [network.emitters(kind) for kind in self.kinds]
        self.divided = {kind: others.ledger.events(kind).hosts for kind in self.kinds}
        self.is_host = np.column_stack([mask_of(hosts, self.n_sites) for hosts in self.hosts]).astype(float)
        self.distances = network.distances @ self.is_host  # of a row, from a site to all sites of a column
        self.options: dict[str, list[Option]] = {}
        self.reading: dict[str, Numbers] = {}  # for every option and column, what it costs to read it
        self.inputs: list[int] = []
        self.texts_read = cache(self._texts_read)
        self.least = np.zeros((0, len(self.hosts)))
        for item in query.single_items:
            self.offer(item, [self.as_placed(query.projection(item).text)])
        for kind in query.event_kinds:
            self.options.setdefault(kind, [self.as_placed(kind)])

    def as_placed(self, text: str) -> Option:
        """Return a projection as others find it, or as it arises: that costs nothing."""
        return Option(self.others.source(text), self.nothing)

    @cached_property
    def nothing(self) -> GraphDraft:
        """A draft of nothing besides the others."""
        return GraphDraft(self.others.ledger, {}, {}, 0.0, self.others)

    def offer(self, items: int, options: list[Option]) -> None:
        """Let larger projections read one, by one of some options, or as it is found already."""
        text = self.query.projection(items).text
        if text not in self.options:
            self.options[text] = [self.as_placed(text)] if text in self.others.arrangements else options
        if text not in self.reading:
            self.reading[text] = np.array([self.cost_to_read(option) for option in self.options[text]])
        self.inputs.append(items)
        self.least = np.vstack([self.least, self.reading[text].min(axis=0)])

    def cost_to_read(self, option: Option) -> Numbers:
        """Return for every column the cost of an option and of reading it there; infinite if it cannot be."""
        arrangement, draft = option
        sent = self.others.sends.get(arrangement.projection.text, NOTHING)
        price = np.where(mask_of(sent.everything_to, self.n_sites), 0.0, arrangement.away)
        costs: Numbers = price @ self.is_host + draft.cost
        for place, kind in enumerate(self.kinds, start=self.n_sites):
            if kind in arrangement.projection.kinds:
                costs[place] = draft.cost if arrangement.partition == kind else np.inf
        return costs

    def add(self, items: int, most: int) -> None:
        """Work out the options of a projection."""
        projection = self.query.projection(items)
        if projection.text in self.options or projection.text in self.others.arrangements:
            self.offer(items, [])
            return
        is_input = [part & items == part for part in self.inputs]
        inputs = list(compress(self.inputs, is_input))
        cheapest = CheapestCombinations(items, inputs, self.least[is_input])
        if items != self.query.whole and not self.may_save(items, cheapest.least):
            return
        options: list[Option] = []
        for column in self.columns(items, cheapest.least):
            graphs = [
                (draft, combination)
                for combination in cheapest.of_column(column, most)
                if (draft := self.put_together(items, combination, column))
            ]
            if graphs:
                draft, combination = min(graphs, key=lambda graph: graph[0].cost)
                options.append(self.option(items, combination, column, draft))
        if options:
            self.offer(items, options)

    def may_save(self, items: int, least: Numbers) -> bool:
        """Whether it is cheaper in some column to read a projection from elsewhere than to read its parts."""
        projection = self.query.projection(items)
        divided = [
            (place, Arrangement(self.network, projection, kind, self.divided[kind]).away)
            for place, kind in enumerate(self.kinds, start=self.n_sites)
            if kind in partition_kinds(self.query, projection.kinds)
        ]
        matches = projection.rate(self.network)
        read = (least[: self.n_sites, None] + matches * self.distances).min(axis=0)
        for place, away in divided:
            read = np.minimum(read, least[place] + away @ self.is_host)
        others = [
            place for place, kind in enumerate(self.kinds, self.n_sites) if kind not in projection.kinds
        ]
        columns = [*range(self.n_sites), *others]
        return bool((read[columns] < least[columns] * (1 - 1e-12)).any())

    def columns(self, items: int, least: Numbers) -> Iterator[int]:
        """Yield the ways to place a projection: at all sites of a kind, or at the cheapest one of them.

        A site without any of its events may be cheapest where other queries have its inputs, or by its links.
        """
        projection = self.query.projection(items)
        allowed = partition_kinds(self.query, projection.kinds)
        single: dict[int, None] = {}
        for place, kind in enumerate(self.kinds):
            if kind in projection.kinds and self.may_host(projection, kind):
                sites = bits(self.hosts[self.n_sites + place])
                single[min(sites, key=least.__getitem__)] = None
                if kind in allowed and len(sites) > 1 and least[self.n_sites + place] < np.inf:
                    yield self.n_sites + place
        if self.others.arrangements or self.network.links is not None:
            single[int(np.argmin(least[: self.n_sites]))] = None
        yield from single

    def put_together(self, items: int, combination: Combination, column: int) -> GraphDraft | None:
        """Return the inputs of a combination, and negated events, as a column reads them.

        Of each, it is the option that adds least.
        """
        draft = self.nothing
        partition = self.partition(column)
        for text in self.texts_read(items, combination):
            best: GraphDraft | None = None
            for arrangement, rests_on in self.options_to_try(text, column):
                is_divided = partition is not None and partition in arrangement.projection.kinds
                extended = draft.sending(rests_on, text, 0 if is_divided else self.hosts[column])
                if extended and (best is None or extended.cost < best.cost):
                    best = extended
            if best is None:
                return None
            draft = best
        return draft

    def _texts_read(self, items: int, combination: Combination) -> tuple[str, ...]:
        """Return the inputs of a combination and the negated events that a projection of them needs."""
        texts = (self.query.projection(part).text for part in combination)
        return tuple(dict.fromkeys((*texts, *sorted(self.query.needed_kinds(items, combination)))))

    def option(self, items: int, combination: Combination, column: int, draft: GraphDraft) -> Option:
        """Return the option of a projection whose inputs are in a draft."""
        kind = self.partition(column)
        hosts = np.array([column]) if kind is None else self.divided[kind]
        arrangement = self.others.ledger.arrange(self.query, items, combination, kind, hosts)
        arrangements = {**draft.arrangements, arrangement.projection.text: arrangement}
        return Option(
            arrangement, GraphDraft(draft.ledger, arrangements, draft.sends, draft.cost, self.others)
        )

    def partition(self, column: int) -> str | None:
        """Return the kind whose sites a column is, None for a single site."""
        return self.kinds[column - self.n_sites] if column >= self.n_sites else None

    def options_to_try(self, text: str, column: int) -> list[Option]:
        """Return the options of an input that are cheapest to read in a column."""
        options = self.options[text]
        if len(options) == 1:
            return options
        costs = self.reading[text][:, column]
        order = np.argsort(costs, kind="stable")[:TRIED_INPUTS]
        return [options[number] for number in order.tolist() if costs[number] < np.inf]

    def cheapest(self, items: int) -> GraphDraft:
        """Return the others with the cheapest option of a projection."""
        options = self.options[self.query.projection(items).text]
        return min((option.draft for option in options), key=lambda draft: draft.cost).with_others()
