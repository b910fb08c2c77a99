"""The operators' first steps: what a new installation still lacks, with links.

Every line is a fact that the server checks when the page is opened, with the code of `balcao
doctor`; none is ticked by hand. The panel shows the list until all are done or an operator closes
it, which is recorded in the audit log; the page itself stays.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from balcao.core.access import Account
from balcao.core.calendar import civil_day
from balcao.core.ledger import Audit
from balcao.core.writing import counted, instant, listed
from balcao.settings import Settings
from balcao.storage.backup_files import is_on_another_disk, newest_ms
from balcao.web.kit.account_pages import ACCOUNTS
from balcao.web.kit.configured import CONFIGURED, ConfiguredSources
from balcao.web.kit.context import PageContext
from balcao.web.kit.month_age import MonthAge, in_use
from balcao.web.kit.standings import SUBJECTS
from balcao.web.kit.tools import Tools
from balcao.web.pages.operator.forms import once

ACCOUNTS_CHECKED_MAX = 20


@dataclass(frozen=True, slots=True)
class StepLink:
    """A link to the page where a step is done."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class FirstStep:
    """One fact. `command` is to be copied; `sit_in` is the account to try with a membership."""

    done: bool
    text: str
    note: str
    link: StepLink | None = None
    command: str | None = None
    sit_in: int | None = None


async def show(context: PageContext) -> Response:
    """Show all steps, done or not."""
    return context.page("operador/primeiros_passos.html", steps=await steps(context))


async def close(context: PageContext) -> Response:
    """Remove the steps from the panel."""
    entry = Audit(once(context), "checklist.close", None, "primeiros passos", "", context.now_ms())
    await context.desk.commit([entry])
    return context.redirect("/app/operador")


async def open_steps(context: PageContext) -> Sequence[FirstStep]:
    """Return the steps for the panel; none if all are done or the list was closed."""
    if context.desk.people.audit(1, action="checklist.close"):
        return ()
    found = await steps(context)
    return () if all(step.done for step in found) else found


async def steps(context: PageContext) -> Sequence[FirstStep]:
    """Return the eight steps, in their usual order."""
    tools = context.tools
    settings = tools.settings
    accounts = tools.desk.accounts()
    configured = await CONFIGURED.of(tools)
    newest, apart = await asyncio.to_thread(_backups, settings)
    return [
        FirstStep(True, "Conta de operador", "é a sua"),
        _second_factor(has_totp=context.person.user.has_totp),
        _lookup(accounts),
        _sources(configured),
        _month(in_use(tools.store("live"), civil_day(tools.now_ms()))),
        _account(tools, accounts),
        _address(settings),
        _backup(newest, is_apart=apart, every_hours=settings.backup_every_hours),
    ]


def _second_factor(*, has_totp: bool) -> FirstStep:
    note = "ativado" if has_totp else "sem ele, só a senha protege o seu acesso"
    return FirstStep(has_totp, "Segundo fator", note, StepLink("Meu acesso", "/app/eu"))


def _lookup(accounts: Sequence[Account]) -> FirstStep:
    """Return the step of the first lookup, done if any account was ever charged."""
    done = any(account.month_credits for account in accounts)
    tests = [one for one in accounts if one.mode == "test" and one.suspended_ms is None]
    # Prefer an account that may try certificates, too.
    best = next((one for one in tests if one.has_certificates), tests[0] if tests else None)
    if done:
        return FirstStep(True, "Uma consulta", "já houve")
    if best is None:
        note = "crie uma conta de teste para consultar a sandbox, com dados fictícios"
        return FirstStep(False, "Uma consulta", note, StepLink("Nova conta", f"{ACCOUNTS}/nova"))
    note = f"na sandbox, pela conta de teste {best.name}: CNPJ 90.010.001/0001-00"
    return FirstStep(False, "Uma consulta", note, sit_in=best.account_id)


def _sources(configured: ConfiguredSources) -> FirstStep:
    """Return the step of the sources, done if each operation has one."""
    off = [name for subject, name in SUBJECTS.items() if not configured.is_on(subject)]
    on = f"{len(SUBJECTS) - len(off)} de {len(SUBJECTS)} operações têm fonte em produção"
    lacking = "falta" if len(off) == 1 else "faltam"
    note = f"{on}; {lacking} {listed(off)}" if off else on
    link = StepLink("Fontes e operações", "/app/operador/fontes#ativar")
    return FirstStep(not off, "Fontes ativas", note, link)


def _month(month: MonthAge | None) -> FirstStep:
    link = StepLink("Dados abertos", "/app/operador/dados-abertos")
    if month is None:
        note = "sem ele, a operação Empresa depende de outra fonte; são cerca de 8 GB"
        return FirstStep(False, "Um mês do CNPJ importado", note, link, "balcao opendata fetch")
    return FirstStep(True, "Um mês do CNPJ importado", f"o de {month.name}", link)


def _account(tools: Tools, accounts: Sequence[Account]) -> FirstStep:
    """Return the step of the first live account: with a user or a key, and able to pay."""
    text = "A primeira conta de produção"
    live = [one for one in accounts if one.mode == "live" and one.suspended_ms is None]
    if not live:
        note = "créditos e primeiro usuário no mesmo formulário"
        return FirstStep(False, text, note, StepLink("Nova conta", f"{ACCOUNTS}/nova"))
    # Only the oldest are checked: among many, some are ready.
    lacking = (_lacks(tools, one) for one in live[:ACCOUNTS_CHECKED_MAX])
    if not all(lacking):
        return FirstStep(True, text, counted(len(live), "conta", "contas"))
    first = live[0]
    href = f"{ACCOUNTS}/{first.account_id}"
    note = f"falta na conta {first.name}: {listed(_lacks(tools, first))}"
    return FirstStep(False, text, note, StepLink(first.name, href))


def _lacks(tools: Tools, account: Account) -> Sequence[str]:
    number, desk = account.account_id, tools.desk
    someone = desk.people.users(number) or desk.memberships.within(number) or desk.keys(number)
    pays = account.plan == "pos_pago" or account.balance_credits > 0
    return [*(() if pays else ["créditos"]), *(() if someone else ["um usuário ou uma chave"])]


def _address(settings: Settings) -> FirstStep:
    text, url = "Endereço público e HTTPS", settings.public_url
    done = url.startswith("https://")
    link = StepLink("Configurações", "/app/operador/configuracoes")
    if done:
        return FirstStep(True, text, url, link)
    if url:
        note = (
            f"{url} não tem HTTPS: use um proxy ou defina BALCAO_TLS_CERTIFICATE e BALCAO_TLS_KEY"
        )
        return FirstStep(False, text, note, link)
    note = "informe em balcao.toml o endereço que as pessoas usam e sirva por HTTPS"
    return FirstStep(False, text, note, link, 'public_url = "https://balcao.exemplo.com.br"')


def _backup(newest: int | None, *, is_apart: bool, every_hours: int) -> FirstStep:
    text, link = "Backup fora da máquina", StepLink("Backups", "/app/operador/copias")
    if newest is None:
        note = "nenhum ainda" + (
            f"; o primeiro será feito em até {every_hours} h" if every_hours else ""
        )
        return FirstStep(False, text, note, link, "balcao backup create")
    made = f"o mais recente é de {instant(newest)}"
    if is_apart:
        return FirstStep(True, text, f"{made}, em outro disco", link)
    note = f"{made}, mas está no mesmo disco dos dados: se ele falhar, perdem-se os dois"
    return FirstStep(False, text, note, link, 'backup_folder = "/mnt/outro-disco/balcao"')


def _backups(settings: Settings) -> tuple[int | None, bool]:
    try:
        folder = settings.backups
        return newest_ms(folder), is_on_another_disk(folder, settings.home)
    except OSError:  # a network share that does not respond
        return None, False
