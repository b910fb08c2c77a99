"""Bodies of `/carteira/v1` (contract 20.1, 20.2)."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from balcao.core.budgets import CEILING_MAX, iso_instant
from balcao.core.described import described, doc
from balcao.core.errors import InvalidParameter
from balcao.core.problems import problem_of
from balcao.core.wallet import (
    ITEMS_AT_ONCE,
    SYNCED_AT_ONCE,
    TAGS_MAX,
    ItemRequest,
    Notices,
    Recheck,
    RegistryFacts,
    Renewal,
    WalletItem,
    WalletSettings,
)
from balcao.http.paper_types import EXAMPLE_PAPER, PaperAnswer
from balcao.http.texts import COUNT, WHEN
from balcao.lookup.wallet import ItemLine
from balcao.storage.desk.wallet.planning import Outcome

_WHEN = "2026-08-08T10:15:30.120-03:00"
_ID = "0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6d2"

_DOCUMENT = doc(
    "CNPJ, CPF ou os 8 primeiros caracteres de um CNPJ (a empresa inteira). Na resposta, o CPF vem"
    " mascarado."
)
_BIRTH = doc("Data de nascimento, AAAA-MM-DD. Só com CPF; nunca é devolvida.")
_REF = doc("A sua referência, como em `X-Referencia`.")
_CLIENT = doc("O cliente final, como em `X-Cliente`.")
_TAGS = doc(f"Etiquetas, até {TAGS_MAX}.", maxItems=TAGS_MAX)
_WATCHED = doc(
    "O que acompanhar: `cadastro`, `socios`, `simples`, `filiais`, `inscricoes:UF`, `suframa`,"
    " `certidao_federal`, `certidao_estadual:UF`, `certidao_trabalhista`, `regularidade_fgts`. De"
    " um CPF: `produtor:UF`, `certidao_trabalhista` e, com a data de nascimento,"
    " `certidao_federal`. Padrão de empresas: `cadastro`, `socios` e `simples`."
)
_OwnRenewal: TypeAlias = Annotated[
    Renewal | Literal[False] | UnsetType | None,
    doc("Renovação das certidões deste item. Nulo: a da carteira. `false`: nunca."),
]
_OwnRecheck: TypeAlias = Annotated[
    Recheck | Literal[False] | UnsetType | None,
    doc("Reconsulta deste item. Nulo: a da carteira. `false`: nunca."),
]


@described("ItemAAcompanhar", "Um item de uma lista. O que não vem fica como está.")
class ItemBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An item of a list."""

    documento: Annotated[str, _DOCUMENT]
    data_nascimento: Annotated[str | None, _BIRTH] = None
    ref: Annotated[str | UnsetType | None, _REF] = UNSET
    cliente: Annotated[str | UnsetType | None, _CLIENT] = UNSET
    etiquetas: Annotated[tuple[str, ...] | UnsetType, _TAGS] = UNSET
    vigiar: Annotated[tuple[str, ...] | UnsetType | None, _WATCHED] = UNSET
    renovar: _OwnRenewal = UNSET
    reconsultar: _OwnRecheck = UNSET


@described("NovosItens", "Um item (`documento`) ou uma lista (`itens`).")
class NewItemsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The body that adds one item, or a list."""

    documento: Annotated[str | UnsetType, _DOCUMENT] = UNSET
    data_nascimento: Annotated[str | None, _BIRTH] = None
    ref: Annotated[str | UnsetType | None, _REF] = UNSET
    cliente: Annotated[str | UnsetType | None, _CLIENT] = UNSET
    etiquetas: Annotated[tuple[str, ...] | UnsetType, _TAGS] = UNSET
    vigiar: Annotated[tuple[str, ...] | UnsetType | None, _WATCHED] = UNSET
    renovar: _OwnRenewal = UNSET
    reconsultar: _OwnRecheck = UNSET
    itens: Annotated[
        tuple[ItemBody, ...] | UnsetType,
        doc("Uma lista, sem os outros campos.", maxItems=ITEMS_AT_ONCE),
    ] = UNSET


@described("MudancaDeItem", "As alterações de um item.")
class ItemChangeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body that changes an item."""

    data_nascimento: Annotated[str | None, _BIRTH] = None
    ref: Annotated[str | UnsetType | None, _REF] = UNSET
    etiquetas: Annotated[tuple[str, ...] | UnsetType, _TAGS] = UNSET
    vigiar: Annotated[tuple[str, ...] | UnsetType | None, _WATCHED] = UNSET
    renovar: _OwnRenewal = UNSET
    reconsultar: _OwnRecheck = UNSET
    tratado: Annotated[
        bool | UnsetType, doc("`true`: silencia os avisos do item até o próximo evento.")
    ] = UNSET


@described("Sincronizacao", "A lista que a parte da carteira passa a ser.")
class SyncBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The body of a synchronization: a part of the portfolio, and its new items."""

    itens: Annotated[
        tuple[ItemBody, ...] | UnsetType,
        doc("Os itens. Não com `lote`.", maxItems=SYNCED_AT_ONCE),
    ] = UNSET
    cliente: Annotated[str | None, doc("A parte: os itens deste cliente.")] = None
    etiqueta: Annotated[str | None, doc("A parte: os itens com esta etiqueta.")] = None
    vigiar: Annotated[
        tuple[str, ...] | UnsetType | None,
        doc("Só com `lote`: o que acompanhar de todos os itens."),
    ] = UNSET


@described("InscricaoDoItem", "Uma inscrição estadual, como na última consulta da conta.")
class RegistrationAnswer(msgspec.Struct, frozen=True):
    """A state registration of an item."""

    uf: Annotated[str, doc("UF.")]
    inscricao: Annotated[str | None, doc("Inscrição.")]
    ativa: Annotated[bool | None, doc("Se está ativa.")]
    situacao_pj: Annotated[str | None, doc("Situação.")]
    tipo_ie: Annotated[str | None, doc("Tipo.")]
    verificado_em: Annotated[str | None, doc("Quando foi consultada.", **WHEN)]


@described("SuframaDoItem", "A situação na Suframa, como na última consulta da conta.")
class SuframaAnswer(msgspec.Struct, frozen=True):
    """The Suframa status of an item."""

    codigo: Annotated[str | int | None, doc("Código.", type=["string", "integer", "null"])]
    descricao: Annotated[str | None, doc("Descrição.")]


@described("ItemDaCarteira", "Um item da carteira.")
class ItemAnswer(msgspec.Struct, frozen=True):
    """An item of the portfolio."""

    id: Annotated[str, doc("Identificador do item.", format="uuid")]
    documento: Annotated[str, _DOCUMENT]
    ref: Annotated[str | None, _REF]
    cliente: Annotated[str | None, _CLIENT]
    etiquetas: Annotated[Sequence[str], _TAGS]
    vigiar: Annotated[Sequence[str], _WATCHED]
    papeis: Annotated[Sequence[PaperAnswer], doc("As certidões do item.")]
    cadastro: Annotated[RegistryFacts | None, doc("A empresa, como foi vista por último.")]
    inscricoes: Annotated[Sequence[RegistrationAnswer], doc("As inscrições estaduais.")]
    suframa: Annotated[SuframaAnswer | None, doc("A situação na Suframa.")]
    renovar: Annotated[
        Renewal | Literal[False] | None, doc("Nulo: como a carteira. `false`: nunca.")
    ]
    reconsultar: Annotated[
        Recheck | Literal[False] | None, doc("Nulo: como a carteira. `false`: nunca.")
    ]
    sequencia: Annotated[int, doc("O número do último evento do item.", **COUNT)]
    verificado_em: Annotated[str | None, doc("Quando foi verificado por último.", **WHEN)]
    tratado_em: Annotated[str | None, doc("Quando alguém marcou como tratado.", **WHEN)]
    criado_em: Annotated[str, doc("Quando entrou na carteira.", **WHEN)]
    novo: Annotated[bool | UnsetType, doc("Se entrou agora. Só na resposta do POST.")] = UNSET


@described("LinhaAcrescentada", "O resultado de uma linha.")
class LineAnswer(msgspec.Struct, frozen=True):
    """The outcome of a line of a list."""

    linha: Annotated[int, doc("A linha, a partir de 1.", minimum=1)]
    id: Annotated[str | None, doc("O item. Nulo: a linha não serve.")]
    novo: Annotated[bool, doc("Se entrou agora.")]
    codigo: Annotated[str | None, doc("O código do erro.")]


@described("RespostaItens", "Uma página de itens.")
class ItemsAnswer(msgspec.Struct, frozen=True):
    """A page of items."""

    itens: Annotated[Sequence[ItemAnswer], doc("Os itens, do mais antigo ao mais recente.")]
    cursor: Annotated[str | None, doc("Cursor da página seguinte. Nulo na última.")]


@described(
    "RespostaItensAcrescentados",
    "De uma lista, o resultado de cada linha (`itens`). De um item, os campos dele.",
)
class LinesAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcomes of a list; of one item that was there the answer is an `ItemAnswer`."""

    itens: Annotated[Sequence[LineAnswer] | UnsetType, doc("Uma entrada por linha.")] = UNSET
    id: Annotated[str | UnsetType, doc("O item que já estava na carteira.")] = UNSET
    novo: Annotated[bool | UnsetType, doc("`false`: já estava na carteira.")] = UNSET


@described("LinhaInvalida", "Uma linha que não serve.")
class InvalidLineAnswer(msgspec.Struct, frozen=True):
    """An invalid line of a synchronization."""

    linha: Annotated[int, doc("A linha, a partir de 1.", minimum=1)]
    codigo: Annotated[str, doc("O código do erro.")]


@described("RespostaSincronizacao", "O que a sincronização mudou.")
class SyncAnswer(msgspec.Struct, frozen=True):
    """The counts of a synchronization."""

    entram: Annotated[int, doc("Itens que entram na parte.", **COUNT)]
    saem: Annotated[int, doc("Itens que saem da parte.", **COUNT)]
    ficam: Annotated[int, doc("Itens que ficam.", **COUNT)]
    invalidos: Annotated[Sequence[InvalidLineAnswer], doc("Linhas que não servem.")]


@described("UltimaComparacao", "A última comparação de meses.")
class ComparisonAnswer(msgspec.Struct, frozen=True):
    """The last comparison of months."""

    competencia: Annotated[str, doc("O mês: AAAA-MM.")]
    em: Annotated[str | None, doc("Quando terminou.", **WHEN)]
    comparados: Annotated[int, doc("Itens comparados.", **COUNT)]
    com_mudanca: Annotated[int, doc("Itens com mudança.", **COUNT)]
    nao_verificados: Annotated[int, doc("Itens que não puderam ser comparados.", **COUNT)]


@described("ParadaDaCarteira", "Por que renovações e reconsultas pararam.")
class StopAnswer(msgspec.Struct, frozen=True):
    """Why purchases have stopped."""

    motivo: Annotated[str, doc("Motivo.", enum=["teto", "saldo", "chave", "fonte"])]
    desde: Annotated[str | None, doc("Desde quando.", **WHEN)]
    volta_em: Annotated[str | None, doc("Quando continua. Nulo: não se sabe.", **WHEN)]


_RENEWAL = doc("Renovação dos itens sem uma própria. Nulo: nunca.")
_RECHECK = doc("Reconsulta dos itens sem uma própria. Nulo: nunca.")
_CEILING = doc(
    "Limite mensal, em créditos, do que a carteira compra sozinha. Com 0, nada é comprado."
    " Mudar precisa de uma chave de administração.",
    minimum=0,
    maximum=CEILING_MAX,
)


@described("MudancaDeAvisos", "As alterações dos avisos. O que não vem fica como está.")
class NoticesChangeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The changes of the notices to people."""

    dias: Annotated[
        tuple[int, ...] | UnsetType, doc("Dias restantes em que um vencimento é avisado.")
    ] = UNSET
    resumo_as: Annotated[str | UnsetType | None, doc("Hora do resumo diário. Nulo: nenhum.")] = (
        UNSET
    )
    imediatos: Annotated[
        Literal["nao", "de_dia", "sempre"] | UnsetType,
        doc("Se avisos graves são enviados na hora."),
    ] = UNSET
    pessoas: Annotated[tuple[int, ...] | UnsetType, doc("Os ids das pessoas avisadas.")] = UNSET


@described("MudancaDeCarteira", "As alterações da carteira.")
class WalletChangeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body that changes the portfolio's settings."""

    renovar_padrao: Annotated[Renewal | UnsetType | None, _RENEWAL] = UNSET
    reconsultar_padrao: Annotated[Recheck | UnsetType | None, _RECHECK] = UNSET
    teto_creditos_mes: Annotated[int | UnsetType, _CEILING] = UNSET
    avisos: Annotated[NoticesChangeBody | UnsetType, doc("Os avisos a pessoas.")] = UNSET


@described("RespostaCarteira", "A carteira da conta.")
class WalletAnswer(msgspec.Struct, frozen=True):
    """The portfolio of an account."""

    renovar_padrao: Annotated[Renewal | None, _RENEWAL]
    reconsultar_padrao: Annotated[Recheck | None, _RECHECK]
    teto_creditos_mes: Annotated[int, _CEILING]
    avisos: Annotated[Notices, doc("Os avisos a pessoas.")]
    itens: Annotated[int, doc("Itens na carteira.", **COUNT)]
    itens_max: Annotated[int, doc("Máximo de itens do plano.", **COUNT)]
    ultima_comparacao: Annotated[ComparisonAnswer | None, doc("A última comparação de meses.")]
    proxima_compra_em: Annotated[str | None, doc("A próxima compra prevista.", **WHEN)]
    parada: Annotated[StopAnswer | None, doc("Por que as compras pararam. Nulo: não pararam.")]


EXAMPLE_ITEM = ItemAnswer(
    _ID, "90010001000100", "17", "loja-7", ("fornecedores",), ("cadastro", "certidao_federal"),
    (EXAMPLE_PAPER,), RegistryFacts("EMPRESA EXEMPLO LTDA", "ATIVA", "2001-02-03", "2026-07"), (),
    None, None, None, 0, None, None, _WHEN,
)  # fmt: skip
EXAMPLE_WALLET = WalletAnswer(
    Renewal(), Recheck(7), 0, Notices(), 1, 10_000,
    ComparisonAnswer("2026-07", _WHEN, 1, 0, 0), None, None,
)  # fmt: skip


def line_of(sent: ItemBody | NewItemsBody) -> ItemLine:
    """Return the line of an item as sent."""
    document = sent.documento
    if isinstance(document, UnsetType):
        raise InvalidParameter("documento: é obrigatório, ou envie uma lista em itens.")
    return ItemLine(document, stated_by(sent), sent.data_nascimento)


def stated_by(sent: ItemBody | NewItemsBody) -> ItemRequest:
    """Return the terms that a body states about an item."""
    return ItemRequest(
        client=sent.cliente,
        reference=sent.ref,
        tags=sent.etiquetas,
        watched=sent.vigiar,
        renew=sent.renovar,
        recheck=sent.reconsultar,
    )


def change_of(sent: ItemChangeBody) -> ItemRequest:
    """Return the terms that a change states."""
    return ItemRequest(
        reference=sent.ref,
        tags=sent.etiquetas,
        watched=sent.vigiar,
        renew=sent.renovar,
        recheck=sent.reconsultar,
    )


def item_answer(
    item: WalletItem, papers: Sequence[PaperAnswer], *, new: bool | None = None
) -> ItemAnswer:
    """Return the API's representation of an item. `new`: in the answer that adds it."""
    return ItemAnswer(
        item.item_id,
        item.document,
        item.reference,
        item.client,
        item.tags,
        item.watched,
        papers,
        item.registry,
        [msgspec.convert(one, RegistrationAnswer) for one in item.registrations],
        None if item.suframa is None else msgspec.convert(item.suframa, SuframaAnswer),
        item.renew,
        item.recheck,
        item.sequence,
        iso_instant(item.verified_ms),
        iso_instant(item.handled_ms),
        iso_instant(item.created_ms) or "",
        UNSET if new is None else new,
    )


def lines_answer(outcomes: Sequence[Outcome]) -> LinesAnswer:
    """Return the outcomes of a list, in the order of its lines."""
    return LinesAnswer(
        [
            LineAnswer(one.line, one.item_id, one.new, _code_of(one))
            for one in sorted(outcomes, key=lambda one: one.line)
        ]
    )


def invalid_lines(outcomes: Sequence[Outcome]) -> Sequence[InvalidLineAnswer]:
    """Return the invalid lines of a synchronization, in their order."""
    return [
        InvalidLineAnswer(one.line, _code_of(one) or "")
        for one in sorted(outcomes, key=lambda one: one.line)
    ]


def _code_of(outcome: Outcome) -> str | None:
    return None if outcome.error is None else problem_of(outcome.error).code


def wallet_answer(
    settings: WalletSettings, ceiling: int, items: int, items_max: int, next_ms: int | None
) -> WalletAnswer:
    """Return the API's representation of a portfolio. `next_ms`: of its next purchase."""
    compared = None
    if settings.compared_month is not None:
        compared = ComparisonAnswer(
            settings.compared_month,
            iso_instant(settings.compared_ms),
            settings.compared,
            settings.changed,
            settings.unverified,
        )
    stopped = None
    if settings.stopped_reason is not None:
        stopped = StopAnswer(
            settings.stopped_reason,
            iso_instant(settings.stopped_ms),
            iso_instant(settings.resumes_ms),
        )
        resumes_ms = settings.resumes_ms
        known = next_ms is not None and resumes_ms is not None
        next_ms = max(next_ms or 0, resumes_ms or 0) if known else None
    return WalletAnswer(
        settings.renew,
        settings.recheck,
        ceiling,
        settings.notices,
        items,
        items_max,
        compared,
        iso_instant(next_ms),
        stopped,
    )
