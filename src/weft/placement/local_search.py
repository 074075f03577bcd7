"""Improve drafts for many queries by replanning some of them while the others stay.

Idea        A reply is the cheapest plan of one query when the others stay as they are and what they send is
            free. Plans start from replies of all queries in turn, and are improved by taking some queries out
            and putting them in again, with prices changed at random so that other plans come up. What is a
            little worse may stay for a while (record-to-record travel); the best is kept.
Reference   Dueck. New optimization heuristics: the great deluge algorithm and the record-to-record travel.
            Journal of Computational Physics 104(1), 1993. Schrimpf et al. Record breaking optimization
            results using the ruin and recreate principle, ibid. 159(2), 2000.
Differs     Queries are put in by dynamic programming; hosts of every projection are chosen anew after that.
Complexity  A step takes as long as one to three replies, see cheapest_plan.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from weft.placement.arrangement import Arrangement
from weft.placement.cheapest_plan import CheapestPlan, Present, Targets
from weft.placement.draft import NOTHING, GraphDraft, TransferLedger
from weft.placement.hosting import choose_hosts
from weft.placement.network import Network, Numbers, mask_of
from weft.placement.own_combinations import with_own_combinations
from weft.placement.projection import ProjectedQuery, usable_projections

MOST_HOSTS = 512  # beyond that many sites, hosts are not chosen one by one
STEPS = 6  # of the search, unless told otherwise
PROMISING = 2.0  # how much worse than the best a start may be that is gone on with
MANY_QUERIES = 8  # with more, none that is worse
MOST_STEPS = 100_000
LIKELY_SITES = 4  # to which all that is found at a single site may move
PATIENCE = 300  # steps without gain after which the search ends
TOLERANCE = 0.02  # how much worse than the best a plan may be that stays, at first


class PlacementSearch:
    """Drafts for the queries of a workload."""

    def __init__(self, network: Network, queries: Iterable[ProjectedQuery]) -> None:
        self.network = network
        self.ledger = TransferLedger(network)
        unique = {query.root.text: query for query in queries if query.n_items > 1}
        self.roots = tuple(unique)
        self.queries = tuple(unique.values())
        self.targets = {query: Targets(self.ledger, query) for query in self.queries}
        self._usable = usable_projections(self.queries)
        self._replies: dict[tuple[int, frozenset[Arrangement]], GraphDraft] = {}

    def without(self, draft: GraphDraft, numbers: Iterable[int]) -> GraphDraft:
        """Return what is left of a draft without some queries."""
        removed = {self.roots[number] for number in numbers}
        return draft.needed_for(root for root in self.roots if root not in removed)

    def reply(self, draft: GraphDraft, number: int, scales: Mapping[str, float] | None = None) -> GraphDraft:
        """Return the cheapest way to add a query to a draft; `scales` change the prices of kinds of events.

        A kind that several projections of the query read is sent to a site once. The dynamic program does
        not know that, so it is asked again with the price of the kind shared among these.
        """
        base = self.without(draft, [number])
        if self.roots[number] in base.arrangements:
            return base
        if scales is not None:
            return self._reply(base, number, scales)
        key = (number, frozenset(base.arrangements.values()))  # equal arrangements are the same
        if key not in self._replies:
            self._replies[key] = self._reply(base, number, {})
        return self._replies[key]

    def _reply(self, base: GraphDraft, number: int, scales: Mapping[str, float]) -> GraphDraft:
        targets = self.targets[self.queries[number]]
        prices, present = self._prices(base, targets.query)
        best: GraphDraft | None = None
        for _ in range(3):
            table = CheapestPlan(
                targets, {kind: price * scales.get(kind, 1.0) for kind, price in prices.items()}, present
            )
            cheapest: GraphDraft | None = None
            for target in table.best_targets():
                draft = base.with_arrangements({**table.arrangements(target), **base.arrangements})
                if draft.is_cheaper_than(cheapest):
                    cheapest = draft
            assert cheapest is not None
            is_better = cheapest.is_cheaper_than(best)
            if is_better:
                best = cheapest
            shares = _shares(cheapest, targets.query)
            if not shares or not is_better:
                break
            scales = shares
        assert best is not None
        return best

    def _prices(
        self, base: GraphDraft, query: ProjectedQuery
    ) -> tuple[dict[str, Numbers], dict[int, list[Present]]]:
        """Return what all of every kind costs at each site, and of projections that others find, by items."""
        present: dict[int, list[Present]] = {}
        for items, texts in self._usable[query].items():
            for text in texts:
                if items & (items - 1) and text in base.arrangements:
                    known = Present(base.arrangements[text], base.price(text))
                    present.setdefault(items, []).append(known)
        return {kind: base.price(kind) for kind in query.event_kinds}, present

    def start(self, order: Sequence[int], scales: Mapping[str, float] | None = None) -> GraphDraft:
        """Return the draft that comes from adding one query after the other."""
        draft = self.ledger.draft()
        for number in order:
            draft = self.reply(draft, number, scales)
        return draft

    def at_one_site(self) -> GraphDraft:
        """Return the draft that gathers all events at the site where that is cheapest."""
        kinds = {kind for query in self.queries for kind in query.event_kinds}
        gathered = sum(self.ledger.events(kind).away for kind in sorted(kinds))
        wholes = ((query, query.whole, query.single_items) for query in self.queries)
        return self.ledger.draft_at(int(np.argmin(gathered)), wholes)

    def settle(self, draft: GraphDraft, is_over: Callable[[], bool]) -> GraphDraft:
        """Return a draft that no reply and no other hosts make cheaper."""
        while True:
            before = draft
            for number in range(len(self.roots)):
                if is_over():
                    return draft
                changed = self.reply(draft, number)
                if changed.is_cheaper_than(draft):
                    draft = changed
            draft = self.relocate(self.rehost(draft, draft.arrangements))
            if not draft.is_cheaper_than(before):
                return draft

    def recombine(self, draft: GraphDraft) -> GraphDraft:
        """Return a draft in which hosts have combinations of their own where that is cheaper."""
        for text in tuple(draft.arrangements):
            if text not in draft.arrangements:
                continue
            arrangement = with_own_combinations(draft, text)
            if arrangement is not None:
                changed = draft.with_arrangements({text: arrangement}).needed_for(self.roots)
                if changed.is_cheaper_than(draft):
                    draft = changed
        return draft

    def relocate(self, draft: GraphDraft) -> GraphDraft:
        """Return a draft in which all that one site finds alone may have moved to another one together."""
        by_site: dict[int, list[str]] = {}
        for text, arrangement in draft.arrangements.items():
            if arrangement.partition is None:
                by_site.setdefault(int(arrangement.hosts[0]), []).append(text)
        for texts in by_site.values():
            if len(texts) < 2:  # one alone is for rehost
                continue
            moved = {text: draft.arrangements[text] for text in texts}
            sources = {source for arrangement in moved.values() for source in arrangement.sources}
            gathered = sum(draft.source(source).away for source in sorted(sources - set(texts)))
            for site in np.argsort(gathered, kind="stable")[:LIKELY_SITES].tolist():
                hosts = np.array([site])
                changed = draft.with_arrangements(
                    {text: replace(arrangement, hosts=hosts) for text, arrangement in moved.items()}
                )
                if changed.is_cheaper_than(draft):
                    draft = changed
        return draft

    def rehost(self, draft: GraphDraft, texts: Iterable[str]) -> GraphDraft:
        """Return a draft in which projections have the best hosts, one after the other."""
        if len(self.network.sites) > MOST_HOSTS:
            return draft
        for text in tuple(texts):
            for arrangement in self._with_other_hosts(draft, text):
                changed = draft.with_arrangements({text: arrangement})
                if (
                    arrangement is not draft.arrangements[text]
                    and changed.is_sound()
                    and changed.is_cheaper_than(draft)
                ):
                    draft = changed
        return draft

    def _with_other_hosts(self, draft: GraphDraft, text: str) -> Iterable[Arrangement]:
        """Yield a projection with the best hosts for each partitioning kind, and for none."""
        arrangement = draft.arrangements[text]
        query = arrangement.query
        assert query is not None
        inputs = {arrangement.read_for(items).text: items for items in arrangement.inputs}
        prices = {
            read: draft.price(read, but=arrangement)
            for read in (*inputs, *sorted(query.needed_kinds(arrangement.items, arrangement.inputs)))
        }
        receives = mask_of(draft.sends.get(text, NOTHING).everything_to, len(self.network.sites))
        leaving = self.network.distances[:, receives].sum(axis=1)  # a match, to all that receive every one
        total = float(arrangement.rates.sum())
        single = np.array([int(np.argmin(sum(prices.values()) + total * leaving))])
        parts = (query, arrangement.items, arrangement.inputs)
        yield self.ledger.arrange(*parts, None, single, substitutes=arrangement.substitutes)
        targets = self.targets[query]
        subset = targets.subsets[arrangement.items]
        for number in subset.can_be_placed[subset.can_be_placed < len(targets.kinds)].tolist():
            kind = targets.kinds[number]
            divided = [read for read, items in inputs.items() if kind in query.projection(items).kinds]
            sources = [draft.source(read) for read in divided]
            emitters = np.flatnonzero(self.network.rates[kind] > 0)
            if not all(source.partition == kind and source.is_at_emitters for source in sources):
                continue
            opening = sum((prices[read] for read in prices if read not in divided), np.zeros(len(leaving)))
            share = self.network.rates[kind][emitters] * (total / self.network.totals[kind])
            moving = np.sum([source.rates[emitters] for source in sources], axis=0)
            distances = self.network.distances[emitters]
            serving = moving[:, np.newaxis] * distances + share[:, np.newaxis] * leaving
            hosts = np.full(len(leaving), -1)
            hosts[emitters] = choose_hosts(opening, serving)[1]
            yield self.ledger.arrange(*parts, kind, hosts, substitutes=arrangement.substitutes)


def _shares(draft: GraphDraft, query: ProjectedQuery) -> dict[str, float]:
    """Return one over the number of complete readers of what several projections of a query read."""
    users = Counter(
        read.text
        for arrangement in draft.arrangements.values()
        if arrangement.query is query
        for read in arrangement.reads
        if not read.is_divided
    )
    return {text: 1 / n_users for text, n_users in users.items() if n_users > 1}


def improve(
    search: PlacementSearch,
    draft: GraphDraft,
    *,
    steps: int,
    seed: int = 0,
    is_over: Callable[[], bool] = lambda: False,
) -> GraphDraft:
    """Return the best draft found in a number of steps from a given one, fewer if none helps for long."""
    random = np.random.default_rng(seed)
    kinds = sorted({kind for query in search.queries for kind in query.kinds})
    n_queries = len(search.roots)
    best = current = draft
    last_gain = 0
    for step in range(steps):
        if is_over() or step - last_gain > PATIENCE:
            break
        n_removed = min(n_queries, int(random.integers(1, 4)))
        removed = random.permutation(n_queries)[:n_removed].tolist()
        spread = random.choice([0.0, 0.5, 1.5])
        scales = dict(zip(kinds, np.exp(random.normal(0.0, spread, len(kinds))), strict=True))
        changed = search.without(current, removed)
        for number in removed:
            changed = search.reply(changed, number, scales)
        if changed.cost < best.cost * (1 + TOLERANCE):
            new = [text for text in changed.arrangements if text not in current.arrangements]
            changed = search.rehost(changed, new)
        allowed = best.cost * (1 + TOLERANCE * (1 - step / steps))
        if changed.cost <= max(allowed, current.cost):
            current = changed
        if current.is_cheaper_than(best):
            best, last_gain = current, step
    return best


def search_draft(
    network: Network,
    queries: Iterable[ProjectedQuery],
    *,
    seconds: float | None = None,
    steps: int | None = None,
    seed: int = 0,
) -> GraphDraft:
    """Return the best draft found; the same for the same seed and steps, unless the time runs out.

    Without a limit, there are `STEPS` steps. Starts with the queries one after another, large ones first, at
    full prices and at prices shared with the other queries, and with all queries at one site.

    >>> from weft_lab.placement.example import robots
    >>> search_draft(*robots("SEQ(C c, F f)")).cost
    1.0
    """
    search = PlacementSearch(network, queries)
    end = inf if seconds is None else time.perf_counter() + seconds

    def is_over() -> bool:
        return time.perf_counter() > end

    if steps is None:
        steps = STEPS if seconds is None else MOST_STEPS
    numbers = range(len(search.roots))
    order = sorted(numbers, key=lambda number: -search.queries[number].n_items)
    users = Counter(kind for query in search.queries for kind in set(query.kinds))
    shares = {kind: 1 / n_users for kind, n_users in users.items()}
    best: GraphDraft | None = None
    starts = [lambda: search.start(order), lambda: search.start(order, shares), search.at_one_site]
    promising = PROMISING if len(search.roots) <= MANY_QUERIES else 1.0
    seen: set[float] = set()
    for start in starts[: 1 if len(search.roots) == 1 else None]:
        if best is None or not is_over():
            draft = start()
            if best is None or (draft.cost < promising * best.cost and draft.cost not in seen):
                seen.add(draft.cost)
                draft = search.settle(draft, is_over)
            if draft.is_cheaper_than(best):
                best = draft
    assert best is not None
    improved = improve(search, best, steps=steps, seed=seed, is_over=is_over)
    best = search.settle(improved, is_over) if improved.is_cheaper_than(best) else best
    return search.recombine(best)
