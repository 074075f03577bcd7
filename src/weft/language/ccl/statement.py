"""Parse one statement of CCL, the language of SAP Event Stream Processor, into a query of ours.

CREATE OUTPUT STREAM name AS SELECT columns FROM types MATCHING [interval: pattern] ON conditions
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from weft.errors import Problem
from weft.expressions import And
from weft.language.assemble import QueryDraft, assemble_query
from weft.language.ccl.conditions import conditions_of
from weft.language.ccl.lexer import CLAUSES, HEADER_WORDS
from weft.language.ccl.pattern import Translation
from weft.language.ccl.rules import CclRules, CclSource, Matching
from weft.language.clauses import ClauseTokens, Language, cut_clauses, parse_clause
from weft.language.findings import span_of
from weft.language.lexer import quote_name
from weft.language.scope import mentions, variables_in
from weft.language.statements import Statements
from weft.pattern.nodes import Event, Query
from weft.tree import find

_LANGUAGE = Language(
    {keyword: f"{keyword.lower()}_clause" for keyword in CLAUSES},
    CclRules,
    ("grammar.lark", "ccl/grammar.lark"),
    (*CLAUSES, *HEADER_WORDS, "AND", "NOT", "BETWEEN", "LIKE", "NULL", "TRUE", "FALSE"),
)
_EXAMPLES = {
    "SELECT": "SELECT *",
    "FROM": "FROM Trade AS t1, Trade AS t2",
    "MATCHING": "MATCHING [10 seconds: A, B]",
}


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
    draft = QueryDraft()
    clauses = cut_clauses(tokens, _LANGUAGE.clauses)
    for clause in clauses:
        parse_clause(clause, _LANGUAGE, draft)
    _check_complete(clauses, draft)
    created = draft.clauses.get("CREATE")
    name = created.value if created else default_name
    query = None
    if not draft.problems:
        _build_pattern(draft.clauses["FROM"], draft.clauses["MATCHING"], draft)
    if not draft.problems:
        _check_columns(draft)
        _build_conditions(draft)
        query = assemble_query(draft, name, span_of(tokens[0], tokens[-1]))
    problems += (replace(problem, query=name) for problem in draft.problems)
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


def _check_complete(clauses: list[ClauseTokens], draft: QueryDraft) -> None:
    """Report a declaration of something else than a query, or clauses that a sound one lacks."""
    written = [clause.keyword.type for clause in clauses]
    span = span_of(clauses[0].keyword, clauses[0].keyword)
    if draft.problems and written == ["CREATE"]:
        message = "this statement is no query: it has no SELECT"
        hint = "leave out what declares inputs and schemas; types and columns come with the events"
        draft.problems = [Problem(message, span, hint)]
    elif not draft.problems:
        for keyword, example in _EXAMPLES.items():
            if keyword not in written:
                hint = f"add one, for example {example}"
                draft.complain(f"this statement has no {keyword}", span, hint)


def _build_pattern(sources: list[CclSource], matching: Matching, draft: QueryDraft) -> None:
    by_alias: dict[str, CclSource] = {}
    for source in sources:
        if source.alias in by_alias:
            message = f"FROM has two sources named {quote_name(source.alias)}"
            hint = f"give one another name: {quote_name(source.type)} AS {source.alias}_2"
            draft.complain(message, source.span, hint)
        by_alias[source.alias] = source
    translation = Translation(by_alias, draft)
    draft.clauses["PATTERN"] = translation.pattern(matching.pattern)
    draft.clauses["WITHIN"] = matching.window
    draft.clauses["RETURN"] = draft.clauses["SELECT"]
    draft.events = list(translation.events.values())
    for alias, source in by_alias.items():
        if alias not in translation.events:
            message = f"{quote_name(alias)} is in FROM, but not in the pattern"
            draft.complain(message, source.span, "add it to MATCHING, or leave it out")


def _check_columns(draft: QueryDraft) -> None:
    """Report columns that show an event under '!', which no match has."""
    variables = variables_in(draft.clauses["PATTERN"])
    negated = {variable.event.variable for variable in variables if variable.negations}
    for column in draft.clauses["SELECT"]:
        for mention in mentions(column.expression):
            if mention.variable in negated:
                name = quote_name(mention.variable)
                message = f"SELECT cannot show {name}: '!' keeps it out of every match"
                draft.complain(message, mention.span)


def _build_conditions(draft: QueryDraft) -> None:
    clauses = draft.clauses
    given = [clauses[keyword] for keyword in ("ON", "WHERE") if keyword in clauses]
    conditions = conditions_of(given, draft.chains, clauses["PATTERN"])
    clauses["WHERE"] = And(conditions) if conditions else None  # type: ignore[arg-type]
