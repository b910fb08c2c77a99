"""`balcao account`: open accounts and look at them."""

import shlex
from collections.abc import Mapping
from typing import Annotated

import typer

from balcao.cli.office import AccountName, opened
from balcao.cli.output import (
    AsJson,
    iso,
    print_json,
    print_pairs,
    print_table,
    program,
    when,
    whole,
    yes_or_no,
)
from balcao.clock import system_now_ms
from balcao.core.access import PLANS, Account, Plan
from balcao.core.calendar import civil_month
from balcao.core.ledger import available_credits, spent_credits

app = typer.Typer(no_args_is_help=True, help="Cria e mostra contas.")

NAME_CHARACTERS_MAX = 100


@app.command()
def create(
    name: Annotated[
        str, typer.Argument(metavar="NOME", help="Nome da conta, único.", show_default=False)
    ],
    *,
    plan: Annotated[
        Plan,
        typer.Option(metavar="PLANO", help=f"Um destes: {', '.join(PLANS)}.", show_default=False),
    ],
    test: Annotated[
        bool, typer.Option("--test", help="Conta de teste: quem responde é a sandbox.")
    ] = False,
    certificates: Annotated[
        bool,
        typer.Option(
            "--certificates", help="Contrato com certidões (pos_pago; pre_pago já as inclui)."
        ),
    ] = False,
    partner_optin: Annotated[
        bool, typer.Option("--partner-optin", help="Permite pedir o CPF dos sócios (optin=1).")
    ] = False,
    ceiling: Annotated[
        int | None,
        typer.Option(min=0, help="Teto de créditos por mês civil (só pos_pago).", metavar="N"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cria uma conta. Ela é de produção ou de teste para sempre.

    As certidões são sempre incluídas no plano pre_pago, nunca no gratuito, e dependem do
    contrato (--certificates) no pos_pago.

    Exemplo:

      $ balcao account create acme --plan pre_pago
      $ balcao credit add acme 1000 --reason "pedido 123"
      $ balcao key create acme
    """
    from balcao.storage.contract import NewAccount

    _check_name(name)
    if ceiling is not None and plan != "pos_pago":
        raise typer.BadParameter(
            f"só o plano pos_pago tem teto mensal; no {plan} o limite é o saldo.",
            param_hint="--ceiling",
        )
    if certificates and plan == "gratuito":
        raise typer.BadParameter(
            "o plano gratuito nunca inclui as certidões; use pre_pago ou pos_pago.",
            param_hint="--certificates",
        )
    new = NewAccount(
        name=name,
        plan=plan,
        mode="test" if test else "live",
        certificates=certificates or plan == "pre_pago",
        partner_optin=partner_optin,
        ceiling_credits=ceiling,
    )
    with opened(create=True) as office:
        account = office.desk.create_account(new, system_now_ms())
    if as_json:
        print_json(_as_json(account, civil_month(system_now_ms())))
        return
    kind = "de teste" if test else "de produção"
    typer.echo(f"Conta {account.account_id} criada: {name} ({plan}, {kind}).")
    if plan != "pos_pago":
        line = f'{program()} credit add {shlex.quote(name)} 1000 --reason "..."'
        typer.echo(f"Ela ainda não tem créditos: {line}")


@app.command("list")
def list_accounts(as_json: AsJson = False) -> None:
    """Lista as contas.

    Exemplo:

      $ balcao account list
    """
    with opened() as office:
        accounts = office.desk.accounts()
    month = civil_month(system_now_ms())
    if as_json:
        print_json([_as_json(account, month) for account in accounts])
        return
    print_table(
        (
            "Nº",
            "Nome",
            "Plano",
            "Tipo",
            "Certidões",
            "Opt-in",
            "Saldo",
            "Retidos",
            "No mês",
            "Teto",
        ),
        [
            (
                str(account.account_id),
                account.name,
                account.plan,
                _kind(account),
                yes_or_no(account.certificates),
                yes_or_no(account.partner_optin),
                whole(account.balance_credits),
                whole(account.held_credits),
                whole(spent_credits(account, month)),
                "—" if account.ceiling_credits is None else whole(account.ceiling_credits),
            )
            for account in accounts
        ],
        numbers=("Nº", "Saldo", "Retidos", "No mês", "Teto"),
    )


@app.command()
def show(account: AccountName, as_json: AsJson = False) -> None:
    """Mostra uma conta: plano, o que ela inclui, créditos e chaves.

    Exemplo:

      $ balcao account show acme
    """
    with opened() as office:
        found = office.account(account)
        keys = office.desk.keys(found.account_id)
    month = civil_month(system_now_ms())
    in_force = [key for key in keys if key.revoked_ms is None]
    if as_json:
        print_json({**_as_json(found, month), "keys": len(keys), "keys_not_revoked": len(in_force)})
        return
    lines = [
        ("Conta", f"{found.account_id}, {found.name}"),
        ("Plano", found.plan),
        ("Tipo", _kind(found)),
        ("Certidões", yes_or_no(found.certificates)),
        ("CPF dos sócios (optin)", yes_or_no(found.partner_optin)),
        ("Saldo", whole(found.balance_credits)),  # of a post-paid one: owed, below zero
        ("Retidos", whole(found.held_credits)),
        ("Usados neste mês", whole(spent_credits(found, month))),
    ]
    if found.plan == "pos_pago":
        ceiling = found.ceiling_credits
        lines.append(("Teto mensal", "sem teto" if ceiling is None else whole(ceiling)))
    available = available_credits(found, month)
    lines.append(("Disponíveis", "sem limite" if available is None else whole(max(available, 0))))
    lines.append(("Chaves não revogadas", f"{len(in_force)} de {len(keys)}"))
    lines.append(("Criada em", when(found.created_ms)))
    print_pairs(lines)


def _kind(account: Account) -> str:
    return "produção" if account.mode == "live" else "teste"


def _as_json(account: Account, month: str) -> Mapping[str, object]:
    available = available_credits(account, month)
    return {
        "account_id": account.account_id,
        "name": account.name,
        "plan": account.plan,
        "mode": account.mode,
        "certificates": account.certificates,
        "partner_optin": account.partner_optin,
        "ceiling_credits": account.ceiling_credits,
        "balance_credits": account.balance_credits,
        "held_credits": account.held_credits,
        "available_credits": None if available is None else max(available, 0),
        "month_credits": spent_credits(account, month),
        "created_at": iso(account.created_ms),
    }


def _check_name(name: str) -> None:
    """A name must be tellable from a number, and print on one line."""
    if not name.strip() or name != name.strip():
        problem = "não pode ser vazio, nem começar ou terminar com espaço."
    elif name.isdecimal():
        problem = "não pode ser só um número: contas também são chamadas pelo número."
    elif not name.isprintable() or len(name) > NAME_CHARACTERS_MAX:
        problem = f"deve ter até {NAME_CHARACTERS_MAX} caracteres visíveis."
    elif name.startswith("-"):
        problem = "não pode começar com hífen."
    else:
        return
    raise typer.BadParameter(problem, param_hint="NOME")
