"""What it takes to adapt the plan of a query group, as it travels to the workers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.adaptation.adapter import StreamAdapter
    from weft.adaptation.settings import Adaptation
    from weft.pattern.nodes import Query
    from weft.schema import Schema
    from weft.statistics.model import Statistics


@dataclass(frozen=True)
class AdaptedGroup:
    """The queries of a group, and what their plan was chosen by; the stored plan travels as JSON."""

    queries: tuple["Query", ...]
    schema: "Schema"
    stored_plan: str
    statistics: "Statistics"
    adaptation: "Adaptation"

    def adapter(self) -> "StreamAdapter":
        """Return what changes the plan while it runs."""
        # Imported here, and the optimizer with it: a worker without such a group needs none of it.
        from weft.adaptation.adapter import adapter_of

        return adapter_of(self.queries, self.schema, self.stored_plan, self.statistics, self.adaptation)
