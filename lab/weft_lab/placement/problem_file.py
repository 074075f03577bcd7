"""Read problems of placing queries in a network from JSON.

{
  "name": "robots",
  "sites": {"R1": ["C", "F"], "R2": ["C", "L"]},
  "rates": {"C": 1000, "F": 1, "L": {"R2": 900}},
  "queries": ["SEQ(AND(C, L), F)"],
  "selectivities": {"CL": 0.0001, "C,F": 0.01},
  "links": {"R1": {"R2": 2.5}}
}

A site lists the types of events that arise there; a rate is that at every site which emits the type, or given
site by site. A pair of types without a selectivity has 1, and so has a link: one given in a single direction
holds for both. Selectivities of types that do not occur are left aside.

A file has one problem, one on every line, or {"problems": [...]}.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import DataError, QueryError
from weft.language.read import text_of_file
from weft.placement.network import Network, Numbers
from weft_lab.placement.operator_tree import OperatorTreeQuery, Tree, leaves, operator_tree_queries
from weft_lab.placement.operator_tree_text import parse_operator_tree

Json = Any  # what json.loads gives


@dataclass(frozen=True, eq=False, slots=True)
class PlacementProblem:
    """A network and the queries to place there; costs and seconds as far as others recorded them."""

    name: str
    network: Network
    queries: tuple[OperatorTreeQuery, ...]
    central_cost: float | None = None
    single_sink_cost: float | None = None
    best_known_cost: float | None = None
    amuse_seconds: float | None = None
    amuse_star_seconds: float | None = None


def read_problems(path: str | Path) -> tuple[PlacementProblem, ...]:
    """Return the problems of a file."""
    text = text_of_file(path)
    problems: list[PlacementProblem] = []
    for number, document in enumerate(_documents(text, str(path)), start=1):
        name = document.get("name") if isinstance(document, dict) else None
        where = f"{path}: problem {name if isinstance(name, str) else number}"
        problems.append(problem_of(document, where, default_name=f"problem {number}"))
    if not problems:
        raise DataError(f"{path}: no problem found")
    return tuple(problems)


def problem_of(document: Json, where: str = "problem", *, default_name: str = "problem") -> PlacementProblem:
    """Return the problem that a JSON object describes; `where` is said in errors.

    >>> robots = {"sites": {"R1": ["C"], "R2": ["F"]}, "rates": {"C": 9, "F": 1}, "queries": ["SEQ(C, F)"]}
    >>> problem_of(robots).network.rates["C"]
    array([9., 0.])
    """
    _expect(isinstance(document, dict), where, "an object with sites, rates and queries", document)
    sites = _sites(document.get("sites"), f"{where}: sites")
    rates = _rates(document.get("rates"), sites, f"{where}: rates")
    links = _links(document.get("links"), tuple(sites), f"{where}: links")
    network = Network(tuple(sites), rates, links)
    trees = _trees(document.get("queries"), network, f"{where}: queries")
    selectivities = _selectivities(document.get("selectivities", {}), f"{where}: selectivities")
    recorded = {
        field: _optional_number(document.get(key), f"{where}: {key}")
        for field, key in (
            ("central_cost", "central_cost"),
            ("single_sink_cost", "single_sink_cost"),
            ("best_known_cost", "best_known_cost"),
            ("amuse_seconds", "amuse_cpu_seconds"),
            ("amuse_star_seconds", "amuse_star_cpu_seconds"),
        )
    }
    name = document.get("name", default_name)
    _expect(isinstance(name, str), f"{where}: name", "a text", name)
    return PlacementProblem(name, network, operator_tree_queries(trees, selectivities), **recorded)


def _documents(text: str, path: str) -> list[Json]:
    """Return the problems of a text, not yet looked into."""
    try:
        document = _load(text, path)
    except json.JSONDecodeError as whole:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        documents = []
        for number, line in lines:
            try:
                documents.append(_load(line, f"{path}:{number}"))
            except json.JSONDecodeError as error:
                if not documents:  # not one problem on every line either: what is wrong with the whole?
                    raise DataError(f"{path}:{whole.lineno}:{whole.colno}: not JSON: {whole.msg}") from None
                raise DataError(f"{path}:{number}:{error.colno}: not JSON: {error.msg}") from None
        return documents
    if isinstance(document, dict) and "problems" in document:
        document = document["problems"]
        _expect(isinstance(document, list), f"{path}: problems", "a list of problems", document)
    return document if isinstance(document, list) else [document]


def _load(text: str, where: str) -> Json:
    """Return JSON as values; a name that occurs twice in an object is no slip to be passed over."""

    def unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"{where}: {twice} occurs twice in one object")
        return values

    return json.loads(text, object_pairs_hook=unique)


def _sites(document: Json, where: str) -> dict[str, list[str]]:
    _expect(isinstance(document, dict) and document, where, "the types of events of every site", document)
    for site, types in document.items():
        is_list = isinstance(types, list) and all(isinstance(kind, str) for kind in types)
        _expect(is_list, f"{where}: {site}", "a list of types", types)
    return dict(document)


def _rates(document: Json, sites: Mapping[str, list[str]], where: str) -> dict[str, Numbers]:
    _expect(isinstance(document, dict) and document, where, "a rate for every type", document)
    for site, types in sites.items():
        for kind in types:
            _expect(kind in document, where, f"a rate for {kind}, which site {site} emits", list(document))
    rates: dict[str, Numbers] = {}
    for kind, given in document.items():
        rates[kind] = np.zeros(len(sites))
        by_site = given if isinstance(given, dict) else {}
        for site in by_site:
            is_emitted = kind in sites.get(site, ())
            _expect(is_emitted, f"{where}: {kind}", f"a site that emits {kind}", site)
        for number, (site, types) in enumerate(sites.items()):
            if kind in types:
                rate = by_site.get(site) if isinstance(given, dict) else given
                rates[kind][number] = _positive(rate, f"{where}: {kind} at site {site}")
        if not isinstance(given, dict):
            _positive(given, f"{where}: {kind}")
    return rates


def _trees(document: Json, network: Network, where: str) -> list[Tree]:
    _expect(isinstance(document, list) and document, where, "a list of queries", document)
    trees = []
    for number, text in enumerate(document, start=1):
        _expect(isinstance(text, str), f"{where}: {number}", "a query such as SEQ(A, B)", text)
        try:
            tree = parse_operator_tree(text, network.rates)
        except QueryError as error:
            raise QueryError(error.problems, text, f"{where}: {number}") from None
        for item in leaves(tree):
            is_emitted = network.emitters(item.type)
            _expect(is_emitted, f"{where}: {number}", f"a site that emits {item.type}", "none")
        trees.append(tree)
    return trees


def _selectivities(document: Json, where: str) -> dict[frozenset[str], float]:
    _expect(isinstance(document, dict), where, "a selectivity for pairs of types", document)
    selectivities: dict[frozenset[str], float] = {}
    for key, given in document.items():
        pair = tuple(part.strip() for part in key.split(",")) if "," in key else tuple(key)
        _expect(len(pair) == 2, f"{where}: {key}", 'two types, as "AB" or "first,second"', key)
        value = _positive(given, f"{where}: {key}")
        earlier = selectivities.setdefault(frozenset(pair), value)
        _expect(earlier == value, f"{where}: {key}", f"{earlier:g} as for {pair[1]}{pair[0]}", given)
    return selectivities


def _links(document: Json, sites: tuple[str, ...], where: str) -> Numbers | None:
    if document is None:
        return None
    _expect(isinstance(document, dict), where, "the costs of links by site and site", document)
    numbers = {site: number for number, site in enumerate(sites)}
    links = np.full((len(sites), len(sites)), np.nan)
    for site, costs in document.items():
        _expect(site in numbers, where, "a known site", site)
        _expect(isinstance(costs, dict), f"{where}: {site}", "costs by site", costs)
        for other, cost in costs.items():
            _expect(other in numbers and other != site, f"{where}: {site}", "another known site", other)
            links[numbers[site], numbers[other]] = _positive(cost, f"{where}: {site} to {other}")
    links = np.where(np.isnan(links), links.T, links)
    links = np.where(np.isnan(links), 1.0, links)
    np.fill_diagonal(links, 0.0)
    return links


def _positive(given: Json, where: str) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    shown = json.dumps(given, ensure_ascii=False) if isinstance(given, str) else given
    _expect(is_number and isfinite(given) and given > 0, where, "a number above 0", shown)
    return float(given)


def _optional_number(given: Json, where: str) -> float | None:
    return None if given is None else _positive(given, where)


def _expect(is_so: object, where: str, expected: str, found: Json) -> None:
    """Raise an error unless something is so."""
    if not is_so:
        shown = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
        shown = f"{shown[:80]}..." if len(shown) > 80 else shown
        raise DataError(f"{where}: expected {expected}, found {'nothing' if found is None else shown}")
