"""`balcao key`: issue, list and revoke API keys."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from balcao.cli import budget
from balcao.cli.arguments import one_of, parse_expiry
from balcao.cli.failures import CommandFailed, refuse, refuse_name
from balcao.cli.installation import AccountName, open_installation
from balcao.cli.output import AsJson, Note, TextTable, program, record, show, when, whole
from balcao.core import writing
from balcao.core.access import (
    NETWORKS_MAX,
    UNRESTRICTED,
    Account,
    Key,
    KeyRestrictions,
    network_text,
)
from balcao.core.calendar import civil_day
from balcao.core.compat_apis import COMPAT_API_TITLES, compat_operation
from balcao.core.deprecations import shown_since, title_of
from balcao.core.key_expiry import is_in_force
from balcao.service.clock import system_now_ms

if TYPE_CHECKING:
    from balcao.storage.desk.desk import Desk

app = typer.Typer(no_args_is_help=True)

NAME_CHARACTERS_MAX = 100
USES_MAX = 10_000

KeyNumber: TypeAlias = Annotated[
    int, typer.Argument(metavar="CHAVE", help="Número da chave (key list).")
]


@app.command()
def create(
    account: AccountName,
    *,
    name: Annotated[str, typer.Option(help="Nome da chave.", metavar="TEXTO")] = "chave",
    expires: Annotated[
        int | None,
        typer.Option(
            parser=parse_expiry,
            metavar="DATA",
            help="Último dia de validade em Brasília (AAAA-MM-DD), ou data e hora ISO 8601.",
        ),
    ] = None,
    per_minute: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Limite próprio por minuto.")
    ] = None,
    per_day: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Limite próprio por dia.")
    ] = None,
    networks: Annotated[
        list[str] | None,
        typer.Option(
            "--ip",
            metavar="CIDR",
            help="Endereço ou rede permitida (10.0.0.0/8); pode repetir.",
        ),
    ] = None,
    operations: Annotated[
        list[str] | None,
        typer.Option("--operation", metavar="OPERAÇÃO", help="Operação permitida; pode repetir."),
    ] = None,
    client: Annotated[
        bool, typer.Option("--require-client", help="Exige X-Cliente em cada consulta.")
    ] = False,
    admin: Annotated[
        bool, typer.Option("--admin", help="Pode ver e alterar dados da conta inteira.")
    ] = False,
    face: Annotated[
        str | None,
        typer.Option(
            parser=one_of([*COMPAT_API_TITLES]),
            metavar="FACE",
            help="Chave de API compatível, que vai no endereço: brasilapi, minhareceita,"
            " receitaws, cnpjws.",
        ),
    ] = None,
    daily_credits: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Limite diário, em créditos, da chave de API compatível."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cria uma chave, mostrada uma única vez. A saída padrão traz só a chave.

    Sem --ip, vale em qualquer endereço. Sem --operation, vale para todas as operações. Com
    --face, vale só para a consulta de empresas em uma API compatível e exige --ip e
    --daily-credits.

    Exemplo:

      $ CHAVE=$(balcao key create acme --name produção --expires 2027-12-31)
      $ balcao key create acme --ip 203.0.113.0/24 --operation sintegra
      $ balcao key create acme --face brasilapi --ip 203.0.113.7 --daily-credits 500
    """
    from balcao.accounts.keys import issue_key

    if expires is not None and expires <= system_now_ms():
        refuse("essa data já passou.", "--expires")
    refuse_name(name, NAME_CHARACTERS_MAX, "--name")
    if face is None:
        if daily_credits is not None:
            refuse("só com --face; para outras chaves: budget create.", "--daily-credits")
        restrictions = KeyRestrictions(_networks(networks), _operations(operations), client, admin)
    else:
        restrictions = _compat_restrictions(face, networks, daily_credits)
        if operations or client or admin:
            refuse("não se usa com --operation, --require-client nem --admin.", "--face")
    with open_installation() as local:
        found = local.account(account)
        text, key = issue_key(
            local.desk,
            local.home,
            found,
            name,
            local.now_ms(),
            expires_ms=expires,
            per_minute=per_minute,
            per_day=per_day,
            restrictions=restrictions,
        )
        if face is not None:
            # Show the key only once its ceiling exists.
            budget.create_for(local, found, "chave", str(key.key_id), "dia", credits=daily_credits)
    notes = [
        f"Chave {key.key_id} da conta {found.name}. Guarde a chave agora: ela não será mostrada"
        " de novo."
    ]
    if face is not None:
        notes.append(
            f"A chave vai no endereço: /compat/k/CHAVE/{face}/…, só de"
            f" {', '.join(restrictions.networks)}, até {writing.credits(daily_credits or 0)} por"
            " dia."
        )
    show(as_json, {"key": text, **_record(found, key)}, *map(Note, notes), text)


@app.command()
def change(
    key_id: KeyNumber,
    *,
    networks: Annotated[
        list[str] | None,
        typer.Option("--ip", metavar="CIDR", help="Só destes endereços ou redes; pode repetir."),
    ] = None,
    any_ip: Annotated[bool, typer.Option("--any-ip", help="De qualquer endereço.")] = False,
    operations: Annotated[
        list[str] | None,
        typer.Option("--operation", metavar="OPERAÇÃO", help="Só estas operações; pode repetir."),
    ] = None,
    any_operation: Annotated[
        bool, typer.Option("--any-operation", help="Todas as operações.")
    ] = False,
    client: Annotated[
        bool | None,
        typer.Option("--require-client/--no-require-client", help="Exigir X-Cliente, ou não."),
    ] = None,
    admin: Annotated[
        bool | None,
        typer.Option(
            "--admin/--no-admin", help="Permite ou não ver e alterar dados da conta inteira."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Altera as regras de uma chave. Vale em um segundo.

    Opções não informadas não mudam.

    Exemplo:

      $ balcao key change 12 --ip 203.0.113.7 --ip 2001:db8::/32
      $ balcao key change 12 --any-ip --require-client
    """
    if networks and any_ip:
        refuse("não se usa com --any-ip.", "--ip")
    if operations and any_operation:
        refuse("não se usa com --any-operation.", "--operation")
    with open_installation() as local:
        owner, key = _found(local.desk, key_id)
        if key.revoked_ms is not None:
            raise CommandFailed(
                f"A chave {key_id} ({key.name}) está revogada e não pode ser alterada."
            )
        restrictions = key.restrictions or UNRESTRICTED
        if restrictions.compat_api is not None and (
            any_ip or operations or any_operation or client is not None or admin is not None
        ):
            title = COMPAT_API_TITLES.get(restrictions.compat_api, restrictions.compat_api)
            raise CommandFailed(
                f"A chave {key_id} é da API compatível com {title}. Só os endereços podem ser"
                " alterados, com --ip."
            )
        wanted = KeyRestrictions(
            () if any_ip else _networks(networks) or restrictions.networks,
            None if any_operation else _operations(operations) or restrictions.operations,
            restrictions.client_required if client is None else client,
            restrictions.administers if admin is None else admin,
        )
        local.desk.change_restrictions(key_id, wanted, local.now_ms())
        _, changed = _found(local.desk, key_id)
    text = f"Chave {key_id} ({key.name}) da conta {owner.name}: {_rules(changed)}."
    if wanted == restrictions:
        text = f"A chave {key_id} ({key.name}) já tinha estas regras: {_rules(changed)}."
    show(as_json, _record(owner, changed), text)


@app.command("show")
def show_key(key_id: KeyNumber, as_json: AsJson = False) -> None:
    """Mostra uma chave e as regras dela.

    Exemplo:

      $ balcao key show 12
    """
    with open_installation() as local:
        owner, key = _found(local.desk, key_id)
        budgets = local.desk.budgets.of_account(
            owner.account_id, local.now_ms(), owner=("chave", str(key.key_id))
        )
    restrictions = key.restrictions or UNRESTRICTED
    operations = "todas" if restrictions.operations is None else ", ".join(restrictions.operations)
    if restrictions.compat_api is not None:
        title = COMPAT_API_TITLES.get(restrictions.compat_api, restrictions.compat_api)
        operations = f"só a API compatível: {title}"
    table = TextTable.of(
        ("Chave", str(key.key_id)),
        [
            ("Nome", key.name),
            ("Conta", owner.name),
            ("Começa com", f"{key.prefix}…"),
            ("Estado", _state(key)),
            ("Criada em", when(key.created_ms)),
            ("Vale até", _last_moment(key)),
            ("Último uso", when(key.last_used_ms)),
            ("Limites", _limits(key)),
            ("Endereços", ", ".join(restrictions.networks) or "todos"),
            ("Operações", operations),
            ("Exige cliente", restrictions.client_required),
            ("Administra", restrictions.administers),
            ("Orçamentos", "; ".join(map(budget.summary, budgets)) or "nenhum"),
        ],
    )
    records = [budget.as_record(each) for each in budgets]
    show(as_json, {**_record(owner, key), "budgets": records}, table)


@app.command("list")
def list_keys(
    account: AccountName,
    all_of_them: Annotated[bool, typer.Option("--all", help="Também as revogadas.")] = False,
    as_json: AsJson = False,
) -> None:
    """Lista as chaves de uma conta, sem os segredos, que não ficam guardados.

    A data de criação e os orçamentos estão em key show. Com --json, inclui todas as chaves.

    Exemplo:

      $ balcao key list acme
    """
    with open_installation() as local:
        found = local.account(account)
        keys = local.desk.keys(found.account_id)
        budgets = Counter(
            each.budget.owner
            for each in budget.budgets_of(local, found)
            if each.budget.owner_kind == "chave"
        )
    shown = [key for key in keys if all_of_them or key.revoked_ms is None]
    table = TextTable(
        shown,
        {
            "Nº": "key_id",
            "Nome": "name",
            "Começa com": lambda key: f"{key.prefix}…",
            "Estado": _state,
            "Vale até": _last_moment,
            "Último uso": "last_used_ms",
            "Limites": _limits,
            "Regras": _rules,
        },
        numbers=("Nº",),
        foldable=("Nome", "Começa com", "Regras"),
        empty="Nenhuma chave ativa.",
    )
    hidden = len(keys) - len(shown)
    note = [f"Revogadas: {whole(hidden)} (veja com --all)."] if hidden else []
    data = [{**_fields(key), "budgets": budgets[str(key.key_id)]} for key in keys]
    show(as_json, data, table, *note)


@app.command()
def revoke(key_id: KeyNumber, as_json: AsJson = False) -> None:
    """Revoga uma chave para sempre. Vale em um segundo.

    Exemplo:

      $ balcao key revoke 12
    """
    with open_installation() as local:
        owner, key = _found(local.desk, key_id)
        local.desk.revoke_key(key_id, local.now_ms())
        _, revoked = _found(local.desk, key_id)
    text = f"Chave {key_id} ({key.name}) da conta {owner.name} revogada."
    if key.revoked_ms is not None:
        text = f"A chave {key_id} ({key.name}) já estava revogada: {when(key.revoked_ms)}."
    show(as_json, _record(owner, revoked), text)


@app.command("deprecated")
def list_deprecated_uses(
    account: Annotated[
        str | None, typer.Argument(metavar="CONTA", help="Só as chaves desta conta.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Lista as chaves ativas que usam recursos obsoletos da API.

    As requisições são as dos últimos 30 dias. Um uso aparece por 90 dias.

    Exemplo:

      $ balcao key deprecated
    """
    with open_installation() as local:
        only = None if account is None else local.account(account).account_id
        since = shown_since(civil_day(local.now_ms()))
        uses = local.desk.deprecated_uses.read(only, since, USES_MAX)
    table = TextTable(
        uses,
        {
            "Conta": "account",
            "Nº": "key_id",
            "Chave": "key",
            "Começa com": lambda use: f"{use.prefix}…",
            "Recurso": lambda use: title_of(use.feature),
            "Último uso": lambda use: writing.day(use.last_day),
            "Requisições": "requests",
        },
        numbers=("Nº", "Requisições"),
        foldable=("Conta", "Chave", "Recurso"),
        empty="Nenhuma chave ativa usa recursos obsoletos.",
    )
    names = "account_id account feature key_id key prefix last_day requests"
    show(as_json, [record(use, names) for use in uses], table)


def _found(desk: "Desk", key_id: int) -> tuple[Account, Key]:
    for account in desk.accounts():
        for key in desk.keys(account.account_id):
            if key.key_id == key_id:
                return account, key
    raise CommandFailed(
        f"Não há chave número {key_id}. Chaves de uma conta: {program()} key list CONTA."
    )


def _compat_restrictions(
    face: str, networks: Sequence[str] | None, daily_credits: int | None
) -> KeyRestrictions:
    """Return the restrictions of a key that is sent in addresses (contract 16.4)."""
    if not networks:
        refuse(
            "uma chave de API compatível só vale em endereços definidos. Informe ao menos um.",
            "--ip",
        )
    if daily_credits is None:
        refuse(
            "uma chave de API compatível precisa de um limite diário. Informe quantos créditos.",
            "--daily-credits",
        )
    return KeyRestrictions(_networks(networks), (compat_operation(face),))


def _networks(given: Sequence[str] | None) -> tuple[str, ...]:
    found = []
    for text in given or ():
        try:
            found.append(network_text(text))
        except ValueError:
            refuse(f"{text} não é um endereço nem uma rede, como 203.0.113.0/24.", "--ip")
    if len(found) > NETWORKS_MAX:
        refuse(f"no máximo {NETWORKS_MAX} endereços ou redes.", "--ip")
    return tuple(dict.fromkeys(found))


def _operations(given: Sequence[str] | None) -> tuple[str, ...] | None:
    from balcao.operations import ALL_OPERATIONS

    paths = [operation.path for operation in ALL_OPERATIONS]
    for text in given or ():
        if text not in paths:
            refuse(f"{text} não é uma operação. Operações: {', '.join(paths)}.", "--operation")
    return tuple(path for path in paths if path in given) if given else None


def _rules(key: Key) -> str:
    restrictions = key.restrictions or UNRESTRICTED
    words = []
    if restrictions.networks:
        words.append("de " + ", ".join(restrictions.networks))
    if restrictions.compat_api is not None:
        words.append(
            f"face {COMPAT_API_TITLES.get(restrictions.compat_api, restrictions.compat_api)}"
        )
    elif restrictions.operations is not None:
        words.append("só " + ", ".join(restrictions.operations))
    if restrictions.client_required:
        words.append("exige cliente")
    if restrictions.administers:
        words.append("administra")
    return "; ".join(words) or "nenhuma"


def _state(key: Key) -> str:
    if key.revoked_ms is not None:
        return f"revogada em {when(key.revoked_ms)}"
    return "ativa" if is_in_force(key, system_now_ms()) else "vencida"


def _limits(key: Key) -> str:
    parts = [
        f"{whole(limit)} por {window}"
        for limit, window in ((key.per_minute, "minuto"), (key.per_day, "dia"))
        if limit is not None
    ]
    return ", ".join(parts) or "limites da conta"


def _last_moment(key: Key) -> str:
    return when(None if key.expires_ms is None else key.expires_ms - 1)


def _record(owner: Account, key: Key) -> dict[str, object]:
    return {"account": owner.name, **_fields(key)}


def _fields(key: Key) -> dict[str, object]:
    restrictions = key.restrictions or UNRESTRICTED
    return {
        **record(
            key,
            "key_id account_id name prefix created_ms expires_ms revoked_ms last_used_ms"
            " per_minute per_day",
        ),
        "ips": restrictions.networks,
        "operations": restrictions.operations,
        "client_required": restrictions.client_required,
        "admin": restrictions.administers,
    }
