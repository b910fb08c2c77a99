"""`balcao wallet`: the companies and persons that an account watches."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from balcao.cli.arguments import parse_expiry
from balcao.cli.failures import CommandFailed, refuse
from balcao.cli.installation import AccountName, open_installation, wait_for
from balcao.cli.output import AsJson, TextTable, iso, show, when

if TYPE_CHECKING:
    from balcao.core.events import StoredEvent
    from balcao.core.wallet import WalletItem

app = typer.Typer(no_args_is_help=True)

# Rows read at a time.
_PAGE = 1_000

Tag = Annotated[str | None, typer.Option(metavar="ETIQUETA", help="Só os itens com esta etiqueta.")]
Client = Annotated[str | None, typer.Option(metavar="CLIENTE", help="Cliente, como em X-Cliente.")]


@app.command()
def add(
    account: AccountName,
    documents: Annotated[
        list[str],
        typer.Argument(metavar="DOCUMENTO...", help="CNPJs, raízes de 8 caracteres ou CPFs."),
    ],
    *,
    client: Client = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="ETIQUETA", help="Etiqueta; pode repetir.")
    ] = None,
    ref: Annotated[str | None, typer.Option(metavar="TEXTO", help="A referência do item.")] = None,
    watch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ASSUNTO",
            help="O que acompanhar; pode repetir. Padrão de empresas: cadastro, socios e simples.",
        ),
    ] = None,
    birth: Annotated[
        str | None, typer.Option(metavar="AAAA-MM-DD", help="Data de nascimento, com um CPF.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Acrescenta itens à carteira de uma conta. Acompanhar não custa nada.

    O mesmo documento do mesmo cliente é um só item: acrescentar de novo altera o que foi
    informado.

    Exemplo:

      $ balcao wallet add acme 90010001000100 90010002000154 --tag fornecedores
      $ balcao wallet add acme 90010001000100 --client loja-7 --watch cadastro --watch suframa
    """
    from msgspec import UNSET

    from balcao.core.errors import CallerError
    from balcao.core.wallet import ItemRequest
    from balcao.service.wallet import add_items

    if ref is not None and len(documents) > 1:
        refuse("a referência é de um documento só.", "--ref")
    request = ItemRequest(
        client=UNSET if client is None else client,
        reference=UNSET if ref is None else ref,
        tags=UNSET if tag is None else tag,
        watched=UNSET if watch is None else watch,
    )
    with open_installation() as local:
        found = local.account(account)
        try:
            added = wait_for(
                add_items(
                    local.settings,
                    local.home,
                    local.desk,
                    local.now_ms,
                    found,
                    documents=documents,
                    request=request,
                    birth=birth,
                )
            )
        except CallerError as error:
            raise CommandFailed(str(error.message)) from None
    new = sum(each.new for each in added)
    records = [_as_record(each.item) | {"novo": each.new} for each in added]
    show(as_json, records, f"Itens novos: {new}. Já estavam na carteira: {len(added) - new}.")


@app.command("list")
def list_items(
    account: AccountName,
    *,
    client: Client = None,
    tag: Tag = None,
    as_json: AsJson = False,
) -> None:
    """Lista os itens da carteira de uma conta. CPFs aparecem mascarados.

    Exemplo:

      $ balcao wallet list acme --tag fornecedores
    """
    from balcao.storage.desk.wallet import ItemFilter

    items: list[WalletItem] = []
    with open_installation() as local:
        number = local.account(account).account_id
        chosen = ItemFilter(client, tag)
        while page := local.desk.wallets.page(
            number, chosen, after=items[-1].item_id if items else "", limit=_PAGE
        ):
            items += page
    table = TextTable(
        items,
        {
            "Id": lambda each: each.item_id,
            "Documento": lambda each: each.document,
            "Cliente": lambda each: each.client or "",
            "Referência": lambda each: each.reference or "",
            "Etiquetas": lambda each: ", ".join(each.tags),
            "Acompanha": lambda each: ", ".join(each.watched),
            "Eventos": lambda each: each.sequence,
            "Verificado em": lambda each: (
                "nunca" if each.verified_ms is None else when(each.verified_ms)
            ),
        },
        numbers=("Eventos",),
        foldable=("Etiquetas", "Acompanha"),
        unbroken=("Id",),
    )
    show(as_json, [*map(_as_record, items)], table)


@app.command()
def changes(
    account: AccountName,
    *,
    after: Annotated[
        str | None, typer.Option(metavar="EVENTO", help="Só os eventos depois deste id.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Lista os eventos dos itens da carteira, do mais antigo ao mais recente (90 dias).

    Exemplo:

      $ balcao wallet changes acme --after evt_0000000000042
    """
    from balcao.core.event_feed import FeedFilter, kept_since
    from balcao.core.events import event_number

    last, only = 0, FeedFilter(items_only=True)
    if after is not None:
        last = event_number(after) or 0
        if not last:
            refuse("informe o id de um evento, como evt_0000000000042.", "--after")
    events: list[StoredEvent] = []
    with open_installation() as local:
        account_id = local.account(account).account_id
        since_ms = kept_since(local.now_ms())
        while page := wait_for(
            local.desk.events.page(account_id, last, _PAGE, since_ms, only)
        ).events:
            last = page[-1].number
            events += page
    table = TextTable(
        events,
        {
            "Id": lambda each: each.event_id,
            "Quando": lambda each: when(each.at_ms),
            "Tipo": lambda each: each.kind,
            "Item": lambda each: each.item_id,
        },
        unbroken=("Id", "Item"),
    )
    show(as_json, [*map(_as_event, events)], table)


@app.command()
def due(
    account: AccountName,
    *,
    days: Annotated[
        int, typer.Option(metavar="DIAS", help="Quantos dias à frente.", min=0, max=400)
    ] = 30,
    client: Client = None,
    tag: Tag = None,
    as_json: AsJson = False,
) -> None:
    """Lista as certidões da carteira que vencem em breve e as vencidas, da primeira à última.

    Exemplo:

      $ balcao wallet due acme --days 15
    """
    from datetime import timedelta

    from balcao.core.paper_filters import FIRST_DAY, DayRange
    from balcao.core.paper_words import STATES, title_of, until_in_words
    from balcao.core.writing import day
    from balcao.storage.desk.wallet.paper_list import PaperFilter, standing_of

    with open_installation() as local:
        number = local.account(account).account_id
        standing = standing_of(local.desk.wallets.settings(number), local.now_ms())
        until = (standing.today + timedelta(days)).isoformat()
        chosen = PaperFilter(client, tag, days=DayRange(FIRST_DAY, until))
        found = [*local.desk.paper_list.each(number, chosen, standing)]
    table = TextTable(
        found,
        {
            "Certidão": lambda each: title_of(each.paper),
            "Documento": lambda each: each.item.document,
            "Cliente": lambda each: each.item.client or "",
            "Referência": lambda each: each.item.reference or "",
            "Situação": lambda each: STATES[each.state][0],
            "Vale até": lambda each: day(each.paper.last_day),
            "": lambda each: until_in_words(each.paper.last_day or "", standing.today),
        },
        foldable=("Certidão",),
    )
    records = [
        {
            "id": each.paper.paper_id,
            "tipo": each.paper.kind,
            "uf": each.paper.uf or None,
            "nome": each.paper.name,
            "estado": each.state,
            "valida_ate": each.paper.last_day,
            "item": each.item.item_id,
            "documento": each.item.document,
        }
        for each in found
    ]
    show(as_json, records, table)


@app.command()
def renew(
    account: AccountName,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="TIPO",
            help="certidao_federal, certidao_estadual, certidao_trabalhista ou regularidade_fgts.",
        ),
    ],
    *,
    ceiling: Annotated[
        int, typer.Option(metavar="CREDITOS", help="O limite de gasto do lote.", min=0)
    ],
    state: Annotated[
        str | None, typer.Option(metavar="ESTADO", help="Só as neste estado, como a_vencer.")
    ] = None,
    client: Client = None,
    tag: Tag = None,
    as_json: AsJson = False,
) -> None:
    """Renova agora as certidões de um tipo: um lote, já confirmado, com um limite de gasto.

    O serviço em funcionamento executa o lote; acompanhe com balcao batch show.

    Exemplo:

      $ balcao wallet renew acme certidao_federal --state a_vencer --ceiling 24
    """
    from balcao.core.errors import CallerError
    from balcao.core.paper_words import STATES
    from balcao.core.papers import BOUGHT_BY
    from balcao.service.standalone import standalone_batches
    from balcao.service.wallet import WalletInstallation, renew_papers
    from balcao.storage.desk.wallet.paper_list import PaperFilter

    bought = next((each for each in BOUGHT_BY if each == kind), None)
    states = tuple(each for each in STATES if each == state)
    if bought is None:
        refuse(f"um destes: {', '.join(BOUGHT_BY)}.", "TIPO")
    if state is not None and not states:
        refuse(f"um destes: {', '.join(STATES)}.", "--state")
    chosen = PaperFilter(client, tag, states=states)
    with (
        open_installation() as local,
        standalone_batches(local.settings, local.home, local.desk, local.now_ms) as batches,
    ):
        parts = WalletInstallation(local.settings, local.home, local.desk, local.now_ms)
        owner = local.account(account)
        assert bought is not None, "others were refused"
        try:
            made = wait_for(renew_papers(parts, batches.desk, owner, bought, chosen, ceiling))
        except CallerError as error:
            raise CommandFailed(str(error.message)) from None
    record = {"id": made.batch_id, "nome": made.name, "operacao": made.operation}
    show(as_json, record, f"Lote criado: {made.batch_id}. Ele começa assim que for cotado.")


@app.command()
def clock(
    account: AccountName,
    *,
    until_ms: Annotated[
        int | None,
        typer.Option(
            "--until",
            parser=parse_expiry,
            metavar="DATA",
            help="Até quando avançar: AAAA-MM-DD (o fim do dia), ou data e hora.",
        ),
    ] = None,
    days: Annotated[
        int | None, typer.Option(metavar="DIAS", help="Quantos dias avançar.", min=1)
    ] = None,
    real: Annotated[
        bool, typer.Option("--real", help="Voltar à hora real e esquecer o que o relógio trouxe.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Mostra, avança ou devolve à hora real o relógio da carteira de uma conta de teste.

    O relógio só avança, no máximo 400 dias por vez. O serviço em funcionamento faz acontecer, em
    ordem, tudo o que venceria no caminho.

    Exemplo:

      $ balcao wallet clock pre-pago --days 30
      $ balcao wallet clock pre-pago
      $ balcao wallet clock pre-pago --real
    """
    from balcao.core.errors import CallerError
    from balcao.core.freshness import DAY_MS

    if sum((until_ms is not None, days is not None, real)) > 1:
        refuse("informe só uma das opções.", "--until")
    with open_installation() as local:
        found = local.account(account)
        if found.mode != "test":
            raise CommandFailed("só carteiras de contas de teste têm relógio.")
        clocks, number, now_ms = local.desk.portfolio_clocks, found.account_id, local.now_ms()
        shown = wait_for(clocks.find(number))
        at_ms = now_ms if shown is None else shown.now_ms
        if days is not None:
            until_ms = at_ms + days * DAY_MS
        try:
            if until_ms is not None:
                shown = wait_for(clocks.move(number, until_ms, now_ms))
            elif real:
                wait_for(clocks.give_up(number))
                shown = None
        except CallerError as error:
            raise CommandFailed(str(error.message)) from None
    moving = shown is not None and shown.until_ms is not None
    at_ms = now_ms if shown is None else shown.now_ms
    state = {
        "agora": iso(at_ms),
        "estado": "avancando" if moving else "parado",
        "real": shown is None,
    }
    text = f"{when(at_ms)} (hora real)." if shown is None else f"{when(at_ms)}."
    if moving and shown is not None and shown.until_ms is not None:
        text = f"{when(at_ms)}, avançando até {when(shown.until_ms)}."
    show(as_json, state, text)


def _as_event(event: "StoredEvent") -> Mapping[str, Any]:
    import json

    return {
        "id": event.event_id,
        "tipo": event.kind,
        "em": iso(event.at_ms),
        "dados": json.loads(event.body),
    }


def _as_record(item: "WalletItem") -> dict[str, Any]:
    return {
        "id": item.item_id,
        "documento": item.document,
        "ref": item.reference,
        "cliente": item.client,
        "etiquetas": list(item.tags),
        "vigiar": list(item.watched),
        "sequencia": item.sequence,
        "verificado_em": None if item.verified_ms is None else iso(item.verified_ms),
        "criado_em": iso(item.created_ms),
    }
