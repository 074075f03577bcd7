"""Show the templates of trend queries as text, and which of them may share work."""

import re
from collections.abc import Sequence

from weft.expressions import And, Comparison, Expression
from weft.language.literals import format_duration
from weft.language.printer import expression_to_text
from weft.normalize.thresholds import written_again
from weft.plan.template import START, Automaton, Template, Transition, TrendItem
from weft.plan.trend_sets import merged_template_lines, sharable_sets


def trend_lines(templates: Sequence[Template]) -> list[str]:
    r"""Write templates: what each position of a pattern extends, then what queries have in common.

    >>> from weft.language.parser import parse
    >>> from weft.normalize.template import template_of
    >>> text = "QUERY q PATTERN SEQ(A a, B+ b[], NOT C c) WITHIN 1 minute RETURN COUNT(*)"
    >>> print("\n".join(trend_lines([template_of(query) for query in parse(text)])))
    Trend templates
      q
        a: A    after start
        b: B    after a; after b
        end     after b unless C
        within  1 minute
    <BLANKLINE>
    Transitions of all trend queries
      start -> A: q
      A -> B: q
      B -> B: q
      B -> end: q
    <BLANKLINE>
    Sharing
      q: by itself
    """
    lines = ["Trend templates"]
    for template in templates:
        lines += [f"  {template.query}", *(f"    {line}" for line in _template_lines(template))]
    merged = merged_template_lines(templates)
    lines += ["", "Transitions of all trend queries", *(f"  {line}" for line in merged)]
    return [*lines, "", "Sharing", *(f"  {line}" for line in _sharing_lines(templates))]


def _template_lines(template: Template) -> list[str]:
    rows: list[tuple[str, str]] = []
    for number, automata in enumerate(template.alternatives, start=1):
        if len(template.alternatives) > 1:
            rows.append((f"alternative {number}", ""))
        for place, automaton in enumerate(automata):
            if place:
                rows.append(("and", ""))
            rows += _automaton_rows(automaton, template)
    if template.keys:
        rows.append(("keys", ", ".join(template.keys)))
    if template.group_by:
        rows.append(("groups", ", ".join(template.group_by)))
    rows.append(("within", _window_text(template)))
    if template.thresholds:
        wanted = [written_again(threshold, template.inputs) for threshold in template.thresholds]
        rows.append(("having", conjunction_text(wanted)))
    if template.quiet is not None:
        per = f" per {', '.join(template.quiet_keys)}" if template.quiet_keys else ""
        rows.append(("quiet", format_duration(template.quiet) + per))
    width = max(len(label) for label, _ in rows)
    return [f"{label:<{width}}  {text}".rstrip() for label, text in rows]


def _automaton_rows(automaton: Automaton, template: Template) -> list[tuple[str, str]]:
    def text_of(feed: Transition) -> str:
        source = automaton.sources[feed.source]
        after = "start" if source.position == START else automaton.positions[source.position].variable
        ways = f" in {feed.ways} ways" if feed.ways > 1 else ""
        negated = " or ".join(_item_text(template.items[item]) for item in source.negated)
        steps = where_text([Comparison(step.operator, step.left, step.right) for step in source.steps])
        return f"after {after}{ways}{' unless ' if negated else ''}{negated}{steps}"

    rows = [
        (
            f"{position.variable}: {_item_text(template.items[position.item])}",
            "; ".join(map(text_of, position.feeds)),
        )
        for position in automaton.positions
    ]
    undone_by = " or ".join(_item_text(template.items[item]) for item in automaton.undone_by)
    undone = [("undone", f"by {undone_by}")] if undone_by else []
    return [*rows, ("end", "; ".join(map(text_of, automaton.ends))), *undone]


def _item_text(item: TrendItem) -> str:
    return item.type + where_text(item.predicates)


def conjunction_text(conditions: Sequence[Expression]) -> str:
    """Write conditions; events and columns of a plan stand without the quotes that a query would need."""
    whole = And(tuple(conditions)) if len(conditions) > 1 else conditions[0]
    return re.sub(r'"(\$\d+)"', r"\1", expression_to_text(whole))


def where_text(conditions: Sequence[Expression]) -> str:
    """Write conditions as they stand after something, or nothing."""
    return f" where {conjunction_text(conditions)}" if conditions else ""


def _window_text(template: Template) -> str:
    if template.length is None or template.slide is None:
        return "no window"
    slides = "" if template.slide == template.length else f", one every {format_duration(template.slide)}"
    return format_duration(template.length) + slides


def _sharing_lines(templates: Sequence[Template]) -> list[str]:
    lines = []
    for shared in sharable_sets(templates):
        names = ", ".join(templates[number].query for number in shared.templates)
        if not shared.types:
            lines.append(f"{names}: by itself")
            continue
        types = ", ".join(f"{name}+" for name in shared.types)
        pane = "" if shared.pane is None else f", in panes of {format_duration(shared.pane)}"
        lines.append(f"{names}: can share {types}{pane}")
    return lines
