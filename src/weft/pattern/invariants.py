"""What every valid normal form satisfies."""

from weft.expressions import variables_of
from weft.pattern.normal_form import NormalForm


class InvariantError(AssertionError):
    """A rule broke an invariant; the message names the rule and the invariant."""


def check_form(form: NormalForm, step: str, outside: frozenset[str] = frozenset()) -> None:
    """Raise InvariantError, naming `step`, unless the form is a valid normal form.

    `outside` are the variables around a negated form, which a negation inside it may mention.
    """
    variables = set(form.variables)

    def require(condition: bool, invariant: str) -> None:
        if not condition:
            raise InvariantError(f"after {step}: {invariant}")

    require(bool(form.items), "a normal form has at least one item")
    require(len(variables) == len(form.items), "variables are distinct")
    require(all({a, b} <= variables for a, b in form.order), "the order relates items only")
    require(all((b, a) not in form.order for a, b in form.order), "the order is strict")
    require(
        all((a, d) in form.order for a, b in form.order for c, d in form.order if b == c),
        "the order is transitively closed",
    )
    require(all(variables_of(p) <= variables for p in form.predicates), "predicates mention items only")
    require(all(item.least >= 1 for item in form.items), "no item is optional")
    for negation in form.negations:
        require({*negation.after, *negation.before} <= variables, "a scope is bounded by items")
        known = outside | variables
        require(negation.outer_variables <= known, "a negation mentions its own and outer items only")
        check_form(negation.form, step, known)
