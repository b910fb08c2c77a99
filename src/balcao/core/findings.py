"""What an examination finds, and how it is said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from balcao.core.writing import counted

Status: TypeAlias = Literal["ok", "warn", "fail"]

WORDS: Mapping[Status, str] = {"ok": "ok", "warn": "aviso", "fail": "FALHA"}

# What an installation is made of, in the order in which it is examined.
Group: TypeAlias = Literal["programa", "dados", "meses", "fontes", "serviço", "rede"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check says. `text` names the remedy where something is wrong."""

    status: Status
    text: str
    name: str = ""  # else that of the check
    group: Group = "programa"  # else that of the check


def closing(findings: Sequence[Finding]) -> str:
    """How many there are of each kind, and what to see to first."""
    counts = {status: sum(each.status == status for each in findings) for status in WORDS}
    told = [f"{counts['ok']} em ordem"]
    told.append(counted(counts["warn"], "aviso", "avisos"))
    told.append(counted(counts["fail"], "falha", "falhas"))
    line = ", ".join(told) + "."
    for status in ("fail", "warn"):
        for each in findings:
            if each.status == status:
                return f"{line} Comece por: {each.name}."
    return line
