"""The rules by which operands of different types are made to agree."""

from decimal import Decimal

from weft.expressions import ArithmeticOperator, Cast, Expression, Literal
from weft.language.literals import fits_decimal, parse_date, parse_duration, parse_timestamp, scale_of
from weft.schema import DATE, DOUBLE, DURATION, LONG, MAX_DECIMAL_DIGITS, STRING, TIMESTAMP, Type, decimal

MICROSECONDS_PER_DAY = 86_400_000_000

_PARSERS = {"timestamp": parse_timestamp, "date": parse_date, "duration": parse_duration}


class TypeMismatchError(Exception):
    """Operands that cannot be made to agree; `hint` says what could be done."""

    def __init__(self, hint: str | None = None) -> None:
        super().__init__(hint)
        self.hint = hint


Operand = tuple[Expression, Type]


def is_null(expression: Expression) -> bool:
    """Return whether an expression is the constant NULL."""
    return isinstance(expression, Literal) and expression.value is None


def convert(expression: Expression, given: Type, wanted: Type) -> Expression:
    """Return an expression with another type: a literal is folded, anything else gets a Cast.

    >>> convert(Literal(3, LONG), LONG, DOUBLE)
    Literal(value=3.0, type=Type(kind='double', scale=0))
    """
    if given == wanted:
        return expression
    if isinstance(expression, Literal):
        return _fold(expression, wanted)
    return Cast(expression, wanted, expression.span)


def _fold(literal: Literal, wanted: Type) -> Literal:
    value = literal.value
    if value is None:
        return Literal(None, wanted, literal.span)
    match literal.type.kind, wanted.kind:
        case (("long" | "decimal"), "double"):
            return Literal(float(value), wanted, literal.span)
        case (("long" | "double" | "decimal"), "decimal"):
            step = Decimal(1).scaleb(-wanted.scale)
            return Literal(_exact(literal).quantize(step), wanted, literal.span)
        case "date", "timestamp":
            return Literal(int(value) * MICROSECONDS_PER_DAY, wanted, literal.span)
        case "string", ("timestamp" | "date" | "duration"):
            parsed = _PARSERS[wanted.kind](str(value))
            if parsed is None:
                raise TypeMismatchError(_example_of(wanted))
            return Literal(parsed, wanted, literal.span)
        case _:
            raise TypeMismatchError


def _example_of(wanted: Type) -> str:
    example = {"timestamp": "'2024-01-31T12:00:00Z'", "date": "'2024-01-31'", "duration": "'5 minutes'"}
    return f"write a {wanted} as in {example[wanted.kind]}"


def _exact(literal: Literal) -> Decimal:
    value = literal.value
    assert value is not None
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def agree(left: Operand, right: Operand) -> tuple[Type, Type]:
    """Return the types, the same, that two operands of a comparison, a sum or a difference are converted to.

    Raises TypeMismatchError when there is none.

    >>> agree((Literal(3, LONG), LONG), (Literal(0.5, DOUBLE), DOUBLE)) == (DOUBLE, DOUBLE)
    True
    """
    common = common_type(left, right)
    return common, common


def common_type(left: Operand, right: Operand) -> Type:
    """Return the type that suits two operands."""
    (left_node, given), (right_node, other) = left, right
    if given == other or is_null(right_node):
        return given
    if is_null(left_node):
        return other
    if given.is_numeric and other.is_numeric:
        return _agree_on_number(left, right)
    if {given.kind, other.kind} == {"date", "timestamp"}:
        return TIMESTAMP
    for (node, own), (_, wanted) in ((left, right), (right, left)):
        if own == STRING and isinstance(node, Literal) and wanted.kind in _PARSERS:
            return _agree_on_text(node, wanted)
    raise TypeMismatchError(_mismatch_hint(left, right))


def _agree_on_text(literal: Literal, wanted: Type) -> Type:
    """Read a text beside a time; a date compared with a text that has a time of day is a timestamp."""
    if (
        wanted == DATE
        and parse_date(str(literal.value)) is None
        and parse_timestamp(str(literal.value)) is not None
    ):
        return TIMESTAMP
    _fold(literal, wanted)
    return wanted


def _agree_on_number(left: Operand, right: Operand) -> Type:
    kinds = {left[1].kind, right[1].kind}
    if "decimal" not in kinds:
        return DOUBLE
    for (node, _), (_, wanted) in ((left, right), (right, left)):
        if isinstance(node, Literal) and wanted.kind == "decimal":
            exact = _exact(node)
            scale = max(wanted.scale, scale_of(exact))
            return decimal(scale) if fits_decimal(exact, scale) else DOUBLE
    if kinds == {"decimal"}:
        return decimal(max(left[1].scale, right[1].scale))
    return DOUBLE


def _mismatch_hint(left: Operand, right: Operand) -> str | None:
    for (node, own), (_, other) in ((left, right), (right, left)):
        if own == STRING and isinstance(node, Literal) and other.is_numeric:
            return "write numbers without quotes"
        if own == STRING and other.is_numeric:
            return f"put the constant in single quotes, or cast the column to {other.kind}"
        if own == STRING and other.kind in _PARSERS:
            return f"cast the column to {other}"
        if own == TIMESTAMP and other.is_numeric:
            return "compare it with a time, as in TIMESTAMP '2024-01-31T12:00:00Z'"
        if own == DURATION and other.is_numeric:
            return "give the number a unit, as in 5 minutes"
    return None


def arithmetic_operands(operator: ArithmeticOperator, left: Operand, right: Operand) -> tuple[Type, Type]:
    """Return the types that the operands of arithmetic are converted to.

    Raises TypeMismatchError when the operator does not take them.

    >>> one, half = (Literal(1, LONG), LONG), (Literal(0.5, DOUBLE), DOUBLE)
    >>> [kind.kind for kind in arithmetic_operands("%", one, half)]
    ['double', 'double']
    """
    given, other = _without_nulls(left, right)
    if given.is_numeric and other.is_numeric:
        return _number_operands(operator, (left[0], given), (right[0], other))
    if operator in ("+", "-"):
        return _time_operands(operator, (left[0], given), (right[0], other))
    raise TypeMismatchError(None if STRING in (given, other) else f"{operator} takes numbers")


def _without_nulls(left: Operand, right: Operand) -> tuple[Type, Type]:
    """Give a NULL the type that suits the other operand."""
    given, other = left[1], right[1]
    if is_null(left[0]) and is_null(right[0]):
        return LONG, LONG
    if is_null(left[0]):
        return (DURATION if other in (TIMESTAMP, DATE) else other), other
    if is_null(right[0]):
        return given, (DURATION if given in (TIMESTAMP, DATE) else given)
    return given, other


def _number_operands(operator: ArithmeticOperator, left: Operand, right: Operand) -> tuple[Type, Type]:
    kinds = {left[1].kind, right[1].kind}
    if operator == "/":
        return DOUBLE, DOUBLE
    if operator == "%" and "decimal" in kinds:
        raise TypeMismatchError("% takes whole numbers or doubles; cast the decimal column to one of them")
    if operator == "*" and "decimal" in kinds:
        if kinds != {"decimal"}:
            return DOUBLE, DOUBLE
        if left[1].scale + right[1].scale > MAX_DECIMAL_DIGITS:
            hint = (
                f"the product would have more than {MAX_DECIMAL_DIGITS} digits after the point; cast a column"
            )
            raise TypeMismatchError(hint)
        return left[1], right[1]
    return agree(left, right)


def _time_operands(operator: ArithmeticOperator, left: Operand, right: Operand) -> tuple[Type, Type]:
    """Take timestamp - timestamp, timestamp +- duration, duration + timestamp, duration +- duration."""
    given, other = _as_time(left, right[1]), _as_time(right, left[1])
    legal = {
        "+": {(TIMESTAMP, DURATION), (DURATION, TIMESTAMP), (DURATION, DURATION)},
        "-": {(TIMESTAMP, TIMESTAMP), (TIMESTAMP, DURATION), (DURATION, DURATION)},
    }
    if (given, other) in legal[operator]:
        return given, other
    times = {given, other} & {TIMESTAMP, DURATION}
    hint = "give the number a unit, as in 5 minutes" if times and LONG in (given, other) else None
    raise TypeMismatchError(hint)


def _as_time(operand: Operand, beside: Type) -> Type:
    node, given = operand
    if given == DATE:
        return TIMESTAMP
    if given == STRING and isinstance(node, Literal) and beside in (TIMESTAMP, DATE, DURATION):
        text = str(node.value)
        if parse_duration(text) is not None:
            return DURATION
        if parse_timestamp(text) is not None:
            return TIMESTAMP
    return given


def common_type_of_list(operand: Operand, values: tuple[Literal, ...]) -> Type:
    """Return the type that the operand of IN and its constants are all converted to."""
    node, common = operand
    for value in values:
        if is_null(node):
            common = value.type
            break
        common = common_type((node, common), (value, value.type))
    if common.kind == "decimal" and not all(fits_decimal(_exact(value), common.scale) for value in values):
        return DOUBLE
    return common
