"""`/app/procurar`: the box of every page's header. What it means is decided in `core/box.py`.

The text comes by POST and goes into no address but as a CNPJ, the number of a request or of an
account: a CPF is shown masked, on a page that has no address of its own (decision 0018).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from starlette.responses import Response

from balcao.core.access import Account, find_account
from balcao.core.box import Meant, is_named, meant_by, plain_code
from balcao.core.certificates import FederalCertificate, StateCertificate
from balcao.core.data_subject import document_hash
from balcao.core.documents import Cnpj, Cpf
from balcao.core.ledger import Trace
from balcao.core.people import User, normal_email
from balcao.core.questions import Inquiry, Record, Subject
from balcao.core.words import words_of
from balcao.core.writing import counted, whole
from balcao.operations import OPERATIONS
from balcao.operations.certificates.lookup import PRICES
from balcao.storage.people import TraceFilter
from balcao.web.kit.account_pages import ACCOUNTS
from balcao.web.kit.context import Visit
from balcao.web.kit.lookups.forms import FORMS
from balcao.web.pages.batches.form import begun_with
from balcao.web.pages.companies.recent import named, recent
from balcao.web.pages.history import pages as history
from balcao.web.pages.history.request import OPERATORS
from balcao.web.pages.search import is_searchable

PATH = "/app/procurar"
CHARACTERS_MAX = 20_000  # a thousand documents; forms have a bound, too
_TOO_LONG = (
    f"São mais de {whole(CHARACTERS_MAX)} caracteres, e nada foi lido. Uma lista assim longa vai em"
    " um lote novo, colada ou como arquivo."
)
_SHOWN = 20
# A certificate is looked for among the latest of the account.
_CERTIFICATES_LOOKED_AT = 200


async def show(visit: Visit) -> Response:
    """The box alone: of who reloads a page of its answers, or comes back after signing in."""
    return await _page(visit, Meant("nothing"), "")


async def go(visit: Visit) -> Response:
    """To where the text leads, or a page that says what it is."""
    text = visit.typed("procurar")
    if len(text) > CHARACTERS_MAX:  # nothing of a list is lost in silence
        return await _page(visit, Meant("wrong", complaint=_TOO_LONG), "", 413)
    meant = meant_by(text)
    if visit.person.is_operator:
        return await _of_operator(visit, meant, text)
    match meant.meaning:
        case "company":
            assert isinstance(meant.document, Cnpj)
            return visit.redirect(f"/app/empresas/{meant.document.text}")
        case "request":
            return visit.redirect(f"{history.PATH}/{meant.text}")
        case "several":
            return begun_with(visit, meant.text)
        case "certificate":
            number = await _certificate(visit, "federal_certificate", meant.text)
            if number is not None:
                return visit.redirect(f"/app/consultas/resultado/{number}")
            return await _page(visit, meant, text, 404)
        case "person":
            assert isinstance(meant.document, Cpf)
            return await _person(visit, meant.document)
        case "wrong" | "words":  # or a state's code, which has no form of its own
            number = await _certificate(visit, "state_certificate", text)
            if number is not None:
                return visit.redirect(f"/app/consultas/resultado/{number}")
            return await _page(visit, meant, text, 422 if meant.meaning == "wrong" else 200)
        case _:
            return await _page(visit, meant, text)


async def _page(visit: Visit, meant: Meant, text: str, status: int = 200) -> Response:
    """What the text is, and what there is about it."""
    if visit.person.is_operator:
        return visit.page(
            "operador/procurar.html",
            status,
            sought=text,
            meant=meant,
            kind=_kind_of(meant),
            accounts=(),
            users=(),
        )
    words = meant.meaning == "words"
    found = await named(visit, meant.text, _SHOWN) if words else await recent(visit)
    return visit.page(
        "procurar.html",
        status,
        sought=text,
        meant=meant,
        found=found,
        own_only=visit.person.own_only is not None,
        searchable=is_searchable(visit),
        price=visit.tools.settings.preco_busca_creditos,
        available=visit.available,
    )


async def _person(visit: Visit, cpf: Cpf) -> Response:
    """What can be asked about a person, and what this account asked. The CPF is shown masked."""
    pepper = visit.tools.parts.numbering.pepper
    wanted = TraceFilter(
        0,
        visit.tools.now_ms() + 1,
        user_id=visit.person.own_only,
        document_hash=document_hash(pepper, cpf.text),
    )
    names = history.names_of(visit, visit.account.account_id)
    producer = FORMS["produtor-rural"]
    return visit.page(
        "pessoa.html",
        cpf=cpf,
        federal=FORMS["certidao-federal"],
        producer=producer,
        ufs=producer.ufs(visit.tools.parts.operations[producer.subject]),
        federal_most=PRICES["online"],
        certifies=visit.account.certifies,
        suspended=visit.account.suspended_ms is not None,
        available=visit.available,
        own_only=visit.person.own_only is not None,
        rows=[names.row(trace) for trace in await history.read(visit, wanted, _SHOWN)],
    )


class _Codes(msgspec.Struct):
    """What is read of a recorded certificate: the federal one's code, or a state's."""

    certificate_code: str | None = None
    codigo: str | None = None
    numero: str | None = None


async def _certificate(visit: Visit, subject: Subject, code: str) -> str | None:
    """The request by which this account has the certificate of this code; None: it has none.

    What was answered under a key is recorded for a while. Else the cache may have the certificate
    still that a request brought: of the same company, valid until the same day.
    """
    operation, code = OPERATIONS[subject], plain_code(code)
    if not any(map(str.isdigit, code)):  # a name
        return None
    tools, path = visit.tools, operation.path
    wanted = TraceFilter(0, tools.now_ms() + 1, path, user_id=visit.person.own_only)
    traces = await history.read(visit, wanted, _CERTIFICATES_LOOKED_AT)
    brought = [each for each in traces if each.certificate and each.certificate.validity]
    keys: dict[str, list[Trace]] = {}
    for trace in brought:
        recorded = await visit.recorded(trace)
        if recorded is not None:
            said = msgspec.json.decode(recorded.body, type=_Codes)
            if code in map(plain_code, (said.certificate_code, said.codigo, said.numero)):
                return trace.request_id
        elif trace.of_company:
            inquiry = Inquiry(subject, Cnpj.parse(trace.document), trace.uf)
            keys.setdefault(inquiry.cache_key, []).append(trace)
    cache = tools.parts.environments[visit.account.mode].cache
    for key, kept in (await cache.read(list(keys))).items():
        codes, validity = _kept(msgspec.json.decode(kept.body, type=operation.record))
        if code not in map(plain_code, codes):
            continue
        for trace in keys[key]:
            if trace.certificate and trace.certificate.validity == validity:
                return trace.request_id
    return None


def _kept(certificate: Record) -> tuple[Sequence[str | None], str | None]:
    """The codes of a certificate in the cache, and its last day."""
    if isinstance(certificate, StateCertificate):
        return (certificate.code, certificate.number), certificate.validity
    assert isinstance(certificate, FederalCertificate)
    return (certificate.code,), certificate.effective_validity


# ---- Operators ----


@dataclass(frozen=True, slots=True)
class UserFound:
    """A user, and of which account."""

    user: User
    account: Account


async def _of_operator(visit: Visit, meant: Meant, text: str) -> Response:
    """An account by name or number, a user by name or e-mail, a request by its number."""
    if meant.meaning == "request":
        return visit.redirect(f"{OPERATORS}/{meant.text}")
    if meant.meaning in {"nothing", "company", "person", "several", "certificate"}:
        return await _page(visit, meant, "" if meant.meaning == "person" else text)
    everyone = visit.tools.desk.accounts()
    if (account := find_account(everyone, text)) is not None:
        return visit.redirect(f"{ACCOUNTS}/{account.account_id}")
    wanted = words_of(text)
    accounts = [each for each in everyone if is_named(wanted, each.name)]
    users = await _users(visit, text)
    if len(accounts) + len(users) == 1:
        if accounts:
            return visit.redirect(f"{ACCOUNTS}/{accounts[0].account_id}")
        (one,) = users
        address = f"{ACCOUNTS}/{one.account.account_id}/usuarios/{one.user.user_id}"
        return visit.redirect(address)
    return visit.page(
        "operador/procurar.html",
        200 if accounts or users else 404,
        sought=text,
        meant=Meant("words", text=text),
        kind="",
        accounts=accounts[:_SHOWN],
        users=users[:_SHOWN],
    )


async def _users(visit: Visit, text: str) -> Sequence[UserFound]:
    """By e-mail address, else by the words of the name."""
    desk = visit.tools.desk
    everybody = await asyncio.to_thread(desk.people.everybody)
    if "@" in text:
        wanted = normal_email(text)
        found = [each for each in everybody if normal_email(each.email) == wanted]
    else:
        words = words_of(text)
        found = [each for each in everybody if is_named(words, each.name)]
    told: list[UserFound] = []
    for user in found[: _SHOWN + 1]:
        assert user.account_id is not None
        told.append(UserFound(user, desk.account(user.account_id)))
    return told


def _kind_of(meant: Meant) -> str:
    """For operators: what they typed that is not theirs to look up."""
    return {
        "company": "Isto é um CNPJ",
        "person": "Isto é um CPF",
        "several": f"São {counted(meant.count, 'documento', 'documentos')}",
        "certificate": "Isto é o código de uma certidão",
    }.get(meant.meaning, "")
