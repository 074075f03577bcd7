"""Arrow's tables and streams, and files, as events of the local host."""

from typing import Any

from weft.api.options import Columns
from weft.hosts.local.events import LocalEvents, events_in_memory
from weft.hosts.local.host import LocalHost
from weft.hosts.local.schemas import column_kinds
from weft.hosts.meaning import EventRoles


def local_host(events: Any, roles: EventRoles, columns: Columns) -> LocalHost:
    """Return this process as the host of rows, whose columns have the roles as far as these are there and fit."""
    rows = events_in_memory(events)
    return LocalHost(LocalEvents.bind(column_kinds(rows.schema), roles, rows=rows))
