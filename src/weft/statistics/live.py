"""Statistics of a running shard: rates, selectivities and agreement on keys over a sliding window of time.

Types are counted exactly, and so is what the operators of the plan count anyway. All else is estimated from a
bounded number of rows and tuples of some batches, drawn by dice that depend on the number of the step and on
nothing else, and added up in exponential histograms. So the same batches give the same statistics, and the
state is small.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.state import END_OF_TIME
from weft.statistics import recent_events
from weft.statistics.counted_step import CountedStep, Movement
from weft.statistics.exponential_histogram import ExponentialHistogram
from weft.statistics.model import GroupKey, Inquiry, ItemKey, Statistics
from weft.statistics.recent_events import RecentSample, merge_samples, thin
from weft.statistics.row_sampling import sample_rows
from weft.statistics.sampling import (
    MICROSECONDS,
    UNSEEN,
    SampledQuestion,
    Sampling,
    TupleSampler,
    agreement_question,
    digest_of,
    is_answerable,
    microseconds,
    prepare,
)
from weft.statistics.sliding_counts import HitRate, ItemCount, UnwatchedSteps, sliding_window

TICKS = 64  # into which the sliding window is cut; what falls into one is not told apart
ROUND = 32  # ticks in which all questions get their turn, unless there are too many
BETWEEN = 8  # a batch in which no tuples are drawn is looked at in so much less detail
UNMOVED = 8  # rounds after which tuples are drawn though nothing that is counted has moved


class LiveStatistics:
    """What the latest `window_seconds` of a stream say of items, predicate groups and keys.

    `n_rows` and `n_tuples` count what was looked at; `has_moved` says whether a step that was counted may
    have changed an answer. Of the `initial` statistics, agreement on the keys `guessed` was not measured.

    >>> import pyarrow as pa
    >>> from weft.runtime.columns.events import StringPool
    >>> ids = pa.array(np.arange(100))
    >>> moments = np.arange(100) * 500_000
    >>> events = Events(moments, np.arange(100) % 2, ("A", "B"), {}, ids, StringPool(pa.array([], "string")))
    >>> live = LiveStatistics(Inquiry([ItemKey("A"), ItemKey("C")]), window_seconds=100)
    >>> live.observe(events)
    >>> known = live.statistics()
    >>> round(known.rate(ItemKey("A")), 2), round(known.rate(ItemKey("C")), 2)
    (1.01, 0.01)
    """

    def __init__(
        self,
        inquiry: Inquiry,
        window_seconds: float | None = None,
        *,
        initial: Statistics | None = None,
        sampling: Sampling | None = None,
        guessed: Collection[str] = (),
    ) -> None:
        self.sampling = sampling or Sampling()
        self.initial = initial or Statistics()
        longest = inquiry.largest_window
        self.window_seconds = sliding_window(longest) if window_seconds is None else window_seconds
        if not self.window_seconds > 0:
            raise ValueError(f"found a window of {self.window_seconds} seconds; expected more than 0")
        self.n_rows = self.n_tuples = 0
        self._tick = max(round(self.window_seconds * MICROSECONDS / TICKS), 1)
        self._reach = self._tick * TICKS if longest is None else max(microseconds(longest), 1)
        self._questions = [
            prepare(asked) for asked in dict.fromkeys(inquiry.questions) if is_answerable(asked)
        ]
        self._agreements = {
            key: replace(prepare(agreement_question(key, None)), window=self._reach) for key in inquiry.keys
        }
        items = inquiry.every_item
        self._items_of: dict[str, list[ItemKey]] = {}
        for item in items:
            self._items_of.setdefault(item.type, []).append(item)
        self._columns = inquiry.attributes
        self._roles: dict[ItemKey, int] = {}
        for asked in (*self._questions, *self._agreements.values()):
            for item in asked.items:
                self._roles.setdefault(item, len(self._roles))
        self._step = 0
        self._turn = -1
        self._first: int | None = None
        self._now = 0
        self._total = ItemCount(self._histogram())
        self._counts = {item: ItemCount(self._histogram(), held=self._usual_share(item)) for item in items}
        self._shares = {
            name: HitRate(TICKS, self.sampling.epsilon)
            for name in (*(asked.digest for asked in self._questions), *self._agreements)
        }
        self._recent: RecentSample | None = None
        self._looked: int | None = None  # the tick in which tuples were last looked at
        pace = ROUND * self.sampling.questions_per_look // max(len(self._questions), 1)
        self._pace = min(max(pace, 1), ROUND)
        self._selectivities: tuple[int, Mapping[GroupKey, float]] | None = None
        self._movement = Movement()
        self._movement.mark([self.initial.rate(item) for item in self._counts])
        self._is_counted = self.has_moved = False
        given = self.initial.selectivities
        told = {asked.digest: given.get(asked.question.group) for asked in self._questions}
        told |= {key: self.initial.agreements.get(key) for key in self._agreements.keys() - {*guessed}}
        self._given = {name: share for name, share in told.items() if share is not None}

    @property
    def types(self) -> Iterable[str]:
        """The types whose events are counted."""
        return self._items_of

    def _usual_share(self, item: ItemKey) -> float:
        """Return the share of its type that an item is expected to have, before any event was looked at."""
        return min(1.0, self.initial.rate(item) / max(self.initial.rate(ItemKey(item.type)), 1e-30))

    def _histogram(self, state: Sequence[Sequence[float]] = ()) -> ExponentialHistogram:
        return ExponentialHistogram.from_json(state, TICKS, self.sampling.epsilon)

    def catch_up(self, unwatched: UnwatchedSteps) -> None:
        """Take the numbers of events in steps that were not observed."""
        if unwatched.n_events:
            self._first = unwatched.since if self._first is None else min(self._first, unwatched.since)
            self._now = max(self._now, unwatched.until)
            ticks, total, amounts = unwatched.spread(self._tick, TICKS)
            self._total.histogram.extend(_nonzero_amounts(ticks, total))
            self._add(ticks, amounts, {})

    def _add(self, ticks: Array, amounts: Mapping[str, Array], shares: Mapping[ItemKey, float]) -> None:
        for name in self._items_of.keys() & amounts.keys():
            for item in self._items_of[name]:
                count = self._counts[item]
                share = shares.get(item, count.held / count.looked)
                count.histogram.extend(_nonzero_amounts(ticks, amounts[name] * share))

    def observe(
        self, events: Events, frontier: int = END_OF_TIME, counted: CountedStep | None = None
    ) -> None:
        """Take the events of a step, sorted; no event to come is before the frontier.

        Where operators have `counted`, that is taken instead of samples. What they do not count is drawn
        once, then when something that they do count has moved, and again after a long time.
        """
        self._step += 1
        self.has_moved = counted is None
        if events.n_events:
            earliest, latest = int(events.times[0]), int(events.times[-1])
            self._now = latest if self._first is None else max(self._now, latest)
            self._first = earliest if self._first is None else min(self._first, earliest)
        if self._first is not None and frontier != END_OF_TIME:
            self._now = max(self._now, frontier)
        if not events.n_events:
            return
        dice = np.random.default_rng((self.sampling.seed, self._step))
        tick = self._now // self._tick
        ticks = np.arange(max(tick - TICKS + 1, int(events.times[0]) // self._tick), tick + 2)
        edges = np.searchsorted(events.times, ticks * self._tick, side="left")
        self._total.histogram.extend(_nonzero_amounts(ticks, np.diff(edges)))
        by_type = {name: np.searchsorted(events.rows_of_type(name), edges) for name in self._items_of}
        amounts = {name: np.diff(places) for name, places in by_type.items()}
        shares: dict[ItemKey, float] = {}
        is_due = self._looked is None or tick >= self._looked + self._pace
        if counted is not None:
            self._add(ticks, amounts, self._shares_of(counted, tick))
            is_due &= self._is_drawing(events, counted, tick)
        if is_due or self._is_worth_a_look(events, counted):
            most = self.sampling.rows_per_type if is_due else self.sampling.rows_per_type // BETWEEN
            sample = self._sample_rows(events, int(edges[0]), max(most, 1), shares, dice)
            self._recent = merge_samples(self._recent, sample)
        if counted is None:
            self._add(ticks, amounts, shares)
        if self._recent is None:
            return
        if is_due:
            self._sample_tuples(self._recent, tick, dice, counted)
            self._looked, self._selectivities, self.has_moved = tick, None, True
            self._recent = replace(self._recent, is_new=np.zeros_like(self._recent.is_new))
        if is_due or self._recent.events.n_events > 2 * self.sampling.kept_events:
            n_kept = self.sampling.kept_events // (recent_events.SLOTS * max(len(self._roles), 1))
            self._recent = thin(self._recent, self._now, self._reach, max(n_kept, 1), dice)

    def _shares_of(self, counted: CountedStep, tick: int) -> dict[ItemKey, float]:
        """Take what was counted for questions, and return the share of its type that each item has."""
        self._is_counted = True
        for item, (n_rows, n_passed) in counted.items.items():
            if item in self._counts:
                self._counts[item].look(n_rows, n_passed, self.sampling.rows_per_type)
        for name, (n_looked, n_held) in counted.shares.items():
            self._shares[name].add(tick, n_looked, n_held)
        self._movement.add(counted.joins)
        return {item: passed / rows for item, (rows, passed) in counted.items.items() if rows}

    def _is_drawing(self, events: Events, counted: CountedStep, tick: int) -> bool:
        """Say whether to draw tuples for what is not counted: a window after that was wanted first."""
        movement, rates = self._movement, self._rates()
        is_open = any(self._is_open(name, tick) for name in self._shares if name not in counted.shares)
        is_long_ago = self._looked is not None and tick >= self._looked + UNMOVED * ROUND
        self.has_moved = movement.has_moved(rates, self.window_seconds)
        if self.has_moved:
            self._selectivities = None
        if not movement.owed and (self.has_moved or is_open or is_long_ago):
            movement.mark(rates)
            movement.owed = sum(name not in counted.shares for name in self._shares)
            movement.since, self._recent = int(events.times[0]), None
        return bool(movement.owed) and int(events.times[-1]) >= (movement.since or 0) + self._reach

    def _is_open(self, name: str, tick: int) -> bool:
        """Say whether there never was an answer to a question, and none was given in the beginning."""
        return name not in self._given and self._shares[name].value(self._looked or tick, 1) is None

    def _rates(self) -> list[float]:
        given = self.initial.rates
        return [self._rate(count, given.get(item)) for item, count in self._counts.items()]

    def _is_worth_a_look(self, events: Events, counted: CountedStep | None) -> bool:
        """Say whether rows are needed for rates, or as partners of events that are looked at next."""
        if counted is not None:
            return bool(self._movement.owed)
        if any(item.predicates for item in self._counts):
            return True
        n_new = 0 if self._recent is None else int(np.count_nonzero(self._recent.is_new))
        following = (self._looked or 0) + self._pace
        is_in_reach = int(events.times[-1]) >= following * self._tick - self._reach
        return is_in_reach and n_new < self.sampling.kept_events

    def _sample_rows(
        self,
        events: Events,
        first_row: int,
        most: int,
        shares: dict[ItemKey, float],
        dice: np.random.Generator,
    ) -> RecentSample:
        """Return a sample of rows from the first that counts; note which share of its type each item has."""
        sample, looked = sample_rows(
            events, first_row, self._reach, most, self._items_of, self._roles, self._columns, dice
        )
        self.n_rows += sample.events.n_events
        for item, (n_looked, n_held) in looked.items():
            shares[item] = n_held / n_looked
            self._counts[item].look(n_looked, n_held, self.sampling.rows_per_type)
        return sample

    def _sample_tuples(
        self, sample: RecentSample, tick: int, dice: np.random.Generator, counted: CountedStep | None
    ) -> None:
        """Draw tuples with an event that is new, for questions whose turn it is and for keys."""
        known = {} if counted is None else counted.shares
        self._movement.owed = max(0, self._movement.owed - self.sampling.questions_per_look)
        n_asked = 0
        for _ in range(len(self._questions)):
            self._turn = (self._turn + 1) % len(self._questions)
            asked = self._questions[self._turn]
            if asked.digest not in known:
                self._ask({asked.digest: asked}, sample, tick, dice)
                n_asked += 1
            if n_asked == self.sampling.questions_per_look:
                break
        if self._agreements:
            self._ask(self._agreements, sample, tick, dice)

    def _ask(
        self,
        questions: Mapping[str, SampledQuestion],
        sample: RecentSample,
        tick: int,
        dice: np.random.Generator,
    ) -> None:
        """Draw tuples with a new event for questions about the same items, and note how often each holds.

        As the first of the new events is the anchor, each tuple comes up once.
        """
        asked = next(iter(questions.values()))
        places = [sample.roles[self._roles[item]] for item in asked.items]
        sampler = TupleSampler(places, asked.order, asked.window, sample.events, sample.is_new)
        tuples = sampler.draw_at_most(self.sampling.tuples, dice)
        n_tuples = tuples.shape[1]
        self.n_tuples += n_tuples
        for name, question in questions.items() if n_tuples else ():
            held = question.holds(tuples, sample.events)
            self._shares[name].add(tick, n_tuples, int(np.count_nonzero(held)))

    def statistics(self) -> Statistics:
        """Return what is known at the latest time or frontier seen.

        What was not watched, or not seen often enough (see `Sampling`), is as in the initial
        statistics; what these do not say of groups and keys is left to the defaults. A rate that they
        do not say is that of the events so far. An item without events counts as half of one.
        """
        if self._first is None:
            return self.initial
        tick, least, looked = self._now // self._tick, self.sampling.least_tuples, self._looked or 0
        waited = 0 if self._is_counted else (tick - looked) // ROUND * ROUND
        as_of = looked + waited  # between looks, the answers stay the same
        rates = dict(zip(self._counts, self._rates(), strict=True))
        if self._selectivities is None or self._selectivities[0] != as_of:
            self._selectivities = as_of, self._selectivities_at(as_of)
        told = {key: self._given.get(key) for key in self._agreements}
        shares = {key: self._shares[key].value(as_of, least, share) for key, share in told.items()}
        return replace(
            self.initial,
            rates={**self.initial.rates, **rates},
            selectivities=self._selectivities[1],
            agreements={
                **self.initial.agreements,
                **{key: share for key, share in shares.items() if share is not None},
            },
            total_rate=self._rate(self._total, self.initial.total_rate),
        )

    def _rate(self, count: ItemCount, initial: float | None) -> float:
        """Return the events of a second of the sliding window; the initial rate where they are too few."""
        first = self._now if self._first is None else self._first
        start = (self._now // self._tick - TICKS + 1) * self._tick
        begins = max(start, first if count.since is None else count.since)
        seconds = (self._now - begins) / MICROSECONDS
        n_events = count.histogram.total(self._now // self._tick)
        is_covered = seconds >= self.sampling.least_covered * self.window_seconds
        if initial is None or is_covered or n_events >= self.sampling.least_events:
            return max(n_events, UNSEEN) / (seconds or 1.0)
        return initial

    def _selectivities_at(self, tick: int) -> Mapping[GroupKey, float]:
        """Return the selectivities at a tick, those of the beginning where too little was looked at."""
        selectivities, least = dict[GroupKey, float](), self.sampling.least_tuples
        for asked in self._questions:
            share = self._shares[asked.digest].value(tick, least, self._given.get(asked.digest))
            if share is not None:
                selectivities.setdefault(asked.question.group, share)
        return {**self.initial.selectivities, **selectivities}

    def rate_variance(self, item: ItemKey, rate: float) -> float:
        """Return how much the rate of an item varies within the sliding window.

        Where too little is known, it is that of arrivals at random with a rate, counted tick by tick.
        """
        variance = self._counts[item].histogram.rate_variance(self._now // self._tick)
        seconds = self._tick / MICROSECONDS
        return rate / seconds if variance is None else variance / seconds**2

    def to_json(self) -> dict[str, Any]:
        """Return the state as values of JSON, of bounded size."""
        return {
            "tick": self._tick,
            "step": self._step,
            "turn": self._turn,
            "looked": self._looked,
            "first": self._first,
            "now": self._now,
            "total": self._total.histogram.to_json(),
            "items": {
                digest_of(item): [count.since, count.histogram.to_json(), count.looked, count.held]
                for item, count in self._counts.items()
            },
            "shares": {name: share.to_json() for name, share in self._shares.items()},
            "roles": [digest_of(role) for role in self._roles],
            "recent": recent_events.to_json(self._recent),
            "counted": self._is_counted,
            "movement": self._movement.to_json(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `to_json` gave.

        What is watched need not be the same: what is new starts empty, what is gone is forgotten. A
        state of another sliding window is not used at all.
        """
        if state["tick"] != self._tick:
            return
        self._step, self._turn, self._looked = state["step"], state["turn"], state["looked"]
        self._first, self._now = state["first"], state["now"]
        self._total = ItemCount(self._histogram(state["total"]))
        since_now = self._now if self._first is not None else None
        for item in self._counts:
            new = (since_now, (), 1.0, self._usual_share(item))
            since, histogram, looked, held = state["items"].get(digest_of(item), new)
            self._counts[item] = ItemCount(self._histogram(histogram), since, looked, held)
        for name in self._shares.keys() & state["shares"].keys():
            self._shares[name] = HitRate(TICKS, self.sampling.epsilon, state["shares"][name])
        known = {digest: number for number, digest in enumerate(state["roles"])}
        roles = [known.get(digest_of(role)) for role in self._roles]
        self._recent = recent_events.from_json(state["recent"], roles)
        self._is_counted, self._movement = state["counted"], Movement.from_json(state["movement"])
        self._selectivities = None


def _nonzero_amounts(ticks: Array, amounts: Array) -> list[tuple[int, float]]:
    """Return (tick, amount) where there is an amount; the last of the ticks is an end."""
    return [
        (tick, amount) for tick, amount in zip(ticks[:-1].tolist(), amounts.tolist(), strict=True) if amount
    ]
