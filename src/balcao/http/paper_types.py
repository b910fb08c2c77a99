"""Certificates of the portfolio in the API (contract 20.5)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, get_args

import msgspec
from msgspec import UNSET, UnsetType

from balcao.core.budgets import iso_instant
from balcao.core.calendar import civil_day
from balcao.core.described import described, doc
from balcao.core.errors import InvalidParameter
from balcao.core.manual_papers import (
    NAME_CHARACTERS_MAX,
    NOTE_CHARACTERS_MAX,
    checked_day,
    checked_last_day,
    checked_name,
    checked_note,
)
from balcao.core.papers import BOUGHT_BY, Paper, PaperKind, PaperState
from balcao.core.receipts import ReceiptNumbers
from balcao.core.wallet import WalletSettings
from balcao.http.texts import COUNT, TEXT, WHEN
from balcao.lookup.context import Parts
from balcao.operations import OPERATIONS
from balcao.operations.parameters import Parameter, Parameters
from balcao.storage.desk.wallet.expiries import Expiry
from balcao.storage.desk.wallet.manual_papers import ManualChange, ManualPaper
from balcao.storage.desk.wallet.paper_list import Standing

PAPER_STATES: Final[Sequence[PaperState]] = get_args(PaperState)
PAPER_KINDS: Final[Sequence[PaperKind]] = get_args(PaperKind)

DAY: Final[Mapping[str, object]] = {"format": "date"}


_NAME = doc("O nome, como as pessoas o escrevem. Sem CPF.", maxLength=NAME_CHARACTERS_MAX)
_NOTE = doc("Uma nota sua. Sem CPF.", maxLength=NOTE_CHARACTERS_MAX)
_LAST_DAY = doc("O último dia em que vale: AAAA-MM-DD.", **DAY)


@described("CertidaoAIncluir", "Uma certidão incluída à mão.")
class ManualPaperBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The body that adds a certificate."""

    nome: Annotated[str, _NAME]
    valida_ate: Annotated[str, _LAST_DAY]
    nota: Annotated[str | None, _NOTE] = None


@described("MudancaDeCertidao", "As alterações de uma certidão incluída à mão.")
class ManualPaperChangeBody(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The body that changes a certificate."""

    nome: Annotated[str | UnsetType, _NAME] = UNSET
    valida_ate: Annotated[str | UnsetType, _LAST_DAY] = UNSET
    nota: Annotated[str | UnsetType | None, _NOTE] = UNSET


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


@described("CertidaoIncluida", "Uma certidão incluída à mão.")
class ManualPaperAnswer(msgspec.Struct, frozen=True):
    """A certificate that was entered by hand, without the members that it never has."""

    id: Annotated[str, doc("Identificador da certidão.", format="uuid")]
    tipo: Annotated[str, doc("Sempre `outra`.", enum=["outra"])]
    nome: Annotated[str, _NAME]
    nota: Annotated[str | None, _NOTE]
    estado: Annotated[str, doc("O estado de hoje.", enum=["valida", "a_vencer", "vencida"])]
    valida_ate: Annotated[str, _LAST_DAY]
    recibo: Annotated[str | None, doc("O endereço do arquivo enviado.")]


@described("ItemDoVencimento", "O item que tem a certidão.")
class ExpiryItemAnswer(msgspec.Struct, frozen=True):
    """The item of a last day."""

    id: Annotated[str, doc("Identificador do item.", format="uuid")]
    ref: Annotated[str | None, doc("A sua referência.")]
    cliente: Annotated[str | None, doc("O cliente final.")]
    etiquetas: Annotated[Sequence[str], doc("Etiquetas.")]


@described("Vencimento", "Uma certidão e um item que a tem.")
class ExpiryAnswer(PaperAnswer, frozen=True):
    """A certificate with a last day, and an item that has it."""

    item: Annotated[ExpiryItemAnswer, doc("O item.")]
    documento: Annotated[str, doc("O CNPJ do item, ou o CPF, mascarado.")]


@described("RespostaVencimentos", "Uma página de vencimentos.")
class ExpiriesAnswer(msgspec.Struct, frozen=True):
    """A page of last days."""

    itens: Annotated[Sequence[ExpiryAnswer], doc("As certidões, por dia de vencimento.")]
    cursor: Annotated[str | None, doc("Cursor da página seguinte. Nulo na última.")]


STATES = Parameter(
    "estado",
    "Estados de certidões, separados por vírgula: "
    + ", ".join(f"`{state}`" for state in PAPER_STATES)
    + ".",
    TEXT,
)
UNTIL = Parameter("ate", "Certidões que vencem até este dia: AAAA-MM-DD.", {**TEXT, **DAY})


def states_of(sent: Parameters) -> tuple[PaperState, ...]:
    """Read the parameter `estado`. Raises `InvalidParameter`."""
    wanted = (sent.text(STATES.name) or "").split(",")
    states = tuple(state for state in PAPER_STATES if state in wanted)
    if wanted != [""] and not {*wanted} <= {*PAPER_STATES}:
        raise InvalidParameter(f"estado: alguns de {', '.join(PAPER_STATES)}.")
    return states


def day_of(sent: Parameters, name: str) -> str | None:
    """Read a day. Raises `InvalidParameter`."""
    text = sent.text(name)
    return checked_day(text, name) if text else None


class PaperView(msgspec.Struct, frozen=True):
    """Makes answers of certificates as they are on a day."""

    standing: Standing
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
            paper.state(*self.standing),
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

    def manual(self, paper: Paper, item_id: str) -> ManualPaperAnswer:
        """Return the API's representation of a certificate that was entered by hand."""
        assert paper.last_day is not None
        return ManualPaperAnswer(
            paper.paper_id,
            paper.kind,
            paper.name or "",
            paper.note,
            paper.state(*self.standing),
            paper.last_day,
            self.receipt(paper, item_id),
        )

    def answers(self, papers: Sequence[Paper], item_id: str) -> Sequence[PaperAnswer]:
        """Return the representations of all certificates of an item."""
        return [self.answer(paper, item_id) for paper in papers]

    def expiry(self, entry: Expiry) -> ExpiryAnswer:
        """Return the API's representation of a last day."""
        paper = self.answer(entry.paper, entry.item_id)
        return ExpiryAnswer(
            **msgspec.structs.asdict(paper),
            item=ExpiryItemAnswer(entry.item_id, entry.reference, entry.client, entry.tags),
            documento=entry.document,
        )

    def receipt(self, paper: Paper, item_id: str) -> str | None:
        """Return the address of a certificate's receipt or file; None: it has none."""
        if paper.receipt_id is None:
            return None
        if paper.kind == "outra":
            base_url = self.receipt_numbers.base_url
            return f"{base_url}/carteira/v1/itens/{item_id}/papeis/{paper.paper_id}/arquivo"
        operation = OPERATIONS[BOUGHT_BY[paper.kind]].path
        return self.receipt_numbers.address_of(operation, paper.receipt_id)


def manual_of(sent: ManualPaperBody) -> ManualPaper:
    """Return a certificate as sent. Raises `InvalidParameter`, `TagWithCpf`."""
    return ManualPaper(
        checked_name(sent.nome), checked_last_day(sent.valida_ate), checked_note(sent.nota)
    )


def change_of(sent: ManualPaperChangeBody) -> ManualChange:
    """Return a change as sent. Raises `InvalidParameter`, `TagWithCpf`."""
    name, day, note = sent.nome, sent.valida_ate, sent.nota
    return ManualChange(
        name if isinstance(name, UnsetType) else checked_name(name),
        day if isinstance(day, UnsetType) else checked_last_day(day),
        note if isinstance(note, UnsetType) else checked_note(note),
    )


def paper_view(parts: Parts, settings: WalletSettings) -> PaperView:
    """Return the view of a portfolio's certificates now, by its time and notices."""
    today = civil_day(settings.clock_ms or parts.now_ms())
    notice_days = max(settings.notices.dias, default=0)
    return PaperView(Standing(today, notice_days), parts.receipt_numbers)


EXAMPLE_PAPER = PaperAnswer(
    "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6c3", "certidao_federal", None, None, None, "a_vencer",
    "2026-08-18", "2026-02-19", None, None,
    "/consultas/v2/certidao-negativa-de-debitos-federal/print/0b0c2a6c-6c3f-8d0e-9f00-5d2c8a41e6d2",
    "01a1fdb6-bbd9-7267-b44e-c9f361d6fd2f", 0, 0, "2026-08-10T09:12:00.000-03:00", None,
)  # fmt: skip
EXAMPLE_MANUAL = ManualPaperAnswer(
    "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6c4", "outra", "Alvará de funcionamento", None, "valida",
    "2026-12-31", None,
)  # fmt: skip
EXAMPLE_EXPIRY = ExpiryAnswer(
    **msgspec.structs.asdict(EXAMPLE_PAPER),
    item=ExpiryItemAnswer(
        "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6d2", "17", "loja-7", ("fornecedores",)
    ),
    documento="90010001000100",
)
