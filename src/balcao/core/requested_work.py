"""Long work that operators start from a page: the kinds of its jobs, and what the log says."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from balcao.core.people import Action

RequestedWork: TypeAlias = Literal["backup", "opendata_fetch"]

# The subject of its only open job: the work is done once at a time, on one of the nodes.
ABOUT = "page"
ACTIONS: Mapping[RequestedWork, Action] = {
    "backup": "backup.create",
    "opendata_fetch": "opendata.fetch",
}
TARGETS: Mapping[RequestedWork, str] = {
    "backup": "backup",
    "opendata_fetch": "dados abertos de produção",
}
REQUESTED, DONE, FAILED = "pedido", "concluído", "falhou: "
