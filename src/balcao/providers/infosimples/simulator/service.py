"""What stands behind a path of Infosimples: what it needs to be asked, and what it answers.

A service reads the parameters and returns what to look up, or why it does not. Everything
else (token, envelope, header, misbehaviour) is common to all services: `infosimples.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from balcao.core.federation import UFS
from balcao.providers.infosimples.simulator.receipts import HostedReceipt
from balcao.providers.simulation.exchange import is_cnpj, is_cpf, plain_document
from balcao.providers.simulation.staging import Scene


@dataclass(frozen=True, slots=True)
class Answer:
    """A result: its code, the objects it found, the reasons it failed and its receipt."""

    code: int
    data: tuple[dict[str, object], ...] = ()
    errors: tuple[str, ...] = ()
    receipt: HostedReceipt | None = None


# What to look up, once the parameters were read; or why it is not looked up.
Outcome: TypeAlias = Scene[Answer] | Answer

# Parameters without the token, and the time in Brasília.
Service: TypeAlias = Callable[[Mapping[str, str], datetime], Outcome]


def missing(name: str) -> Answer:
    """A parameter that has to be there is not."""
    return Answer(606, errors=(f"O parâmetro {name} não foi enviado.",))


def invalid(name: str) -> Answer:
    """A parameter is there, and is nothing of the kind."""
    return Answer(607, errors=(f"O parâmetro {name} é inválido.",))


def not_found() -> Answer:
    """The origin knows nothing."""
    return Answer(612, errors=("Nenhum registro foi encontrado com os parâmetros informados.",))


def refused(code: int, reason: str) -> Answer:
    """The origin says why not."""
    return Answer(code, errors=(reason,))


def uf_of(parameters: Mapping[str, str]) -> str | Answer:
    """The UF that is asked about."""
    uf = parameters.get("uf", "").strip().upper()
    if uf in UFS:
        return uf
    return invalid("uf") if uf else missing("uf")


def document_of(parameters: Mapping[str, str]) -> str | Answer | None:
    """The CNPJ or CPF that is asked about, if any, in digits (and letters)."""
    if asked := parameters.get("cnpj"):
        cnpj = plain_document(asked)
        return cnpj if is_cnpj(cnpj) else invalid("cnpj")
    if asked := parameters.get("cpf"):
        cpf = plain_document(asked)
        return cpf if is_cpf(cpf) else invalid("cpf")
    return None


def moment(value: datetime) -> str:
    """`dd/mm/yyyy HH:MM:SS`."""
    return value.strftime("%d/%m/%Y %H:%M:%S")
