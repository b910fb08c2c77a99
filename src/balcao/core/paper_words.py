"""Certificates of a portfolio in words: titles, states and days left. Portuguese."""

from collections.abc import Mapping
from datetime import date
from typing import Final

from balcao.core.notices import Tone
from balcao.core.paper_filters import Expiry
from balcao.core.papers import Paper, PaperKind, PaperState, days_left
from balcao.core.writing import counted

KINDS: Final[Mapping[PaperKind, str]] = {
    "certidao_federal": "Certidão federal",
    "certidao_estadual": "Certidão estadual",
    "certidao_trabalhista": "Certidão trabalhista",
    "regularidade_fgts": "Regularidade do FGTS",
    "outra": "Outra",
}
STATES: Final[Mapping[PaperState, tuple[str, Tone]]] = {
    "renovando": ("Renovando", "info"),
    "positiva": ("Positiva", "bad"),
    "vencida": ("Vencida", "bad"),
    "a_vencer": ("A vencer", "warn"),
    "positiva_com_efeito_de_negativa": ("Positiva com efeito de negativa", "good"),
    "valida": ("Válida", "good"),
    "nao_emitida": ("Não emitida", "warn"),
    "nao_verificada": ("Não verificada", "warn"),
    "sem_certidao": ("Ainda não consultada", "neutral"),
}
EXPIRIES: Final[Mapping[Expiry, str]] = {
    "7": "Vencem em 7 dias",
    "15": "Em 15 dias",
    "30": "Em 30 dias",
    "mes": "Neste mês",
    "vencidas": "Vencidas",
}

# Of certificates whose day of issue is not known.
_USUAL_DAYS: Final = 180
_USUAL_DAYS_OF_FGTS: Final = 30


def title_of(paper: Paper) -> str:
    """Return a certificate's title: `Certidão estadual SP`, or its name if entered by hand."""
    return paper.name or f"{KINDS[paper.kind]} {paper.uf}".strip()


def until_in_words(last_day: str, today: date) -> str:
    """Return `vence hoje`, `falta 1 dia`, `faltam 7 dias`, `venceu ontem`, `venceu há 7 dias`."""
    left = days_left(last_day, today)
    if left == 0:
        return "vence hoje"
    if left < 0:
        return "venceu ontem" if left == -1 else f"venceu há {counted(-left, 'dia', 'dias')}"
    return f"{'falta' if left == 1 else 'faltam'} {counted(left, 'dia', 'dias')}"


def share_left(paper: Paper, today: date) -> float:
    """Return the part of a certificate's validity that is left, from 0 to 1."""
    if paper.last_day is None:
        return 0.0
    usual = _USUAL_DAYS_OF_FGTS if paper.kind == "regularidade_fgts" else _USUAL_DAYS
    last = date.fromisoformat(paper.last_day)
    whole = usual if paper.issued_on is None else (last - date.fromisoformat(paper.issued_on)).days
    return min(max((last - today).days / max(whole, 1), 0.0), 1.0)
