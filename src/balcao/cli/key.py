"""`balcao key`: issue, list and revoke API keys."""

from collections.abc import Mapping
from typing import Annotated

import typer

from balcao.cli.dates import end_of
from balcao.cli.failures import CommandFailed, refuse, refuse_invisible
from balcao.cli.office import AccountName, opened
from balcao.cli.output import AsJson, print_json, print_table, program, record, when, whole
from balcao.core.access import Key
from balcao.service.clock import system_now_ms

app = typer.Typer(no_args_is_help=True, help="Emite, lista e revoga chaves de API.")

NAME_CHARACTERS_MAX = 100


@app.command()
def create(
    account: AccountName,
    *,
    name: Annotated[
        str, typer.Option(help="Para reconhecer a chave depois.", metavar="TEXTO")
    ] = "chave",
    expires: Annotated[
        int | None,
        typer.Option(
            parser=end_of,
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
    as_json: AsJson = False,
) -> None:
    """Emite uma chave e a mostra uma única vez, sozinha na saída padrão.

    Exemplo:

      $ CHAVE=$(balcao key create acme --name produção --expires 2027-12-31)
    """
    from balcao.accounts.keys import issue_key

    if expires is not None and expires <= system_now_ms():
        refuse("essa data já passou.", "--expires")
    refuse_invisible(name, NAME_CHARACTERS_MAX, "--name")
    with opened() as office:
        found = office.account(account)
        text, key = issue_key(
            office.desk,
            office.home,
            found,
            name,
            office.now_ms(),
            expires_ms=expires,
            per_minute=per_minute,
            per_day=per_day,
        )
    if as_json:
        print_json({"key": text, "account": found.name, **_as_json(key)})
        return
    typer.echo(
        f"Chave {key.key_id} da conta {found.name}. Guarde-a agora: ela não será mostrada de novo.",
        err=True,
    )
    typer.echo(text)


@app.command("list")
def list_keys(account: AccountName, as_json: AsJson = False) -> None:
    """Lista as chaves de uma conta, sem os segredos, que ninguém guarda.

    Exemplo:

      $ balcao key list acme
    """
    with opened() as office:
        keys = office.desk.keys(office.account(account).account_id)
    if as_json:
        print_json([_as_json(key) for key in keys])
        return
    print_table(
        ("Nº", "Nome", "Começa com", "Estado", "Criada em", "Vale até", "Último uso", "Limites"),
        [
            (
                str(key.key_id),
                key.name,
                f"{key.prefix}…",
                _state(key),
                when(key.created_ms),
                when(None if key.expires_ms is None else key.expires_ms - 1),
                when(key.last_used_ms),
                _limits(key),
            )
            for key in keys
        ],
        numbers=("Nº",),
    )


@app.command()
def revoke(
    key_id: Annotated[
        int,
        typer.Argument(metavar="CHAVE", help="Número da chave (key list).", show_default=False),
    ],
    as_json: AsJson = False,
) -> None:
    """Revoga uma chave para sempre; vale em toda parte em um segundo.

    Exemplo:

      $ balcao key revoke 12
    """
    with opened() as office:
        owner, key = next(
            (
                (account, key)
                for account in office.desk.accounts()
                for key in office.desk.keys(account.account_id)
                if key.key_id == key_id
            ),
            (None, None),
        )
        if owner is None or key is None:
            raise CommandFailed(
                f"Não há chave número {key_id}. As chaves de uma conta: {program()} key list CONTA."
            )
        office.desk.revoke_key(key_id, office.now_ms())
        revoked = next(key for key in office.desk.keys(owner.account_id) if key.key_id == key_id)
    if as_json:
        print_json({"account": owner.name, **_as_json(revoked)})
    elif key.revoked_ms is not None:
        typer.echo(f"A chave {key_id} ({key.name}) já estava revogada: {when(key.revoked_ms)}.")
    else:
        typer.echo(f"Chave {key_id} ({key.name}) da conta {owner.name} revogada.")


def _state(key: Key) -> str:
    if key.revoked_ms is not None:
        return f"revogada em {when(key.revoked_ms)}"
    if key.expires_ms is not None and key.expires_ms <= system_now_ms():
        return "vencida"
    return "ativa"


def _limits(key: Key) -> str:
    parts = [
        f"{whole(limit)} por {window}"
        for limit, window in ((key.per_minute, "minuto"), (key.per_day, "dia"))
        if limit is not None
    ]
    return ", ".join(parts) or "os da conta"


def _as_json(key: Key) -> Mapping[str, object]:
    return record(
        key,
        "key_id account_id name prefix created_ms expires_ms revoked_ms last_used_ms"
        " per_minute per_day",
    )
