"""Findings of an examination of the installation, and their summary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from balcao.core.writing import counted

Status: TypeAlias = Literal["ok", "warn", "fail"]

STATUS_LABELS: Mapping[Status, str] = {"ok": "ok", "warn": "aviso", "fail": "FALHA"}

# Parts of an installation, in the order of the examination.
Group: TypeAlias = Literal["programa", "dados", "meses", "fontes", "serviço", "rede"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. If something is wrong, `text` includes the remedy."""

    status: Status
    text: str
    name: str = ""  # default: the check's
    group: Group = "programa"  # default: the check's


def summary_line(findings: Sequence[Finding]) -> str:
    """Return one line with the number of findings by status, and the first to deal with."""
    counts = {status: sum(each.status == status for each in findings) for status in STATUS_LABELS}
    parts = [f"{counts['ok']} em ordem"]
    parts.append(counted(counts["warn"], "aviso", "avisos"))
    parts.append(counted(counts["fail"], "falha", "falhas"))
    line = ", ".join(parts) + "."
    for status in ("fail", "warn"):
        for each in findings:
            if each.status == status:
                return f"{line} Comece por: {each.name}."
    return line
