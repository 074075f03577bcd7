"""Arrow's tables and streams, and files, as events of the local host."""

from pathlib import Path
from typing import Any

from weft.api.options import Columns
from weft.hosts.local.arrow_events import ArrowEvents
from weft.hosts.local.events import LocalEvents, events_in_memory
from weft.hosts.local.host import LocalHost
from weft.hosts.meaning import EventRoles
from weft.io.arrow_files import open_events
from weft.io.event_files import EventColumns


def local_host(events: Any, roles: EventRoles, columns: Columns) -> LocalHost:
    """Return the local host of events, whose columns have the roles as far as these are there and fit."""
    return LocalHost(LocalEvents.open(_rows_of(events, roles, columns), roles))


def _rows_of(events: Any, roles: EventRoles, columns: Columns) -> ArrowEvents:
    if isinstance(events, ArrowEvents):
        return events
    if not isinstance(events, str | Path):
        return events_in_memory(events)
    own = EventColumns(
        time=roles.time,
        type=roles.type,
        id=roles.id,
        order_by=roles.order_by,
        time_unit=columns.time_unit,
        delimiter=columns.delimiter,
    )
    return open_events(str(events), own, delimiter=columns.delimiter)
