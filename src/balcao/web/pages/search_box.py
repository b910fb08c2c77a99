"""`/app/procurar`: the search box of the page header. `core/search_box.py` interprets the text.

The text comes by POST. Only a CNPJ and the numbers of requests and accounts get into addresses; a
CPF is shown masked, on a page without an address of its own (ADR 0018).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import structs
from starlette.responses import Response

from balcao.core.access import Account, find_account
from balcao.core.certificates import Certificate
from balcao.core.data_subject import document_hash
from balcao.core.documents import Cnpj, Cpf
from balcao.core.ledger import Trace
from balcao.core.people import User, normal_email
from balcao.core.questions import Inquiry, Subject
from balcao.core.search_box import Interpretation, interpret, name_matches, normalized_code
from balcao.core.words import words_of
from balcao.core.writing import counted, whole
from balcao.operations import OPERATIONS
from balcao.operations.certificates.lookup import PRICES
from balcao.storage.people import TraceFilter
from balcao.web.kit.account_pages import ACCOUNTS
from balcao.web.kit.context import PageContext
from balcao.web.kit.lookups.forms import FORMS
from balcao.web.pages import history
from balcao.web.pages.batches import begun_with
from balcao.web.pages.companies import companies_named, recent_companies
from balcao.web.pages.history import OPERATORS
from balcao.web.pages.search import is_searchable

PATH = "/app/procurar"
CHARACTERS_MAX = 20_000  # a thousand documents; forms have a limit, too
_TOO_LONG = (
    f"O texto tem mais de {whole(CHARACTERS_MAX)} caracteres e não foi lido. Para uma lista"
    " longa, crie um lote."
)
_SHOWN = 20
# Certificates whose code or number has no form of its own.
_OF_OTHER_CODES: Sequence[Subject] = ("state_certificate", "labour_certificate", "fgts_regularity")
# A certificate is searched among this many of the account's latest.
_CERTIFICATES_READ_MAX = 200


async def show(context: PageContext) -> Response:
    """Show the box alone, after a reload of its results or after signing in."""
    return await _page(context, Interpretation("nothing"), "")


async def go(context: PageContext) -> Response:
    """Redirect to the page of the text's meaning, or show a page about it."""
    text = context.typed("procurar")
    if len(text) > CHARACTERS_MAX:  # no part of a list is dropped silently
        return await _page(context, Interpretation("wrong", complaint=_TOO_LONG), "", 413)
    meant = interpret(text)
    if context.person.is_operator:
        return await _respond_to_operator(context, meant, text)
    match meant.meaning:
        case "company":
            assert isinstance(meant.document, Cnpj)
            return context.redirect(f"/app/empresas/{meant.document.text}")
        case "request":
            return context.redirect(f"{history.PATH}/{meant.text}")
        case "several":
            return begun_with(context, meant.text)
        case "certificate":
            number = await _certificate(context, "federal_certificate", meant.text)
            if number is not None:
                return context.redirect(f"/app/consultas/resultado/{number}")
            return await _page(context, meant, text, 404)
        case "person":
            assert isinstance(meant.document, Cpf)
            return await _person(context, meant.document)
        case "wrong" | "words":  # perhaps another certificate's code or number: formats vary
            for subject in _OF_OTHER_CODES:
                number = await _certificate(context, subject, text)
                if number is not None:
                    return context.redirect(f"/app/consultas/resultado/{number}")
            return await _page(context, meant, text, 422 if meant.meaning == "wrong" else 200)
        case _:
            return await _page(context, meant, text)


async def _page(
    context: PageContext, meant: Interpretation, text: str, status: int = 200
) -> Response:
    """Return the page about the text and its meaning."""
    if context.person.is_operator:
        return context.page(
            "operador/procurar.html",
            status,
            sought=text,
            meant=meant,
            kind=_kind_of(meant),
            accounts=(),
            users=(),
        )
    words = meant.meaning == "words"
    found = (
        await companies_named(context, meant.text, _SHOWN)
        if words
        else await recent_companies(context)
    )
    return context.page(
        "procurar.html",
        status,
        sought=text,
        meant=meant,
        found=found,
        own_only=context.person.own_only is not None,
        searchable=is_searchable(context),
        price=context.settings.preco_busca_creditos,
        available=context.available,
    )


async def _person(context: PageContext, cpf: Cpf) -> Response:
    """Return the page about a person: possible lookups and earlier ones. The CPF is masked."""
    pepper = context.tools.parts.receipt_numbers.pepper
    wanted = TraceFilter(
        0,
        context.now_ms() + 1,
        user_id=context.person.own_only,
        document_hash=document_hash(pepper, cpf.text),
    )
    names = history.names_of(context, context.account.account_id)
    producer = FORMS["produtor-rural"]
    return context.page(
        "pessoa.html",
        cpf=cpf,
        certificates=[
            form for form in FORMS.values() if form.certificate and "quem" in form.fields
        ],
        producer=producer,
        ufs=producer.ufs(context.tools.parts.operations[producer.subject]),
        certificates_most=PRICES["online"],
        has_certificates=context.account.has_certificates,
        suspended=context.account.suspended_ms is not None,
        available=context.available,
        own_only=context.person.own_only is not None,
        rows=[names.row(trace) for trace in await history.read(context, wanted, _SHOWN)],
    )


class _Codes(msgspec.Struct):
    """The codes and numbers in a recorded certificate."""

    certificate_code: str | None = None
    certificate_number: str | None = None
    codigo: str | None = None
    numero: str | None = None


async def _certificate(context: PageContext, subject: Subject, code: str) -> str | None:
    """Return the account's request that obtained the certificate with this code; None: no such one.

    Answers under a key are recorded for a while. After that the cache may still have the request's
    certificate: that of the same company, valid until the same day.
    """
    operation, code = OPERATIONS[subject], normalized_code(code)
    if not any(map(str.isdigit, code)):  # a name
        return None
    tools, path = context.tools, operation.path
    wanted = TraceFilter(0, tools.now_ms() + 1, path, user_id=context.person.own_only)
    traces = await history.read(context, wanted, _CERTIFICATES_READ_MAX)
    brought = [each for each in traces if each.certificate and each.certificate.validity]
    keys: dict[str, list[Trace]] = {}
    for trace in brought:
        recorded = await context.recorded(trace)
        if recorded is not None:
            codes = msgspec.json.decode(recorded.body, type=_Codes)
            if code in map(normalized_code, structs.astuple(codes)):
                return trace.request_id
        elif trace.of_company:
            inquiry = Inquiry(subject, Cnpj.parse(trace.document), trace.uf)
            keys.setdefault(inquiry.cache_key, []).append(trace)
    cache = tools.parts.environments[context.account.mode].cache
    for key, kept in (await cache.read(list(keys))).items():
        certificate = msgspec.json.decode(kept.body, type=operation.record)
        assert isinstance(certificate, Certificate)
        if code not in map(normalized_code, certificate.codes):
            continue
        for trace in keys[key]:
            if trace.certificate and trace.certificate.validity == certificate.last_day:
                return trace.request_id
    return None


# ---- Operators ----


@dataclass(frozen=True, slots=True)
class UserFound:
    """A user, and their account."""

    user: User
    account: Account


async def _respond_to_operator(context: PageContext, meant: Interpretation, text: str) -> Response:
    """Find an account by name or number, a user by name or e-mail, a request by number."""
    if meant.meaning == "request":
        return context.redirect(f"{OPERATORS}/{meant.text}")
    if meant.meaning in {"nothing", "company", "person", "several", "certificate"}:
        return await _page(context, meant, "" if meant.meaning == "person" else text)
    all_accounts = context.desk.accounts()
    if (account := find_account(all_accounts, text)) is not None:
        return context.redirect(f"{ACCOUNTS}/{account.account_id}")
    wanted = words_of(text)
    accounts = [each for each in all_accounts if name_matches(wanted, each.name)]
    users = await _users(context, text)
    if len(accounts) + len(users) == 1:
        if accounts:
            return context.redirect(f"{ACCOUNTS}/{accounts[0].account_id}")
        (one,) = users
        address = f"{ACCOUNTS}/{one.account.account_id}/usuarios/{one.user.user_id}"
        return context.redirect(address)
    return context.page(
        "operador/procurar.html",
        200 if accounts or users else 404,
        sought=text,
        meant=Interpretation("words", text=text),
        kind="",
        accounts=accounts[:_SHOWN],
        users=users[:_SHOWN],
    )


async def _users(context: PageContext, text: str) -> Sequence[UserFound]:
    """Return users found by e-mail address, else by words of their name."""
    desk = context.desk
    users = await asyncio.to_thread(desk.people.everybody)
    if "@" in text:
        wanted = normal_email(text)
        found = [each for each in users if normal_email(each.email) == wanted]
    else:
        words = words_of(text)
        found = [each for each in users if name_matches(words, each.name)]
    shown: list[UserFound] = []
    for user in found[: _SHOWN + 1]:
        assert user.account_id is not None
        shown.append(UserFound(user, desk.account(user.account_id)))
    return shown


def _kind_of(meant: Interpretation) -> str:
    """Return the kind of a text that operators cannot look up, in words."""
    return {
        "company": "Este é um CNPJ",
        "person": "Este é um CPF",
        "several": f"São {counted(meant.count, 'documento', 'documentos')}",
        "certificate": "Este é o código de uma certidão",
    }.get(meant.meaning, "")
