"""Certificates of the portfolio in the API (contract 20.5)."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Final, get_args

import msgspec

from balcao.core.budgets import iso_instant
from balcao.core.calendar import civil_day
from balcao.core.described import described, doc
from balcao.core.manual_papers import NAME_CHARACTERS_MAX, NOTE_CHARACTERS_MAX
from balcao.core.papers import BOUGHT_BY, Paper, PaperKind, PaperState
from balcao.core.receipts import ReceiptNumbers
from balcao.core.wallet import WalletSettings
from balcao.http.texts import COUNT, WHEN
from balcao.lookup.context import Parts
from balcao.operations import OPERATIONS

PAPER_STATES: Final[Sequence[PaperState]] = get_args(PaperState)
PAPER_KINDS: Final[Sequence[PaperKind]] = get_args(PaperKind)

DAY: Final[Mapping[str, object]] = {"format": "date"}


@described("CertidaoDoItem", "Uma certidão de um item da carteira.")
class PaperAnswer(msgspec.Struct, frozen=True):
    """A certificate of an item."""

    id: Annotated[str, doc("Identificador da certidão.", format="uuid")]
    tipo: Annotated[str, doc("O tipo. `outra`: incluída à mão.", enum=[*PAPER_KINDS])]
    uf: Annotated[str | None, doc("A UF, de uma certidão estadual.")]
    nome: Annotated[
        str | None, doc("O nome, de uma incluída à mão.", maxLength=NAME_CHARACTERS_MAX)
    ]
    nota: Annotated[
        str | None, doc("A nota, de uma incluída à mão.", maxLength=NOTE_CHARACTERS_MAX)
    ]
    estado: Annotated[str, doc("O estado de hoje.", enum=[*PAPER_STATES])]
    valida_ate: Annotated[str | None, doc("O último dia em que vale, com as prorrogações.", **DAY)]
    emitida_em: Annotated[str | None, doc("Quando foi emitida.", **DAY)]
    prorrogada_ate: Annotated[
        str | None, doc("O último dia segundo um ato que a prorrogou.", **DAY)
    ]
    ato: Annotated[str | None, doc("O ato que a prorrogou.")]
    recibo: Annotated[str | None, doc("O endereço do comprovante, ou do arquivo enviado.")]
    request_id: Annotated[
        str | None, doc("O `request_id` da consulta que a trouxe.", format="uuid")
    ]
    compras: Annotated[
        int, doc("Renovações cobradas da validade atual, feitas pela carteira.", **COUNT)
    ]
    tentativas: Annotated[int, doc("Renovações tentadas da validade atual.", **COUNT)]
    proxima_em: Annotated[str | None, doc("A próxima renovação prevista.", **WHEN)]
    motivo: Annotated[str | None, doc("O código da última falha, ou por que não é renovada agora.")]


class PaperView(msgspec.Struct, frozen=True):
    """Makes answers of certificates as they are on a day.

    `notice_days`: the portfolio's greatest notice.
    """

    today: date
    notice_days: int
    receipt_numbers: ReceiptNumbers

    def answer(self, paper: Paper, item_id: str) -> PaperAnswer:
        """Return the API's representation of an item's certificate."""
        next_ms = paper.next_ms or None  # 0: not computed yet
        return PaperAnswer(
            paper.paper_id,
            paper.kind,
            paper.uf or None,
            paper.name,
            paper.note,
            paper.state(self.today, self.notice_days),
            paper.last_day,
            paper.issued_on,
            paper.extended_until,
            paper.act,
            self.receipt(paper, item_id),
            paper.request_id,
            paper.purchases,
            paper.attempts,
            iso_instant(next_ms),
            paper.reason,
        )

    def answers(self, papers: Sequence[Paper], item_id: str) -> Sequence[PaperAnswer]:
        """Return the representations of all certificates of an item."""
        return [self.answer(paper, item_id) for paper in papers]

    def receipt(self, paper: Paper, item_id: str) -> str | None:
        """Return the address of a certificate's receipt or file; None: it has none."""
        if paper.receipt_id is None:
            return None
        if paper.kind == "outra":
            base_url = self.receipt_numbers.base_url
            return f"{base_url}/carteira/v1/itens/{item_id}/papeis/{paper.paper_id}/arquivo"
        operation = OPERATIONS[BOUGHT_BY[paper.kind]].path
        return self.receipt_numbers.address_of(operation, paper.receipt_id)


def paper_view(parts: Parts, settings: WalletSettings) -> PaperView:
    """Return the view of a portfolio's certificates now, by its time and notices."""
    return PaperView(
        civil_day(settings.clock_ms or parts.now_ms()),
        max(settings.notices.dias, default=0),
        parts.receipt_numbers,
    )


EXAMPLE_PAPER = PaperAnswer(
    "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6c3", "certidao_federal", None, None, None, "a_vencer",
    "2026-08-18", "2026-02-19", None, None,
    "/consultas/v2/certidao-negativa-de-debitos-federal/print/0b0c2a6c-6c3f-8d0e-9f00-5d2c8a41e6d2",
    "01a1fdb6-bbd9-7267-b44e-c9f361d6fd2f", 0, 0, "2026-08-10T09:12:00.000-03:00", None,
)  # fmt: skip
