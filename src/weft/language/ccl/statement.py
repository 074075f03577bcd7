"""Parse one statement of CCL, the language of SAP Event Stream Processor, into a query of ours.

CREATE OUTPUT STREAM name AS SELECT columns FROM types MATCHING [interval: pattern] ON conditions
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from weft.errors import Problem
from weft.expressions import And
from weft.language.assemble import QueryDraft, assemble_query
from weft.language.ccl.conditions import conditions_of
from weft.language.ccl.lexer import CLAUSES, HEADER_WORDS
from weft.language.ccl.pattern import Translation
from weft.language.ccl.rules import CclRules, CclSource, Matching
from weft.language.clauses import (
    ClauseError,
    ClauseTokens,
    cut_clauses,
    parse_clause,
    parser_of,
    problem_of_depth,
)
from weft.language.findings import span_of
from weft.language.lexer import quote_name
from weft.language.scope import mentions, variables_in
from weft.language.statements import Statements
from weft.pattern.nodes import Event, Query
from weft.tree import find

_START_OF_CLAUSE = {
    "CREATE": "create_clause",
    "SELECT": "select_clause",
    "FROM": "from_clause",
    "MATCHING": "matching_clause",
    "ON": "condition_clause",
    "WHERE": "condition_clause",
}
_KEYWORDS = (*CLAUSES, *HEADER_WORDS, "AND", "NOT", "BETWEEN", "LIKE", "NULL", "TRUE", "FALSE")
_EXAMPLES = {
    "SELECT": "SELECT *",
    "FROM": "FROM Trade AS t1, Trade AS t2",
    "MATCHING": "MATCHING [10 seconds: A, B]",
}

Parsed: TypeAlias = dict[str, Any]


def parse_statement(statement: Statements, default_name: str, problems: list[Problem]) -> Query | None:
    """Return the query of a statement, or None after a mistake in it; the problems are added to `problems`.

    >>> from weft.language.printer import to_text
    >>> from weft.language.statements import statements
    >>> text = "SELECT a.x FROM A a, B b MATCHING: [1 sec: a, !b] ON a.k = b.k"
    >>> print(to_text(parse_statement(next(statements(text)), "ccl_1", [])))
    QUERY ccl_1
    PATTERN AND(A a, NOT B b)
    WHERE [k]
    WITHIN 1 second
    RETURN a.x
    """
    tokens = statement.tokens
    draft, parsed = QueryDraft(), Parsed()
    clauses = cut_clauses(tokens, _START_OF_CLAUSE)
    chains: dict[int, Any] = {}
    for clause in clauses:
        _parse_clause(clause, parsed, draft, chains)
    if not draft.problems:
        _check_complete(clauses, draft)
    name = parsed["CREATE"].value if parsed.get("CREATE") else default_name
    query = None
    if not draft.problems:
        _build_pattern(parsed["FROM"], parsed["MATCHING"], draft)
    if not draft.problems:
        _check_columns(parsed, draft)
        _build_conditions(parsed, chains, draft)
        query = assemble_query(draft, name, span_of(tokens[0], tokens[-1]))
    problems += (Problem(each.message, each.span, each.hint, name) for each in draft.problems)
    return None if draft.problems else query


def check_sources(queries: Sequence[Query]) -> Iterator[Problem]:
    """Yield a problem for each event that is of no type, but the match of another statement."""
    names = {query.name for query in queries}
    for query in queries:
        for event in find(query.pattern, Event):
            if event.type in names:
                message = f"{quote_name(event.type)} is a query of this text, not a type of events"
                hint = "write its pattern in the place of it, in parentheses"
                yield Problem(message, event.span, hint, query.name)


def _parse_clause(clause: ClauseTokens, parsed: Parsed, draft: QueryDraft, chains: dict[int, Any]) -> None:
    keyword = clause.keyword
    if keyword.type in parsed:
        draft.problems.append(Problem(f"{keyword.type} is given twice", span_of(keyword, keyword)))
        return
    parsed[keyword.type] = None
    starts = tuple(dict.fromkeys(_START_OF_CLAUSE.values()))
    lark, rules = parser_of(CclRules, starts, "grammar.lark", "ccl/grammar.lark")
    rules.start_clause()
    try:
        value = parse_clause(clause, lark, _START_OF_CLAUSE[keyword.type], _KEYWORDS)
    except ClauseError as mistake:
        draft.problems += [_problem_of_declaration(clause) or mistake.problem, *rules.problems]
        return
    too_deep = problem_of_depth(clause, value)
    if too_deep is not None:
        draft.problems.append(too_deep)
        return
    parsed[keyword.type] = value
    chains.update(rules.chains)
    draft.add_clause({"SELECT": "RETURN", "ON": "WHERE"}.get(keyword.type, keyword.type), value, rules)


def _problem_of_declaration(clause: ClauseTokens) -> Problem | None:
    """Return the problem of a CREATE that declares something else than a query."""
    if clause.keyword.type != "CREATE" or clause.following is not None:
        return None
    message = "this statement is no query: it has no SELECT"
    hint = "leave out what declares inputs and schemas; types and columns come with the events"
    return Problem(message, span_of(clause.keyword, clause.keyword), hint)


def _check_complete(clauses: list[ClauseTokens], draft: QueryDraft) -> None:
    written = {clause.keyword.type for clause in clauses}
    first = clauses[0].keyword
    for keyword, example in _EXAMPLES.items():
        if keyword not in written:
            hint = f"add one, for example {example}"
            draft.problems.append(Problem(f"this statement has no {keyword}", span_of(first, first), hint))


def _build_pattern(sources: list[CclSource], matching: Matching, draft: QueryDraft) -> None:
    by_alias: dict[str, CclSource] = {}
    for source in sources:
        if source.alias in by_alias:
            message = f"FROM has two sources named {quote_name(source.alias)}"
            hint = f"give one another name: {quote_name(source.type)} AS {source.alias}_2"
            draft.problems.append(Problem(message, source.span, hint))
        by_alias[source.alias] = source
    translation = Translation(by_alias, draft.problems)
    draft.clauses["PATTERN"] = translation.pattern(matching.pattern)
    draft.clauses["WITHIN"] = matching.window
    draft.events = list(translation.events.values())
    for alias, source in by_alias.items():
        if alias not in translation.events:
            message = f"{quote_name(alias)} is in FROM, but not in the pattern"
            draft.problems.append(Problem(message, source.span, "add it to MATCHING, or leave it out"))


def _check_columns(parsed: Parsed, draft: QueryDraft) -> None:
    """Report columns that show an event under '!', which no match has."""
    negated = {one.event.variable for one in variables_in(draft.clauses["PATTERN"]) if one.negations}
    for column in parsed["SELECT"]:
        for mention in mentions(column.expression):
            if mention.variable in negated:
                name = quote_name(mention.variable)
                message = f"SELECT cannot show {name}: '!' keeps it out of every match"
                draft.problems.append(Problem(message, mention.span))


def _build_conditions(parsed: Parsed, chains: dict[int, Any], draft: QueryDraft) -> None:
    given = [parsed[keyword] for keyword in ("ON", "WHERE") if parsed.get(keyword) is not None]
    conditions = conditions_of(given, chains, draft.clauses["PATTERN"])
    draft.clauses["WHERE"] = And(conditions) if conditions else None  # type: ignore[arg-type]
