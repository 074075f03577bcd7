"""Which column of an Arrow table is what."""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.schema import Type

FLAGS_PER_COLUMN = 62


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column of an Arrow table is what.

    `attributes` maps an attribute to its column and type. Derived types are bits, 62 to a column of
    `flags`, in the order of `derived_types`. Where there is no `id`, `content` is a hash of the row.
    With `keeps_tie`, the values of the tie-break stay with the events, to be compared with later ones.
    """

    time: str
    type: str | None
    id: str | None
    content: str | None
    tie: str | None
    attributes: Mapping[str, tuple[str, Type]]
    type_names: tuple[str, ...]
    derived_types: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    tie_type: Type | None = None
    keeps_tie: bool = False
