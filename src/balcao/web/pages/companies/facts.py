"""Facts about a company, from the account's answers and from the imported month.

The month is our own copy of the Receita Federal's open data; no source is asked and nothing is
charged. Natural persons are shown as the account's opt-in allows (contract 14.4), or if the account
paid for the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from balcao.core.access import Caller
from balcao.core.company import Company, Partner, is_person, masked
from balcao.core.documents import Cnpj
from balcao.core.errors import CallerError, InvalidCnpj, SearchUnavailable, SourceError
from balcao.core.search import Filters, PartnerFilters
from balcao.core.search_answers import CompanyFound, PartnerFound
from balcao.core.search_record import token
from balcao.core.writing import whole
from balcao.http.searches import sees_people
from balcao.web.kit.context import PageContext

if TYPE_CHECKING:
    from balcao.web.pages.companies.registers import Register

ESTABLISHMENTS_SHOWN = 20
_LINKED_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Partners:
    """Partners and administrators, as far as the account may see them."""

    shown: Sequence[tuple[Partner, str | None]]  # with the address of a company's page
    hidden: int  # natural persons and foreigners of the month that the account may not see
    own_answer: bool  # from the account's own answer; else from the month


@dataclass(frozen=True, slots=True)
class Establishments:
    """A page of a company's head office and branches."""

    found: Sequence[CompanyFound]
    total: str  # `312`, `10.000 ou mais`
    cursor: str | None


def company_in_month(context: PageContext, cnpj: Cnpj, *, asked: bool) -> Company | None:
    """Return the company from our own copy, without whole CPFs; None if it is not there.

    A company that is a natural person needs `asked` (the account looked it up) or the opt-in.
    """
    environment = context.tools.parts.environments[context.account.mode]
    try:
        company = environment.registry.snapshot_company(cnpj)
    except SourceError:  # a damaged file: the page is shown without it
        return None
    if company is None or asked or not is_person(company) or sees_people(context.person.caller()):
        return company
    return None


def company_of_answer(registers: "Sequence[Register]") -> Company | None:
    """Return the company from the account's recorded answer."""
    for register in registers:
        if register.form.subject == "company" and register.body is not None:
            try:
                said = msgspec.convert(register.body.get("response"), Company, strict=False)
            except msgspec.ValidationError:  # of another version, or not found
                return None
            return masked(said)
    return None


def name_of(company: Company | None, registers: "Sequence[Register]") -> str | None:
    """Return the company's name, from its answer or from a certificate."""
    if company is not None and company.nome_empresarial:
        return company.nome_empresarial
    given = [each.result.certificate for each in registers if each.result]
    return next((each.name for each in given if each and each.name), None)


def partners_of(
    context: PageContext, company: Company | None, *, own_answer: bool, bought: bool
) -> Partners | None:
    """Return the partners; natural persons of the month only if the account may see them.

    `bought`: the account paid for an answer of the registry, recorded (`own_answer`) or not.
    """
    if company is None:
        return None
    shown = [(each, _page_of(each.cpf_cnpj_socio)) for each in company.socios]
    if bought or sees_people(context.person.caller()):
        return Partners(shown, 0, own_answer)
    companies = [(each, address) for each, address in shown if address is not None]
    return Partners(companies, len(shown) - len(companies), own_answer)


def _page_of(document: str | None) -> str | None:
    """Return the address of a partner's page, if the partner is a company."""
    try:
        return f"/app/empresas/{Cnpj.parse(document or '').text}"
    except InvalidCnpj:
        return None


async def establishments_of(context: PageContext, cnpj: Cnpj, cursor: str) -> Establishments | None:
    """Return the establishments, from the index of company search; None: there is no index yet."""
    caller, searcher = context.person.caller(), context.tools.searches.searcher
    filters = Filters(roots=(cnpj.root,), people=sees_people(caller))
    try:
        page = await searcher.companies(caller.mode, filters, cursor or None, ESTABLISHMENTS_SHOWN)
        if not page.itens:
            return None
        if page.cursor is None and not cursor:
            return Establishments(page.itens, str(len(page.itens)), None)
        tally = await searcher.count(caller.mode, filters)
    except SearchUnavailable:
        return None
    except CallerError:  # a foreign cursor, or one of another month: start over
        return await establishments_of(context, cnpj, "") if cursor else None
    total = whole(tally.total) + ("" if tally.exact else " ou mais")
    return Establishments(page.itens, total, page.cursor)


async def linked_to(context: PageContext, cnpj: Cnpj) -> Sequence[PartnerFound]:
    """Return the companies that this one is a partner of, if the account may search partners."""
    caller: Caller = context.person.caller()
    if not sees_people(caller):
        return ()
    filters = PartnerFilters(document=token("pj", cnpj.root))
    try:
        page = await context.tools.searches.searcher.partners(caller.mode, filters, _LINKED_SHOWN)
    except SearchUnavailable:
        return ()
    return page.itens
