"""How the queries of a stream are divided into groups, and a group into shards.

Queries that agree on keys form a group that is sharded by these. Of the others, those that share a
plan node stay together; a group of them has one shard. Trend queries with the same groups form a group that
is sharded by these, and those without groups one with one shard. A query keeps its group over restarts,
with its state: what was decided at the start is data (`ShardAssignment`), to which new queries are added.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace

from weft.codec import from_json, stored, to_json
from weft.errors import WeftError
from weft.hosts.divide import QueryTraits, traits_of
from weft.normalize.pipeline import normalize
from weft.pattern.components import connected_components
from weft.pattern.nodes import CountWindow, Query
from weft.plan.dag import readers
from weft.plan.nodes import Filter, Plan, Scan

ASSIGNMENT = "shard assignment"
SENDING_NANOSECONDS = 1000.0  # to send an event to one shard more, roughly


@stored
class ShardGroup:
    """Queries that run on the same shards: sharded by keys, or one shard, told by a number.

    A group whose queries count events (`WITHIN n EVENTS`) is sent all of them. Trend queries have groups of
    their own.
    """

    keys: tuple[str, ...] = ()
    number: int = 0
    counts: bool = False
    trends: bool = False

    @property
    def name(self) -> str:
        """A name that no other group has.

        >>> (
        ...     ShardGroup(("user",)).name,
        ...     ShardGroup(number=3, counts=True).name,
        ...     ShardGroup(("user",), trends=True).name,
        ... )
        ('by user', 'counting 3', 'trends by user')
        """
        place = f"by {', '.join(self.keys)}" if self.keys else f"{self.number}"
        if self.trends:
            return f"trends {place}"
        kind = "counting " if self.counts else "" if self.keys else "together "
        return f"{kind}{place}"

    def n_shards(self, n_shards: int) -> int:
        """Return the number of its shards where a group with keys has so many."""
        return n_shards if self.keys else 1

    def fits(self, traits: QueryTraits) -> bool:
        """Say whether the events of every match, or group of trends, of a query meet in one of its shards."""
        is_kind = (traits.counts, traits.query.is_trend) == (self.counts, self.trends)
        return is_kind and traits.keys >= set(self.keys)


@stored
class ShardAssignment:
    """The number of shards, and the group of every query."""

    n_shards: int
    groups: Mapping[str, ShardGroup] = field(default_factory=dict)
    revision: int = 0  # counts the workloads that the stream has had

    @property
    def members(self) -> dict[ShardGroup, list[str]]:
        """The queries of each group."""
        members: dict[ShardGroup, list[str]] = {}
        for name, group in self.groups.items():
            members.setdefault(group, []).append(name)
        return members

    def to_json(self) -> str:
        """Return the assignment as text."""
        return to_json(ASSIGNMENT, self)

    @staticmethod
    def from_json(text: str, origin: str) -> "ShardAssignment":
        """Return the assignment written by `to_json`; `origin` says where the text is from."""
        assignment: ShardAssignment = from_json(ASSIGNMENT, text, origin)
        return assignment


def check_windows(queries: Sequence[Query]) -> None:
    """Raise unless every query has a bound: on a stream the others would keep all events forever."""
    traits = [traits_of(query) for query in queries if not query.is_trend]
    unbounded = [own.query.name for own in traits if own.reach is None and not own.counts]
    if unbounded:
        raise WeftError(
            f"{_names_text(unbounded)}: without WITHIN, every event may belong to a match to come, "
            f"so a stream would have to keep all of them\n  hint: add WITHIN, for example WITHIN 1 hour"
        )
    unordered = [query.name for query in queries if is_unordered(query)]
    if unordered:
        raise WeftError(
            f"{_names_text(unordered)}: each partition counts its own events, and which match of several of "
            "them ends first may be known at the end alone, which a stream does not have\n  hint: name all "
            "attributes of PARTITION BY after SUPPRESS ... PER, or give WITHIN a time"
        )
    quiet = [query.name for query in queries if query.is_trend and query.policy.suppression is not None]
    if quiet:
        raise WeftError(
            f"{_names_text(quiet)}: SUPPRESS of a trend query is for batch; a stream would have to remember "
            f"for every group when a result was kept\n  hint: leave out SUPPRESS on the stream"
        )
    endless = [query.name for query in queries if query.is_trend and query.window is None]
    if endless:
        raise WeftError(
            f"{_names_text(endless)}: without WITHIN, the only window never ends, and a stream has no "
            f"result\n  hint: add WITHIN, for example WITHIN 1 hour"
        )


def is_unordered(query: Query) -> bool:
    """Say whether a walk has matches of several partitions that wait for events of their own to be known."""
    policy = query.policy
    per = () if policy.suppression is None else policy.suppression.per
    if not per or not isinstance(query.window, CountWindow):
        return False
    is_apart = not {attribute.name for attribute in per} >= set(query.partition_by)
    waits = policy.prefer_longest or any(form.negations for form in normalize(query))
    return is_apart and waits


def _names_text(queries: Sequence[str]) -> str:
    return f"{'queries' if len(queries) > 1 else 'query'} {', '.join(queries)}"


def assign_shards(
    queries: Sequence[Query],
    n_shards: int,
    plan_together: Callable[[Sequence[Query]], tuple[Plan, float]],
    known: ShardAssignment | None = None,
) -> ShardAssignment:
    """Return the groups of all queries; those that are known keep theirs as long as they fit.

    `plan_together` makes the shared plan of queries without a common key, which shows which of them
    have something in common, and says how many nanoseconds an event is expected to cost.
    """
    earlier = {} if known is None else known.groups
    traits = {query.name: traits_of(query) for query in queries}
    groups = {
        name: earlier[name] for name, own in traits.items() if name in earlier and earlier[name].fits(own)
    }
    for name, own in traits.items():
        if own.query.is_trend:
            groups.setdefault(name, ShardGroup(tuple(sorted(own.keys)), trends=True))
    for counts in (False, True):
        new = [own for name, own in traits.items() if name not in groups and own.counts == counts]
        groups |= _group_by_keys([own for own in new if own.keys], set(groups.values()))
        apart = [own.query for own in new if not own.keys]
        groups |= _group_by_plan(apart, n_shards, plan_together, groups, counts=counts)
    assignment = ShardAssignment(n_shards, {name: groups[name] for name in traits})
    if known is None:
        return assignment
    return known if assignment.groups == known.groups else replace(assignment, revision=known.revision + 1)


def _group_by_keys(traits: Sequence[QueryTraits], existing: Collection[ShardGroup]) -> dict[str, ShardGroup]:
    """Put queries into groups that exist, else group them by the key that most of the rest have."""
    groups: dict[str, ShardGroup] = {}
    rest = []
    for own in traits:
        options = [group for group in existing if group.keys and group.fits(own)]
        if options:
            groups[own.query.name] = max(options, key=lambda group: (len(group.keys), group.keys))
        else:
            rest.append(own)
    while rest:
        votes = Counter(key for own in rest for key in own.keys)
        chosen = min(votes, key=lambda key: (-votes[key], key))
        members = [own for own in rest if chosen in own.keys]
        common = frozenset.intersection(*(own.keys for own in members))
        group = ShardGroup(tuple(sorted(common)), counts=members[0].counts)
        groups |= {own.query.name: group for own in members}
        rest = [own for own in rest if chosen not in own.keys]
    return groups


def _group_by_plan(
    queries: Sequence[Query],
    n_groups: int,
    plan_together: Callable[[Sequence[Query]], tuple[Plan, float]],
    groups: Mapping[str, ShardGroup],
    *,
    counts: bool,
) -> dict[str, ShardGroup]:
    """Deal the connected components of the plan to shards, to those that have least to do.

    An event that several shards want is sent to each: that is worth while only if it saves more work.
    """
    if not queries:
        return {}
    if counts:  # each is sent all events: one shard for all of them
        return {query.name: ShardGroup(number=0, counts=True) for query in queries}
    plan, nanoseconds = plan_together(queries)
    n_used = min(n_groups, 1 + int(nanoseconds / SENDING_NANOSECONDS))
    load = dict.fromkeys(range(n_used), 0)
    for group in groups.values():
        if not group.keys and not group.counts and not group.trends:
            load[group.number] = load.get(group.number, 0) + 1
    added: dict[str, ShardGroup] = {}
    for component in components(plan):
        number = min(load, key=lambda number: (load[number], number))
        load[number] += len(component)
        added |= {name: ShardGroup(number=number) for name in component}
    return added


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
    shared = [queries for node, queries in readers(plan).items() if not isinstance(node, Scan | Filter)]
    names = [output.query for output in plan.outputs]
    return sorted(connected_components(names, shared), key=len, reverse=True)
