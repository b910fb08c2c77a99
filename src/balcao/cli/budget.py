"""`balcao budget`: ceilings on the spending of an account's keys and end clients."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from balcao.cli.arguments import one_of
from balcao.cli.failures import CommandFailed, refuse
from balcao.cli.installation import AccountName, Installation, open_installation, wait_for
from balcao.cli.output import AsJson, TextTable, iso, program, record, show, when
from balcao.core import writing
from balcao.core.people import AT_THE_TERMINAL

if TYPE_CHECKING:
    from balcao.core.access import Account
    from balcao.core.budgets import Budget, OwnerKind, PeriodKind
    from balcao.storage.desk.budgets import BudgetNow

app = typer.Typer(no_args_is_help=True)

_PERIODS: Mapping[str, "PeriodKind"] = {"once": "uma_vez", "day": "dia", "month": "mes"}
_PERIOD_WORDS = {"uma_vez": "uma vez", "dia": "por dia", "mes": "por mês"}

Number = Annotated[str, typer.Argument(metavar="ORÇAMENTO", help="Id do orçamento (budget list).")]
Credits = Annotated[int | None, typer.Option(min=0, metavar="N", help="Limite em créditos.")]
Calls = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Limite em consultas cobradas.")
]
Warn = Annotated[
    int | None,
    typer.Option(
        min=1, max=100, metavar="N", help="Avisa ao atingir N % do limite.", show_default="80"
    ),
]


@app.command()
def create(
    account: AccountName,
    *,
    period: Annotated[
        str,
        typer.Option(
            parser=one_of([*_PERIODS]),
            metavar="PERÍODO",
            help="once (período único), day ou month, no horário de Brasília.",
        ),
    ],
    key: Annotated[str | None, typer.Option(metavar="CHAVE", help="Chave: nome ou número.")] = None,
    client: Annotated[
        str | None, typer.Option(metavar="CLIENTE", help="Cliente, como em X-Cliente.")
    ] = None,
    credits: Credits = None,
    calls: Calls = None,
    operation: Annotated[
        list[str] | None,
        typer.Option(metavar="OPERAÇÃO", help="Só esta operação; pode repetir. Padrão: todas."),
    ] = None,
    name: Annotated[str, typer.Option(metavar="TEXTO", help="Nome do orçamento.")] = "",
    warn: Warn = None,
    as_json: AsJson = False,
) -> None:
    """Cria um orçamento. Consultas acima do limite são recusadas com 402 e não são cobradas.

    Vale a partir da próxima consulta, em todos os nós. Gastos anteriores não contam.

    Exemplo:

      $ balcao budget create acme --key loja --period day --credits 200
      $ balcao budget create acme --client 4471 --period month --calls 1000 --warn 90
    """
    from balcao.operations.parameters import read_tags

    if (key is None) == (client is None):
        refuse("informe --key ou --client.", "--key")
    if credits is None and calls is None:
        refuse("informe o limite: --credits, --calls ou os dois.", "--credits")
    with open_installation() as local, _explained():
        found = local.account(account)
        kind: OwnerKind = "cliente" if key is None else "chave"
        if key is None:
            owner = str(read_tags({b"x-cliente": str(client).encode()}).client)
        else:
            owner = str(_key_number(local, found, key))
        made = create_for(
            local,
            found,
            kind,
            owner,
            _PERIODS[period],
            name=name,
            credits=credits,
            calls=calls,
            operations=operation,
            warn=warn,
        )
        now = local.desk.budgets.one(found.account_id, made.number, local.now_ms())
    show(as_json, as_record(now), f"Orçamento {made.number} criado.")


def create_for(
    local: Installation,
    account: "Account",
    kind: "OwnerKind",
    owner: str,
    period: "PeriodKind",
    *,
    name: str = "",
    credits: int | None = None,
    calls: int | None = None,
    operations: Sequence[str] | None = None,
    warn: int | None = None,
) -> "Budget":
    """Create a budget. Raises `TooManyBudgets`, `InvalidInput`."""
    import uuid_utils

    from balcao.core.budgets import WARN_PERCENT, Budget, default_name

    new = _checked(
        Budget(
            0,
            account.account_id,
            str(uuid_utils.uuid7()),
            name or default_name(kind, owner),
            kind,
            owner,
            period,
            credits,
            calls,
            tuple(operations) if operations else None,
            warn or WARN_PERCENT,
            local.now_ms(),
        )
    )
    return wait_for(local.desk.budgets.make(new, AT_THE_TERMINAL))


@app.command("list")
def list_budgets(account: AccountName, as_json: AsJson = False) -> None:
    """Lista os orçamentos em vigor de uma conta, com o que já foi usado no período.

    Exemplo:

      $ balcao budget list acme
    """
    with open_installation() as local:
        found = local.account(account)
        budgets = budgets_of(local, found)
        names = {str(key.key_id): key.name for key in local.desk.keys(found.account_id)}
    table = TextTable(
        budgets,
        {
            "Id": lambda each: each.budget.number,
            "Nome": lambda each: each.budget.name,
            "De": lambda each: _owner(each.budget, names),
            "Período": lambda each: _PERIOD_WORDS[each.budget.period],
            "Limite": lambda each: _ceilings(each.budget),
            "Usado": used_text,
            "Reservados": lambda each: each.use.held_credits,
            "Volta em": lambda each: (
                "nunca" if each.next_period_ms is None else when(each.next_period_ms)
            ),
        },
        numbers=("Reservados",),
        foldable=("Nome", "De"),
        unbroken=("Id",),
    )
    show(as_json, [as_record(each) for each in budgets], table)


@app.command()
def change(
    account: AccountName,
    budget: Number,
    *,
    credits: Credits = None,
    calls: Calls = None,
    no_credits: Annotated[
        bool, typer.Option("--no-credits", help="Remove o limite em créditos.")
    ] = False,
    no_calls: Annotated[
        bool, typer.Option("--no-calls", help="Remove o limite em consultas.")
    ] = False,
    name: Annotated[str | None, typer.Option(metavar="TEXTO", help="Outro nome.")] = None,
    warn: Warn = None,
    operation: Annotated[
        list[str] | None,
        typer.Option(metavar="OPERAÇÃO", help="Passa a valer só para esta operação; pode repetir."),
    ] = None,
    all_operations: Annotated[
        bool, typer.Option("--all-operations", help="Passa a valer para todas as operações.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Altera o limite, o nome ou o aviso de um orçamento. O que já foi usado não muda.

    O limite pode ficar abaixo do que já foi usado. Nesse caso, novas consultas são recusadas
    até o próximo período.

    Exemplo:

      $ balcao budget change acme 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8 --credits 500
    """
    import msgspec

    given: dict[str, Any] = {
        "credits_max": credits,
        "calls_max": calls,
        "name": name,
        "warn_percent": warn,
        "operations": tuple(operation) if operation else None,
    }
    changes = {field: value for field, value in given.items() if value is not None}
    changes |= {"credits_max": None} if no_credits else {}
    changes |= {"calls_max": None} if no_calls else {}
    changes |= {"operations": None} if all_operations else {}
    if not changes:
        refuse(
            "informe o que mudar: --credits, --calls, --name, --warn ou --operation.", "--credits"
        )
    with open_installation() as local, _explained():
        found = local.account(account)
        changed = wait_for(
            local.desk.budgets.change(
                found.account_id,
                budget,
                lambda before: _checked(msgspec.structs.replace(before, **changes)),
                AT_THE_TERMINAL,
                local.now_ms(),
            )
        )
    text = f"Orçamento {budget} alterado: {_ceilings(changed.budget)}."
    show(as_json, as_record(changed), text)


@app.command()
def delete(account: AccountName, budget: Number, as_json: AsJson = False) -> None:
    """Remove um orçamento para sempre.

    Exemplo:

      $ balcao budget delete acme 0198f2d4-7c1a-7b3e-9f00-5d2c8a41e6b8
    """
    from balcao.core.budgets import MADE_WITH_OWNER

    with open_installation() as local, _explained():
        account_id, now_ms = local.account(account).account_id, local.now_ms()
        if local.desk.budgets.one(account_id, budget, now_ms).budget.owner_kind in MADE_WITH_OWNER:
            raise CommandFailed("O orçamento de um lote ou de uma carteira termina com o dono.")
        last = wait_for(local.desk.budgets.end(account_id, budget, AT_THE_TERMINAL, now_ms))
    show(as_json, as_record(last), f"Orçamento {budget} removido.")


@contextmanager
def _explained() -> Iterator[None]:
    """Convert errors about budgets to `CommandFailed`."""
    from balcao.core.errors import BudgetBoundToOwner, BudgetNotFound, InvalidInput, TooManyBudgets

    try:
        yield
    except BudgetBoundToOwner:
        raise CommandFailed(
            "Uma chave de API compatível precisa de um limite diário. Altere o valor ou revogue a"
            " chave."
        ) from None
    except BudgetNotFound:
        raise CommandFailed(
            f"Esta conta não tem este orçamento em vigor. Orçamentos da conta: {program()} budget"
            " list CONTA."
        ) from None
    except TooManyBudgets:
        raise CommandFailed(
            "O dono já tem o máximo de orçamentos para a mesma operação: dois para uma chave, um"
            " para um cliente."
        ) from None
    except InvalidInput as wrong:
        raise CommandFailed(
            wrong.detail or "Um CPF não é aceito como cliente (X-Cliente). Use um código seu."
        ) from None


def _checked(budget: "Budget") -> "Budget":
    from balcao.core.budgets import validated
    from balcao.operations import ALL_OPERATIONS

    return validated(budget, [operation.path for operation in ALL_OPERATIONS])


def _key_number(local: Installation, account: "Account", text: str) -> int:
    keys = local.desk.keys(account.account_id)
    found = [key for key in keys if text in (key.name, str(key.key_id))]
    found = [key for key in found if key.revoked_ms is None]
    if len(found) != 1:
        few = "Não há uma chave em vigor" if not found else "Há mais de uma chave"
        raise CommandFailed(
            f"{few} {text!r} nesta conta. Chaves da conta: {program()} key list {account.name}."
        )
    return found[0].key_id


def budgets_of(local: Installation, account: "Account") -> Sequence["BudgetNow"]:
    """Return an account's current budgets, oldest first."""
    found: list[BudgetNow] = []
    while True:
        after = found[-1].budget.budget_id if found else 0
        more = local.desk.budgets.of_account(account.account_id, local.now_ms(), after=after)
        if not more:
            return found
        found += more


def _owner(budget: "Budget", names: Mapping[str, str]) -> str:
    name = names.get(budget.owner) if budget.owner_kind == "chave" else None
    return f"{budget.owner_kind} {name or budget.owner}"


def _ceilings(budget: "Budget") -> str:
    parts = []
    if budget.credits_max is not None:
        parts.append(writing.credits(budget.credits_max))
    if budget.calls_max is not None:
        parts.append(writing.counted(budget.calls_max, "consulta", "consultas"))
    return ", ".join(parts)


def used_text(now: "BudgetNow") -> str:
    """Describe the used part of a budget's ceilings."""
    parts = []
    if now.budget.credits_max is not None:
        parts.append(writing.credits(now.use.spent_credits))
    if now.budget.calls_max is not None:
        parts.append(writing.counted(now.use.calls, "consulta", "consultas"))
    return ", ".join(parts)


def summary(now: "BudgetNow") -> str:
    """Describe a budget in one line, for `key show`."""
    period = _PERIOD_WORDS[now.budget.period]
    return f"{_ceilings(now.budget)} {period}, usado: {used_text(now)}"


def as_record(now: "BudgetNow") -> Mapping[str, object]:
    """Return a budget's record for `--json`."""
    return {
        **record(now.budget, "number name owner_kind owner period credits_max calls_max"),
        **record(now.budget, "operations warn_percent created_ms"),
        **record(now.use, "spent_credits held_credits calls"),
        "back_at": iso(now.next_period_ms),
    }
