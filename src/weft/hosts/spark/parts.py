"""How the queries of a stream are divided into parts, and a part into shards.

Queries that agree on keys form a part that is sharded by these. Of the others, those that share a
plan node stay together; a part of them has one shard. Trend queries with the same groups form a part that
is sharded by these, and those without groups one with one shard. A query keeps its part over restarts,
with its state: what was decided at the start is data (`Division`), to which new queries are added.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from weft.errors import DataError, WeftError
from weft.normalize.pipeline import normalize
from weft.pattern.nodes import CountWindow, Query
from weft.pattern.normal_form import NormalForm
from weft.plan.dag import readers
from weft.plan.nodes import Filter, Plan, Scan

VERSION = 1
SENDING_NANOSECONDS = 1000.0  # to send an event to one shard more, roughly


@dataclass(frozen=True, slots=True)
class Part:
    """Queries that run on the same shards: sharded by keys, or one shard, told by a number.

    A part whose queries count events (`WITHIN n EVENTS`) is sent all of them. Trend queries have parts of
    their own.
    """

    keys: tuple[str, ...] = ()
    number: int = 0
    counts: bool = False
    trends: bool = False

    @property
    def name(self) -> str:
        """A name that no other part has.

        >>> Part(("user",)).name, Part(number=3, counts=True).name, Part(("user",), trends=True).name
        ('by user', 'counting 3', 'trends by user')
        """
        place = f"by {', '.join(self.keys)}" if self.keys else f"{self.number}"
        if self.trends:
            return f"trends {place}"
        kind = "counting " if self.counts else "" if self.keys else "together "
        return f"{kind}{place}"

    def n_shards(self, n_shards: int) -> int:
        """Return the number of its shards where a part with keys has so many."""
        return n_shards if self.keys else 1


@dataclass(frozen=True)
class Division:
    """The number of shards, and the part of every query."""

    n_shards: int
    parts: Mapping[str, Part] = field(default_factory=dict)
    revision: int = 0  # counts the workloads that the stream has had

    @property
    def members(self) -> dict[Part, list[str]]:
        """The queries of each part."""
        found: dict[Part, list[str]] = {}
        for name, part in self.parts.items():
            found.setdefault(part, []).append(name)
        return found

    def to_json(self) -> str:
        document = {
            "version": VERSION,
            "revision": self.revision,
            "n_shards": self.n_shards,
            "parts": {name: _part_to_json(part) for name, part in self.parts.items()},
        }
        return json.dumps(document, ensure_ascii=False)

    @staticmethod
    def from_json(text: str, origin: str) -> "Division":
        """Return the division written by `to_json`; `origin` says where the text is from."""
        try:
            document = json.loads(text)
            if document["version"] != VERSION:
                raise DataError(f"{origin}: version {document['version']!r} found, {VERSION} expected")
            parts = {
                name: Part(tuple(found["keys"]), found["number"], found["counts"], found.get("trends", False))
                for name, found in document["parts"].items()
            }
            return Division(int(document["n_shards"]), parts, int(document.get("revision", 0)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{origin}: not a division of a stream into shards ({error})") from None


def _part_to_json(part: Part) -> dict[str, object]:
    own = {"keys": list(part.keys), "number": part.number, "counts": part.counts}
    return own | {"trends": True} if part.trends else own  # without them, as it has always been


@dataclass(frozen=True, slots=True)
class _Traits:
    name: str
    keys: frozenset[str]
    counts: bool
    trends: bool = False

    def fits(self, part: Part) -> bool:
        """Say whether the events of every match, or of every group of trends, meet in one shard of a part."""
        is_kind = (self.counts, self.trends) == (part.counts, part.trends)
        return is_kind and self.keys >= set(part.keys)


def check_windows(queries: Sequence[Query]) -> None:
    """Raise unless every query has a bound: on a stream the others would keep all events forever."""
    unbounded = [
        query.name for query in queries if not query.is_trend and any(map(_is_unbounded, normalize(query)))
    ]
    if unbounded:
        raise WeftError(
            f"{_named(unbounded)}: without WITHIN, every event may belong to a match to come, "
            f"so a stream would have to keep all of them\n  hint: add WITHIN, for example WITHIN 1 hour"
        )
    endless = [query.name for query in queries if query.is_trend and query.window is None]
    if endless:
        raise WeftError(
            f"{_named(endless)}: without WITHIN, the only window never ends, and a stream has no result\n"
            f"  hint: add WITHIN, for example WITHIN 1 hour"
        )


def _named(queries: Sequence[str]) -> str:
    return f"{'queries' if len(queries) > 1 else 'query'} {', '.join(queries)}"


def _is_unbounded(form: NormalForm) -> bool:
    alone = len(form.items) == 1 and not form.items[0].is_list and not form.negations
    return form.window is None and not alone


def divide_stream(
    queries: Sequence[Query],
    n_shards: int,
    plan_together: Callable[[Sequence[Query]], tuple[Plan, float]],
    known: Division | None = None,
) -> Division:
    """Return the parts of all queries; those that are known keep theirs as long as they fit.

    `plan_together` makes the shared plan of queries without a common key, which shows which of them
    have something in common, and says how many nanoseconds an event is expected to cost.
    """
    earlier = {} if known is None else dict(known.parts)
    traits = [_traits(query) for query in queries]
    parts = {
        one.name: earlier[one.name] for one in traits if one.name in earlier and one.fits(earlier[one.name])
    }
    for one in traits:
        if one.trends:
            parts.setdefault(one.name, Part(tuple(sorted(one.keys)), trends=True))
    for counts in (False, True):
        new = [one for one in traits if one.name not in parts and one.counts == counts]
        existing = {part for part in parts.values() if part.counts == counts and not part.trends}
        parts |= _keyed([one for one in new if one.keys], existing)
        apart = {one.name for one in new if not one.keys}
        parts |= _together(
            [query for query in queries if query.name in apart],
            n_shards,
            plan_together,
            parts,
            counts=counts,
        )
    division = Division(n_shards, {query.name: parts[query.name] for query in queries})
    if known is None:
        return division
    return known if division.parts == known.parts else replace(division, revision=known.revision + 1)


def _traits(query: Query) -> _Traits:
    if query.is_trend:
        return _Traits(query.name, frozenset(query.group_by), counts=False, trends=True)
    forms = normalize(query)
    counts = any(isinstance(form.window, CountWindow) for form in forms)
    keys = [frozenset(form.partition_by if counts else form.keys) for form in forms]
    return _Traits(query.name, frozenset.intersection(*keys) if keys else frozenset(), counts)


def _keyed(traits: Sequence[_Traits], existing: set[Part]) -> dict[str, Part]:
    """Put queries into parts that exist, else group them by the key that most of the rest have."""
    found: dict[str, Part] = {}
    rest = []
    for one in traits:
        options = [part for part in existing if part.keys and one.fits(part)]
        if options:
            found[one.name] = max(options, key=lambda part: (len(part.keys), part.keys))
        else:
            rest.append(one)
    while rest:
        votes: dict[str, int] = {}
        for one in rest:
            for key in one.keys:
                votes[key] = votes.get(key, 0) + 1
        chosen = min(votes, key=lambda key: (-votes[key], key))
        group = [one for one in rest if chosen in one.keys]
        common = frozenset.intersection(*(one.keys for one in group))
        part = Part(tuple(sorted(common)), counts=group[0].counts)
        found |= {one.name: part for one in group}
        rest = [one for one in rest if chosen not in one.keys]
    return found


def _together(
    queries: Sequence[Query],
    n_parts: int,
    plan_together: Callable[[Sequence[Query]], tuple[Plan, float]],
    parts: Mapping[str, Part],
    *,
    counts: bool,
) -> dict[str, Part]:
    """Deal the connected components of the plan to shards, to those that have least to do.

    An event that several shards want is sent to each: that is worth while only if it saves more work.
    """
    if not queries:
        return {}
    if counts:  # each is sent all events: one shard for all of them
        return {query.name: Part(number=0, counts=True) for query in queries}
    plan, nanoseconds = plan_together(queries)
    n_used = min(n_parts, 1 + int(nanoseconds / SENDING_NANOSECONDS))
    load = dict.fromkeys(range(n_used), 0)
    for part in parts.values():
        if not part.keys and not part.counts and not part.trends:
            load[part.number] = load.get(part.number, 0) + 1
    found: dict[str, Part] = {}
    for component in components(plan):
        number = min(load, key=lambda number: (load[number], number))
        load[number] += len(component)
        found |= {name: Part(number=number) for name in component}
    return found


def components(plan: Plan) -> list[list[str]]:
    """Return the queries that are connected by shared nodes, larger groups first; events are not nodes here.

    >>> from weft.plan.nodes import Branch, Join, Output
    >>> ab = Join(Scan("A"), Scan("B"), (), (), (), None)
    >>> outputs = [
    ...     Output(n, (), (Branch(node, (), ()),)) for n, node in (("p", Scan("A")), ("q", ab), ("r", ab))
    ... ]
    >>> components(Plan(tuple(outputs)))
    [['q', 'r'], ['p']]
    """
    names = [output.query for output in plan.outputs]
    root = {name: name for name in names}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for node, members in readers(plan).items():
        if not isinstance(node, Scan | Filter):
            first, *others = sorted(members)
            for other in others:
                root[find(other)] = find(first)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(find(name), []).append(name)
    return sorted(groups.values(), key=len, reverse=True)
