"""Compatible APIs: services in whose shape the company lookup answers (contract 16), and keys.

The key of a compatible API has one operation: `compat/brasilapi`.
"""

from collections.abc import Mapping, Sequence

# Names in paths and keys, and as people write them.
COMPAT_API_TITLES: Mapping[str, str] = {
    "brasilapi": "BrasilAPI",
    "minhareceita": "Minha Receita",
    "receitaws": "ReceitaWS",
    "cnpjws": "cnpj.ws",
}
_PREFIX = "compat/"


def compat_operation(name: str) -> str:
    """Return the operation name to which keys of this compatible API are restricted."""
    return _PREFIX + name


def compat_api_among(operations: Sequence[str] | None) -> str | None:
    """Return the compatible API that a key's operations restrict it to; None: an ordinary key."""
    if operations is None or len(operations) != 1 or not operations[0].startswith(_PREFIX):
        return None
    return operations[0].removeprefix(_PREFIX)
