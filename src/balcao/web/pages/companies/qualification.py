"""*Habilitação*: the certificates that a public tender asks of a company (Lei 14.133, art. 68).

Four are looked up; the municipal one is entered by hand in the portfolio.
"""

import asyncio
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from balcao.core.notices import Tone
from balcao.core.paper_words import STATES, until_in_words
from balcao.core.papers import BOUGHT_BY, Paper, PaperKind, PaperState
from balcao.core.wallet import WalletItem
from balcao.core.writing import day
from balcao.storage.desk.wallet.paper_list import (
    ListedPaper,
    PaperFilter,
    Standing,
    standing_of,
)
from balcao.web.kit.context import PageContext
from balcao.web.pages.companies.registers import Register

_TITLES: Final[Mapping[PaperKind, str]] = {
    "certidao_federal": "Federal",
    "certidao_estadual": "Estadual",
    "outra": "Municipal",
    "regularidade_fgts": "FGTS",
    "certidao_trabalhista": "Trabalhista",
}
_IN_ORDER: Final = frozenset[PaperState](
    {"valida", "a_vencer", "positiva_com_efeito_de_negativa", "renovando"}
)
_READ_MAX = 200
_ITEMS = "/app/carteira/itens"


@dataclass(frozen=True, slots=True)
class QualificationLine:
    """One of the five. `href`: where a missing one is entered."""

    title: str
    state: PaperState
    until: str  # the last day and the days left; empty: there is none
    href: str | None = None

    @property
    def text(self) -> str:
        return STATES[self.state][0]

    @property
    def tone(self) -> Tone:
        return STATES[self.state][1]

    @property
    def is_in_order(self) -> bool:
        return self.state in _IN_ORDER


async def qualification_of(
    context: PageContext, registers: Sequence[Register], watched: WalletItem | None
) -> Sequence[QualificationLine]:
    """Return the five, from the portfolio's certificates and the account's own results."""
    account_id, desk = context.account.account_id, context.desk
    standing = standing_of(desk.wallets.settings(account_id), context.now_ms())
    listed: Sequence[ListedPaper] = ()
    if watched is not None:
        chosen = PaperFilter(items=(watched.item_id,))
        page = await asyncio.to_thread(
            desk.paper_list.page, account_id, chosen, standing, 0, _READ_MAX
        )
        listed = page.papers
    return [_line(kind, registers, listed, standing, watched) for kind in _TITLES]


def _line(
    kind: PaperKind,
    registers: Sequence[Register],
    listed: Sequence[ListedPaper],
    standing: Standing,
    watched: WalletItem | None,
) -> QualificationLine:
    title = _TITLES[kind]
    found = next((each for each in listed if _is_it(each.paper, kind)), None)
    if found is not None and (kind == "outra" or found.paper.verdict is not None):
        named = f"{title} {found.paper.uf}".strip()
        return QualificationLine(named, found.state, _until(found.paper.last_day, standing))
    if kind == "outra":
        href = f"{_ITEMS}/{watched.item_id}#certidoes" if watched is not None else None
        return QualificationLine(title, "sem_certidao", "", href)
    subject = BOUGHT_BY[kind]
    register = next((each for each in registers if each.form.subject == subject), None)
    if register is None:
        return QualificationLine(title, "sem_certidao", "")
    named = f"{title} {register.uf or ''}".strip()
    state, last = _state_of(register, standing)
    return QualificationLine(named, state, _until(last, standing))


def _state_of(register: Register, standing: Standing) -> tuple[PaperState, str | None]:
    """Return the state of the account's newest result, and its last day."""
    result = register.result
    if result is None:
        return ("nao_verificada" if register.attempt else "sem_certidao"), None
    verdict = result.certificate.verdict if result.certificate else None
    until = register.in_force_until
    last = until[:10] if until else None
    if register.by_act is not None and (last is None or register.by_act.until > last):
        last = register.by_act.until
    if verdict == "CPD":
        return "positiva", last
    if verdict not in {"CND", "CPEND"}:
        return "nao_emitida", last
    today, soon = standing.values
    if last is not None and last < today:
        return "vencida", last
    if last is not None and last <= soon:
        return "a_vencer", last
    return ("valida" if verdict == "CND" else "positiva_com_efeito_de_negativa"), last


def _is_it(paper: Paper, kind: PaperKind) -> bool:
    """Return whether a certificate is of a kind; of those entered by hand, the municipal ones."""
    return paper.kind == kind and (kind != "outra" or "municip" in _plain(paper.name or ""))


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text.lower())
    return "".join(each for each in decomposed if not unicodedata.combining(each))


def _until(last_day: str | None, standing: Standing) -> str:
    if last_day is None:
        return ""
    return f"{day(last_day)}, {until_in_words(last_day, standing.today)}"
