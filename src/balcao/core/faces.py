"""The services whose shape the company lookup can be asked in (contract 16), and their keys.

A face key is one whose only operation is a face: `compat/brasilapi`.
"""

from collections.abc import Mapping, Sequence

# As addresses and face keys have them, and as people write them.
FACE_TITLES: Mapping[str, str] = {
    "brasilapi": "BrasilAPI",
    "minhareceita": "Minha Receita",
    "receitaws": "ReceitaWS",
    "cnpjws": "cnpj.ws",
}
_PREFIX = "compat/"


def operation_of(face: str) -> str:
    """What stands for a face among a key's operations."""
    return _PREFIX + face


def face_among(operations: Sequence[str] | None) -> str | None:
    """The face that a key with these operations is of; None: it is no face key."""
    if operations is None or len(operations) != 1 or not operations[0].startswith(_PREFIX):
        return None
    return operations[0].removeprefix(_PREFIX)
