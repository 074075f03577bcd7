"""From a MuSE graph of queries to a program: the plan of every site at every level, and what it sends.

A vertex is evaluated as an ordinary query: the normal form of its projection, with the condition that the
events of an item come from the sites whose bindings the vertex finds. It reads the events of all matches
that its site has received, and its own; all conditions are checked again. A negation that an input from
another site has checked is not: what a match has in common with that input must be one of its matches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter

from weft.expressions import RANK, Aggregate, Attribute, Expression, InList, Literal
from weft.optimizer.assemble import Assembled, assemble, leaf_node
from weft.optimizer.pipeline import context_of, output_of, weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.trees import Tree
from weft.pattern.normal_form import EVERY_TYPE, Item, NormalForm
from weft.placement.boxes import Box, hull, overlaps
from weft.placement.found_bindings import FoundBindings
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import bits
from weft.placement.normal_form_query import NormalFormQuery
from weft.placement.projection_text import kind_of
from weft.plan.invariants import check_plan
from weft.plan.nodes import Branch, Output, Plan
from weft.plan.sites import SITE, Among, Channel, Finding, Origins, SiteProgram, SiteWork
from weft.schema import LONG, Schema
from weft.statistics.model import Statistics
from weft.tree import find, walk

Checker = tuple[str, int]  # the text of a projection that checks a negation, and its items


def site_program(
    graph: MuseGraph, queries: Sequence[NormalFormQuery], schema: Schema, statistics: Statistics
) -> SiteProgram:
    """Return the program of a graph; it finds every match of the queries once.

    Raises
    ------
    InvariantError
        When the graph does not find all matches.
    """
    return _Compiler(graph, tuple(queries), schema, statistics).program()


@dataclass(frozen=True)
class _Task:
    """A vertex to evaluate, and a query if its rows are matches of that; None as form: events as they arise.

    `checkers` has, for every negation that is not checked here, the inputs that may have done so. `elsewhere`
    are bindings that other sites find too, and have first.
    """

    vertex: Vertex
    query: NormalFormQuery | None
    items: int
    form: NormalForm | None
    boxes: tuple[Box, ...]
    checkers: tuple[frozenset[Checker], ...] = ()
    elsewhere: tuple[Box, ...] = ()
    is_match: bool = False

    @property
    def name(self) -> str:
        if self.query is None or not self.is_match:
            return self.vertex.projection.text
        return self.query.central or self.query.name


@dataclass
class _Compiler:
    graph: MuseGraph
    queries: tuple[NormalFormQuery, ...]
    schema: Schema
    statistics: Statistics
    known_trees: dict[tuple[NormalForm, ...], list[Tree]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.context = context_of(self.schema)
        self.bindings = FoundBindings(self.graph, self.queries)
        self.numbers = {channel: number for number, channel in enumerate(self.graph.channels)}
        self.sent = [vertex for vertex, _ in self.graph.channels]
        self.levels = self._levels()
        self.leaves = {kind_of(*leaf): leaf for query in self.queries for leaf in query.leaves}
        self.attributes = attributes_by_type(self.queries, self.schema)
        self.serves = self._serves()

    def program(self) -> SiteProgram:
        tasks = [self._sent_task(vertex) for vertex in dict.fromkeys(vertex for vertex, _ in self.numbers)]
        tasks += [task for query in self.queries for task in self._match_tasks(query)]
        works: dict[tuple[int, int, bool], list[_Task]] = {}
        for task in tasks:
            if task.form is not None and not task.boxes:
                continue  # its inputs have nothing in common
            place = (self.levels[task.vertex], task.vertex.site, task.is_match)
            works.setdefault(place, []).append(task)
        return SiteProgram(
            sites=self.graph.network.sites,
            channels=tuple(self._channel(vertex, target) for vertex, target in self.numbers),
            works=tuple(self._work(level, site, own) for (level, site, _), own in sorted(works.items())),
            repeated=_repeated_queries(self.queries),
        )

    def _channel(self, vertex: Vertex, target: int) -> Channel:
        if self.graph.inputs[vertex]:
            query, items = self.bindings.parts[vertex.projection]
            types = tuple(query.whole_form.items[item].type for item in query.places(items))
        else:
            types = (self.leaves[vertex.projection.text][0].type,)
        return Channel(
            projection=vertex.projection.text,
            source=vertex.site,
            target=target,
            types=types,
            attributes=tuple(self.attributes[name] for name in types),
            rate=self.graph.rate(vertex),
        )

    def _sent_task(self, vertex: Vertex) -> _Task:
        if not self.graph.inputs[vertex]:
            return _Task(vertex, None, 1, None, ())
        query, items = self.bindings.parts[vertex.projection]
        return self._task(vertex, query, items)

    def _match_tasks(self, query: NormalFormQuery) -> list[_Task]:
        tasks: list[_Task] = []
        earlier: list[Box] = []
        for vertex in self.bindings.sinks(query):
            own = self.bindings.boxes[vertex]
            task = self._task(vertex, query, query.whole)
            tasks.append(replace(task, is_match=True, elsewhere=tuple(overlaps(own, earlier))))
            earlier.extend(own)
        return tasks

    def _task(self, vertex: Vertex, query: NormalFormQuery, items: int) -> _Task:
        """Return how a vertex finds the matches of a projection of a query."""
        whole = query.whole_form.negations
        negations, checkers = [], []
        for number in sorted(query.checked_negations(items)):
            checked_by = self._checkers(vertex, query, items, number)
            if checked_by is None:
                negations.append(whole[number])
            else:
                checkers.append(checked_by)
        form = replace(query.form(items), negations=tuple(negations))
        return _Task(vertex, query, items, form, self.bindings.boxes[vertex], tuple(checkers))

    def _checkers(
        self, vertex: Vertex, query: NormalFormQuery, items: int, number: int
    ) -> frozenset[Checker] | None:
        """Return the projections from other sites that have checked a negation; None: it is checked here."""
        if self._has_all(vertex, query.negated_kinds(number)):
            return None
        checkers: set[Checker] = set()
        for read in self.graph.inputs[vertex]:
            if not self.graph.inputs[read]:
                continue
            for part in query.occurrences(read.projection):
                if part & ~items or number not in query.checked_negations(part):
                    continue
                if read.site != vertex.site:
                    checkers.add((read.projection.text, part))
                    continue
                earlier = self._checkers(read, query, part, number)
                if earlier is None:
                    return None
                checkers |= earlier
        return frozenset(checkers) or None

    def _has_all(self, vertex: Vertex, kinds: Sequence[str]) -> bool:
        """Whether all events of some kinds are where a vertex is."""
        sites = dict.fromkeys(kinds, 1 << vertex.site)
        for number in self._reads(vertex):
            sent = self.sent[number]
            if sent.projection.text in sites:
                sites[sent.projection.text] |= 1 << sent.site
        return all(not self.graph.network.emitters(kind) & ~present for kind, present in sites.items())

    def _levels(self) -> dict[Vertex, int]:
        """Return how many times what a vertex finds has been on the way, at most.

        The alternatives of a central query are evaluated together.
        """
        levels: dict[Vertex, int] = {}
        for vertex in self.graph.order:
            levels[vertex] = max(
                (levels[read] + (read.site != vertex.site) for read in self.graph.inputs[vertex]), default=0
            )
        together: dict[str, list[Vertex]] = {}
        for query in self.queries:
            if query.central is not None:
                together.setdefault(query.central, []).extend(self.bindings.sinks(query))
        for sinks in together.values():
            levels |= dict.fromkeys(sinks, max(map(levels.__getitem__, sinks)))
        return levels

    def _serves(self) -> dict[Vertex, set[str]]:
        """Return the queries for which a vertex is evaluated."""
        serves: dict[Vertex, set[str]] = {vertex: set() for vertex in self.graph.order}
        for query in self.queries:
            for sink in self.bindings.sinks(query):
                serves[sink].add(query.query.name)
        for vertex in reversed(self.graph.order):
            for read in self.graph.inputs[vertex]:
                serves[read] |= serves[vertex]
        return serves

    def _reads(self, vertex: Vertex) -> set[int]:
        """Return the channels that a vertex depends on at its site."""
        channels: set[int] = set()
        for read in self.graph.inputs[vertex]:
            if read.site == vertex.site:
                channels |= self._reads(read)
            else:
                channels.add(self.numbers[read, vertex.site])
        return channels

    def _work(self, level: int, site: int, tasks: Sequence[_Task]) -> SiteWork:
        reads = sorted(set[int]().union(*(self._reads(task.vertex) for task in tasks)))
        trees = iter(self._trees_of(tuple(task.form for task in tasks if task.form is not None)))
        outputs, findings = [], []
        for name, same in groupby(tasks, attrgetter("name")):  # several: alternatives of a central query
            own = [(task, self._assembled(task, trees)) for task in same]
            (task, built), *_ = own
            outputs.append(self._output(name, task, [found for _, found in own]))
            findings.append(self._finding(task, built.variables, reads))
        plan = Plan(tuple(outputs))
        check_plan(plan, "site_program")
        return SiteWork(site, level, plan, tuple(findings), tuple(reads))

    def _assembled(self, task: _Task, trees: Iterator[Tree]) -> Assembled:
        if task.form is None:
            item, form = self.leaves[task.vertex.projection.text]
            return Assembled(leaf_node(item, form, self.context), (item.variable,))
        return assemble(self._with_origins(task, task.form), next(trees), self.context)

    def _output(self, name: str, task: _Task, built: Sequence[Assembled]) -> Output:
        if not task.is_match or task.query is None:
            return Output(name, (), tuple(Branch(own.node, own.variables, ()) for own in built))
        return replace(output_of(task.query.query, built, self.context), query=name)

    def _trees_of(self, forms: tuple[NormalForm, ...]) -> list[Tree]:
        """Return the trees of forms that one site evaluates at a level; other sites may do the same."""
        if forms not in self.known_trees:
            weave = weave_for(self.schema, Planning(statistics=self.statistics, cost="partial-matches"))
            for number, form in enumerate(forms):
                weave.add_form(("", number), form)
            self.known_trees[forms] = [weave.multitree.trees["", number] for number in range(len(forms))]
        return self.known_trees[forms]

    def _with_origins(self, task: _Task, form: NormalForm) -> NormalForm:
        """Return a form whose events come from the right sites; where these are all, nothing is said."""
        if task.query is None or not task.boxes:
            return form
        conditions: list[Expression] = []
        for item, sites in zip(task.query.places(task.items), hull(task.boxes), strict=True):
            if sites != self.graph.network.emitters(task.query.kinds[item]):
                origin = Attribute(task.query.whole_form.variables[item], SITE, type=LONG)
                conditions.append(InList(origin, tuple(Literal(site, LONG) for site in bits(sites))))
        return replace(form, predicates=(*form.predicates, *conditions))

    def _finding(self, task: _Task, variables: tuple[str, ...], reads: Sequence[int]) -> Finding:
        serves = tuple(sorted(self.serves[task.vertex]))
        if task.query is None:
            return Finding((0,), channels=self._channels_of(task.vertex), serves=serves)
        places = _columns(task.query, task.items, variables)
        is_product = len(task.boxes) == 1
        return Finding(
            columns=places,
            query=task.query.query.name if task.is_match else None,
            channels=() if task.is_match else self._channels_of(task.vertex),
            among=tuple(
                tuple(
                    Among(
                        tuple(number for number in reads if self.sent[number].projection.text == text),
                        _columns(task.query, part, variables),
                    )
                    for text, part in sorted(checkers)
                )
                for checkers in task.checkers
            ),
            within=() if is_product else tuple(_origins(box, places) for box in task.boxes),
            elsewhere=tuple(_origins(box, places) for box in task.elsewhere),
            serves=(task.query.query.name,) if task.is_match else serves,
        )

    def _channels_of(self, vertex: Vertex) -> tuple[int, ...]:
        return tuple(number for (sent, _), number in self.numbers.items() if sent == vertex)


def _columns(query: NormalFormQuery, items: int, variables: tuple[str, ...]) -> tuple[int, ...]:
    """Return the columns of the items of a projection, in the order of its text."""
    return tuple(variables.index(query.whole_form.variables[item]) for item in query.places(items))


def _origins(box: Box, columns: Sequence[int]) -> Origins:
    """Return the sites of each column of a row, given those of the places of a projection."""
    sites = dict(zip(columns, box, strict=True))
    return tuple(tuple(bits(sites[column])) for column in sorted(sites))


def _repeated_queries(queries: Sequence[NormalFormQuery]) -> tuple[str, ...]:
    """Return the queries of which two alternatives bind the same variables, so may be the same match."""
    free = (query for query in queries if query.central is None)
    bound = [(query.query.name, frozenset(query.whole_form.variables)) for query in free]
    return tuple(
        dict.fromkeys(name for place, (name, own) in enumerate(bound) if (name, own) in bound[:place])
    )


def attributes_by_type(queries: Sequence[NormalFormQuery], schema: Schema) -> dict[str, tuple[str, ...]]:
    """Return, for every type that the queries look at, the attributes that travel: those they speak of.

    An event may be sent for several queries, and is the same for all; so they are those of all queries. What
    is returned may speak of variables that another alternative binds.

    >>> from weft.language.parser import parse
    >>> from weft.placement.normal_form_query import normal_form_queries
    >>> text = "QUERY q PATTERN SEQ(A a, NOT N n, OR(B b, C c)) WHERE [k] AND n.x > a.y RETURN b.z AS z"
    >>> attributes_by_type(normal_form_queries(parse(text), None, Statistics()), Schema({}, time="ts"))
    {'A': ('k', 'y'), 'B': ('k', 'z'), 'N': ('k', 'x'), 'C': ('k',)}
    """
    by_type: dict[str, set[str]] = {}
    for query in queries:
        form = query.whole_form
        types = {item.variable: item.type for item in find(form, Item)}
        keys = {key for part in find(form, NormalForm) for key in part.keys}
        for name in types.values():
            by_type.setdefault(name, set()).update(keys)
        suppression = query.query.policy.suppression
        said = (
            *(column.expression for column in query.query.returns),
            *(suppression.per if suppression else ()),
        )
        for part in (form, *said):
            for node in walk(part):
                if isinstance(node, Attribute | Aggregate) and node.variable in types and node.name:
                    by_type[types[node.variable]].add(node.name)
    if schema.types_overlap or EVERY_TYPE in by_type:  # an event of one type is one of another too
        every = set[str]().union(*by_type.values())
        by_type = dict.fromkeys(by_type, every)
    return {name: tuple(sorted(attributes - {RANK})) for name, attributes in by_type.items()}
