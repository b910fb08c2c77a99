"""`/app/chaves/orcamentos`: budgets of keys and end clients (contract 12)."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from pydantic import BeforeValidator, Field
from starlette.responses import Response

from balcao.core.access import Account, Key
from balcao.core.budgets import (
    CEILING_MAX,
    MADE_WITH_OWNER,
    NAME_CHARACTERS_MAX,
    WARN_PERCENT,
    Budget,
    OwnerKind,
    PeriodKind,
    default_name,
    percent_used,
    validated,
)
from balcao.core.errors import (
    BudgetBoundToOwner,
    BudgetNotFound,
    FormDone,
    InvalidInput,
    InvalidParameter,
    TooManyBudgets,
)
from balcao.core.problems import problem_of
from balcao.core.request_tags import TAG_CHARACTERS, tag_problem
from balcao.storage.desk.budgets import BudgetNow
from balcao.web.kit import filters
from balcao.web.kit.context import PageContext
from balcao.web.kit.typed import TypedForm, one_of, read
from balcao.web.pages.keys.pages import OPERATIONS, boxes_of, operations_in

SHOWN_MAX = 1_000
PERIODS: Mapping[str, str] = {"uma_vez": "Uma vez", "dia": "Por dia", "mes": "Por mês"}
_DONE: Mapping[str, str] = {
    "criado": "Orçamento criado. Ele vale a partir da próxima consulta.",
    "mudado": "Orçamento alterado. Vale a partir da próxima consulta.",
    "removido": "Orçamento removido.",
    "ja": "Este formulário já tinha sido enviado. Nada foi feito de novo.",
}
_CROWDED = (
    "Uma chave pode ter até dois orçamentos para a mesma operação; um cliente, só um. Altere ou"
    " remova um deles."
)


def _ceiling(text: str) -> int | None:
    if not text:
        return None
    if not filters.is_number(text) or int(text) > CEILING_MAX:
        raise ValueError("Use um número inteiro a partir de 0 ou deixe em branco.")
    return int(text)


def _percent(text: str) -> int:
    if not text:
        return WARN_PERCENT
    if not filters.is_number(text) or not 1 <= int(text) <= 100:
        raise ValueError("Use um número inteiro, de 1 a 100.")
    return int(text)


class BudgetForm(TypedForm):
    """The fields of a budget that may be changed."""

    name: str = Field(alias="nome")
    credits_max: Annotated[int | None, BeforeValidator(_ceiling)] = Field(alias="teto_creditos")
    calls_max: Annotated[int | None, BeforeValidator(_ceiling)] = Field(alias="teto_consultas")
    warn_percent: Annotated[int, BeforeValidator(_percent)] = Field(alias="aviso_percentual")


class NewBudgetForm(BudgetForm):
    """The form of a new budget."""

    key_id: str = Field(alias="chave")  # empty: for a client
    client: str = Field(alias="cliente")
    period: Annotated[str, one_of(PERIODS, "Escolha o período.")] = Field(alias="periodo")


# The fields that can show an error.
_FIELDS = {field.alias for field in NewBudgetForm.model_fields.values()}

_ONLY_DAILY_BUDGET = (
    "Uma chave de API compatível precisa de um limite diário. Altere o valor ou revogue a chave."
)


async def show(context: PageContext, account: Account, base: str) -> Response:
    """Show the list, and the form for a new budget."""
    return _listed(context, account, base, message=_DONE.get(context.query("feito")))


async def show_own(context: PageContext) -> Response:
    """Show the budgets that limit this person, read-only (contract 12.2)."""
    account, person = context.account, context.person
    return context.page(
        "tetos.html",
        account=account,
        is_manager=person.is_manager,
        budgets=[
            (each, percent_used(each.budget, each.use)) for each in await visible_budgets(context)
        ],
        names=_names(context.desk.keys(account.account_id)),
        periods=PERIODS,
    )


async def visible_budgets(context: PageContext) -> Sequence[BudgetNow]:
    """Return the budgets that may refuse this person's requests; a manager's are all of the
    account.

    Budgets of keys do not concern a person, and budgets of batches only their own.
    """
    account_id, tools = context.account.account_id, context.tools
    budgets = tools.desk.budgets.of_account(account_id, tools.now_ms(), limit=SHOWN_MAX)
    if context.person.is_manager:
        return budgets
    found = []
    for each in budgets:
        own = each.budget.owner_kind == "cliente"
        if each.budget.owner_kind == "lote":
            batch = await tools.desk.batches.batch(each.budget.owner, account_id)
            own = batch is not None and context.person.sees(batch.user_id)
        if own:
            found.append(each)
    return found


async def create(context: PageContext, account: Account, base: str) -> Response:
    """Create a budget. Idempotent per form."""
    typed, form_id = read(NewBudgetForm, context.form), context.typed("form_id")
    if not isinstance(typed, NewBudgetForm) or not form_id:
        complaints = {} if isinstance(typed, NewBudgetForm) else typed
        return _listed(context, account, base, 422, complaints=complaints)
    try:
        new = _new(context, account, typed)
        await context.desk.budgets.make(new, context.signature(form_id))
    except FormDone:
        return context.redirect(f"{base}/orcamentos", feito="ja")
    except TooManyBudgets:
        return _listed(context, account, base, 422, alert=_CROWDED)
    except InvalidInput as wrong:
        return _listed(context, account, base, 422, **_refusal(wrong))
    return context.redirect(f"{base}/orcamentos", feito="criado")


async def show_one(context: PageContext, account: Account, base: str) -> Response:
    """Show one budget, and the form that changes it."""
    return _one(context, account, base)


async def change(context: PageContext, account: Account, base: str) -> Response:
    """Change a budget. Idempotent per form."""
    now, form_id = _found(context, account), context.typed("form_id")
    typed = read(BudgetForm, context.form)
    if not isinstance(typed, BudgetForm) or not form_id:
        complaints = {} if isinstance(typed, BudgetForm) else typed
        return _one(context, account, base, 422, complaints=complaints)
    fields = {**typed.model_dump(), "operations": operations_in(context.form)}

    def edit(before: Budget) -> Budget:
        _refuse_no_ceiling(typed)
        return validated(msgspec.structs.replace(before, **fields), _paths(context))

    try:
        await context.desk.budgets.change(
            account.account_id,
            now.budget.number,
            edit,
            context.signature(form_id),
            context.now_ms(),
        )
    except FormDone:
        return context.redirect(f"{base}/orcamentos", feito="ja")
    except BudgetBoundToOwner:
        return _one(context, account, base, 422, alert=_ONLY_DAILY_BUDGET)
    except InvalidInput as wrong:
        return _one(context, account, base, 422, **_refusal(wrong))
    return context.redirect(f"{base}/orcamentos", feito="mudado")


async def remove(context: PageContext, account: Account, base: str) -> Response:
    """Remove a budget, unless it belongs to a batch or wallet. Idempotent per form."""
    now, desk = _found(context, account), context.desk
    if now.budget.owner_kind in MADE_WITH_OWNER:
        return _one(
            context, account, base, 422, alert="Este orçamento termina com o lote ou a carteira."
        )
    signed = context.signature(context.typed("form_id"))
    try:
        await desk.budgets.end(account.account_id, now.budget.number, signed, context.now_ms())
    except BudgetBoundToOwner:
        return _one(context, account, base, 422, alert=_ONLY_DAILY_BUDGET)
    except FormDone:
        return context.redirect(f"{base}/orcamentos", feito="ja")
    return context.redirect(f"{base}/orcamentos", feito="removido")


def _new(context: PageContext, account: Account, typed: NewBudgetForm) -> Budget:
    """Raises `InvalidInput`."""
    kind: OwnerKind = "chave" if typed.key_id else "cliente"
    owner = typed.key_id
    if kind == "cliente":
        owner = _client(typed.client)
    _refuse_no_ceiling(typed)
    period: PeriodKind = typed.period  # type: ignore[assignment]
    return validated(
        Budget(
            0,
            account.account_id,
            context.tools.new_id(),
            typed.name or default_name(kind, owner),
            kind,
            owner,
            period,
            typed.credits_max,
            typed.calls_max,
            operations_in(context.form),
            typed.warn_percent,
            context.now_ms(),
        ),
        _paths(context),
    )


def _client(text: str) -> str:
    if not text:
        raise InvalidParameter("cliente: Escolha uma chave ou informe um cliente.")
    match tag_problem(text):
        case "form":
            raise InvalidParameter(f"cliente: Use de 1 a 64 caracteres: {TAG_CHARACTERS}")
        case "cpf":
            raise InvalidParameter("cliente: Não use um CPF. Use um código seu.")
    return text


def _refuse_no_ceiling(typed: BudgetForm) -> None:
    if typed.credits_max is None and typed.calls_max is None:
        raise InvalidParameter(
            "teto_creditos: Informe um limite em créditos, em consultas ou os dois."
        )


def _refusal(wrong: InvalidInput) -> Mapping[str, object]:
    """Return an error as template values: at its field, or as an alert if it has none."""
    field, _, text = wrong.detail.partition(": ")
    if field in _FIELDS:
        return {"complaints": {field: text[:1].upper() + text[1:]}}
    return {"alert": problem_of(wrong).message}


def _paths(context: PageContext) -> Sequence[str]:
    return [operation.path for operation in context.tools.parts.operations.values()]


def _found(context: PageContext, account: Account) -> BudgetNow:
    number = context.request.path_params["number"]
    try:
        return context.desk.budgets.one(account.account_id, number, context.now_ms())
    except BudgetNotFound:
        text = "Esta conta não tem um orçamento em vigor com este id."
        raise context.not_found("Orçamento não encontrado", text) from None


def _names(keys: Sequence[Key]) -> Mapping[str, str]:
    return {str(key.key_id): key.name for key in keys}


def _listed(
    context: PageContext, account: Account, base: str, status: int = 200, **values: object
) -> Response:
    keys = context.desk.keys(account.account_id)
    budgets = context.desk.budgets.of_account(account.account_id, context.now_ms(), limit=SHOWN_MAX)
    return context.page(
        "orcamentos.html",
        status,
        account=account,
        path=f"{base}/orcamentos",
        keys_path=base,
        budgets=[(each, percent_used(each.budget, each.use)) for each in budgets],
        names=_names(keys),
        choices=[
            ("", "de um cliente"),
            *((str(key.key_id), key.name) for key in keys if key.revoked_ms is None),
        ],
        periods=PERIODS,
        operations=OPERATIONS,
        budget_name_max=NAME_CHARACTERS_MAX,
        **values,
    )


def _one(
    context: PageContext, account: Account, base: str, status: int = 200, **values: object
) -> Response:
    now = _found(context, account)
    return context.page(
        "orcamento.html",
        status,
        account=account,
        path=f"{base}/orcamentos",
        keys_path=base,
        now=now,
        percent=percent_used(now.budget, now.use),
        ticked=boxes_of(now.budget.operations),
        names=_names(context.desk.keys(account.account_id)),
        periods=PERIODS,
        operations=OPERATIONS,
        budget_name_max=NAME_CHARACTERS_MAX,
        **values,
    )
