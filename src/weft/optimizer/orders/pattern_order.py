"""Join the items of a pattern in the order in which the pattern names them.

Idea        Single events first, as written; then the lists, as written, so that every list is
            expanded between events that already bound it.
Reference   The trivial plan of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event
            Streams. SIGMOD 2019.
Differs     Lists come last.
Complexity  O(n) for n items. Not optimal in general.
"""

from collections.abc import Sequence

from weft.pattern.normal_form import Item, NormalForm


def pattern_order(form: NormalForm) -> Sequence[Item]:
    """Return the items of a form in evaluation order.

    >>> form = NormalForm((Item("l", "L", is_list=True, most=None), Item("v", "V")), frozenset())
    >>> [item.variable for item in pattern_order(form)]
    ['v', 'l']
    """
    return sorted(form.items, key=lambda item: item.is_list)
