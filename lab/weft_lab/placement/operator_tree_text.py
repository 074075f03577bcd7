"""Read operator trees from text: SEQ(AND(C, L), F), with NOT before what must not occur, SEQ(A, NOT B, C)."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from weft.errors import Problem, QueryError, Span, near_name
from weft_lab.placement.operator_tree import NegatedOperand, Operator, Tree, TreeItem

TOKEN = re.compile(r"\s*([^\W\d]\w*|\S|$)")
OPERATORS = ("SEQ", "AND", "NSEQ")


def parse_operator_tree(text: str, types: Collection[str] | None = None) -> Tree:
    """Return the tree that a text says, and refuse types that are not among `types`.

    Where B is a type and B1 is not, B1 is an event of type B: so are written the events of a type that occurs
    more than once. NSEQ(A, B, C) is the same as SEQ(A, NOT B, C).

    >>> parse_operator_tree("SEQ(A, B)").operands[1]
    TreeItem(name='B', type='B', items=2)
    """
    reader = _Reader(text, types)
    tree = reader.operand()
    if reader.token:
        raise reader.error(f"unexpected {reader.token!r} after the end of the query")
    return tree


@dataclass(slots=True)
class _Reader:
    """The text, what has been read of it and the token that comes next, empty at the end."""

    text: str
    types: Collection[str] | None
    token: str = ""
    start: int = 0
    end: int = 0
    n_items: int = 0
    is_negated: bool = False

    def __post_init__(self) -> None:
        self.advance()

    def advance(self) -> str:
        """Go to the next token and return the one before it."""
        read = self.token
        token = TOKEN.match(self.text, self.end)
        self.token = token[1] if token else ""
        self.start, self.end = token.span(1) if token else (self.end, self.end)
        return read

    def error(self, message: str, hint: str | None = None) -> QueryError:
        """Return an error at the next token."""
        return QueryError([Problem(message, Span(self.start, self.end), hint)], self.text)

    def unexpected(self, wanted: str) -> QueryError:
        """Return an error that says what should stand where the next token is."""
        return self.error(
            f"expected {wanted}, found {repr(self.token) if self.token else 'the end of the query'}"
        )

    def expect(self, sign: str, where: str) -> None:
        """Go past a sign."""
        if self.token != sign:
            raise self.unexpected(f"{sign!r} {where}")
        self.advance()

    def operand(self) -> Tree:
        """Read an operator with its operands, or an item."""
        if self.token in OPERATORS:
            return self.operator()
        if not re.match(r"[^\W\d]", self.token) or self.token == "NOT":
            raise self.unexpected("SEQ, AND or a type of events")
        if self.text[self.end :].lstrip().startswith("("):
            hint = "the operators are SEQ and AND, with NOT inside SEQ"
            raise self.error(f"{self.token} is no operator", hint)
        name, kind = self.token, self.known_type()
        self.advance()
        if self.is_negated:
            return TreeItem(name, kind, 0)
        self.n_items += 1
        return TreeItem(name, kind, 1 << self.n_items - 1)

    def known_type(self) -> str:
        """Return the type that the next token, a name, stands for."""
        if self.types is None or self.token in self.types:
            return self.token
        kind = self.token.rstrip("0123456789")
        if kind in self.types:
            return kind
        near = near_name(self.token, self.types)
        hint = f"did you mean {near}?" if near else f"the types are {', '.join(sorted(self.types))}"
        raise self.error(f"unknown type {self.token}", hint)

    def operator(self) -> Operator:
        """Read an operator with its operands."""
        start, kind = self.start, self.advance()
        self.expect("(", f"after {kind}")
        operands: list[Tree | NegatedOperand] = []
        while not operands or self.token == ",":
            if operands:
                self.advance()
            is_not = self.token == "NOT"
            if is_not and (kind != "SEQ" or self.is_negated or not operands):
                raise self.error("NOT can stand only between operands of a SEQ that is not negated")
            if is_not:
                self.advance()
            if is_not or (kind == "NSEQ" and len(operands) == 1):
                self.is_negated = True
                operands.append(NegatedOperand(self.operand(), 0))
                self.is_negated = False
            else:
                operands.append(self.operand())
        self.expect(")", f"or ',' after the operands of {kind}")
        self.check_operands(kind, operands, Span(start, self.end))
        items = sum(operand.items for operand in operands if not isinstance(operand, NegatedOperand))
        return Operator("SEQ" if kind == "NSEQ" else kind, _with_contexts(operands), items)

    def check_operands(self, kind: str, operands: list[Tree | NegatedOperand], span: Span) -> None:
        """Refuse an operator with too few operands."""
        n_positive = sum(not isinstance(operand, NegatedOperand) for operand in operands)
        problem = None
        if kind == "NSEQ" and len(operands) != 3:
            problem = f"NSEQ has three operands, found {len(operands)}"
        elif n_positive < 2:
            problem = f"{kind} needs two operands or more, found {n_positive}"
        elif isinstance(operands[-1], NegatedOperand):
            problem = "NOT can stand only between two operands of a SEQ"
        if problem:
            raise QueryError([Problem(problem, span)], self.text)


def _with_contexts(operands: list[Tree | NegatedOperand]) -> tuple[Tree | NegatedOperand, ...]:
    """Return operands whose negations know the items of the operands before and after them."""
    before = after = 0
    contexts: list[int] = []
    for operand in operands:
        contexts.append(before)
        before = before if isinstance(operand, NegatedOperand) else operand.items
    for number in reversed(range(len(operands))):
        operand = operands[number]
        contexts[number] |= after
        after = after if isinstance(operand, NegatedOperand) else operand.items
    return tuple(
        replace(operand, context=context) if isinstance(operand, NegatedOperand) else operand
        for operand, context in zip(operands, contexts, strict=True)
    )
