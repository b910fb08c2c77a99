"""The web service of all treasuries, with the checks of a request in their order."""

from collections.abc import Callable
from datetime import datetime

from starlette.types import Receive

from balcao.core.documents import Cpf
from balcao.core.errors import InvalidCpf
from balcao.fiction import exists
from balcao.providers.sefaz.simulator import taxpayers
from balcao.providers.sefaz.simulator.request_reader import (
    CadastroRequest,
    RejectedRequest,
    SoapFault,
    read_request,
)
from balcao.providers.sefaz.simulator.requester import (
    certificate_problem,
    is_authorised,
)
from balcao.providers.sefaz.simulator.response_writer import TreasuryReplies, fault
from balcao.providers.sefaz.simulator.taxpayers import Taxpayer
from balcao.providers.sefaz.simulator.treasuries import TREASURIES, Treasury, quirks_of
from balcao.providers.simulation.faults import FaultInjector, ReplyFactory
from balcao.providers.simulation.messages import (
    CERTIFICATE_HEADER,
    SimulatedReply,
    SimulatedRequest,
    html_reply,
    is_cnpj,
)

_SUBJECTS = {"CNPJ": "state_registration", "CPF": "rural_producer"}


class SimulatedSefaz:
    """CadConsultaCadastro4 of all states, each at the path of its production address."""

    def __init__(self, faults: FaultInjector, clock: Callable[[], datetime]) -> None:
        self._faults = faults
        self._clock = clock

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        treasury = TREASURIES.get(request.path)
        if treasury is None:
            return html_reply(404, "404 Not Found")
        if request.method != "POST":
            return html_reply(405, "405 Method Not Allowed")
        content_type = request.headers.get("content-type", "")
        if content_type.partition(";")[0].strip().lower() != "application/soap+xml":
            return html_reply(415, "415 Unsupported Media Type")
        quirks = quirks_of(treasury.owner)
        if quirks.needs_soap_action and "soapaction" not in request.headers:
            return fault("Sender", "The header SOAPAction is missing.")
        now = self._clock()
        certificate = request.headers.get(CERTIFICATE_HEADER)
        try:
            if problem := certificate_problem(certificate, now):
                raise RejectedRequest(problem)
            question = read_request(request.body, content_type, needs_wrapper=quirks.needs_wrapper)
            if problem := _problem(question, treasury, certificate):
                raise RejectedRequest(problem, question)
        except SoapFault as problem:
            return fault(problem.code, problem.reason)
        except RejectedRequest as refused:
            return TreasuryReplies(treasury, refused.question, now).status_reply(refused.status)
        return await self._look_up(question, TreasuryReplies(treasury, question, now), receive)

    async def _look_up(
        self, question: CadastroRequest, answers: TreasuryReplies, receive: Receive
    ) -> SimulatedReply:
        document = question.argument
        find: Callable[[str], Taxpayer] = taxpayers.company
        if question.kind == "CPF":
            document = document.zfill(11)
            find = taxpayers.person
        elif not exists(document):
            return answers.status_reply(259)

        replies = ReplyFactory(
            _SUBJECTS[question.kind],
            document,
            good=lambda about: answers.registrations_reply(find(about)),
            incomplete=lambda about: answers.registrations_reply(find(about), complete=False),
            ufs=(question.uf,),
        )
        return await self._faults.reply(replies, answers, receive)


def _problem(question: CadastroRequest, treasury: Treasury, certificate: str | None) -> int | None:
    """Return the cStat of a request that is not looked up, or None."""
    if question.uf not in treasury.ufs:
        return 265
    if not is_authorised(certificate):
        return 257
    match question.kind:
        case "CNPJ":
            return None if is_cnpj(question.argument) else 258
        case "CPF" if not quirks_of(question.uf).answers_cpf:
            return 262
        case "CPF":
            return None if _is_cpf(question.argument.zfill(11)) else 263
        case _:
            # registrations are derived from documents, and cannot be looked up by number
            return 260 if question.argument == "ISENTO" else 261


def _is_cpf(text: str) -> bool:
    try:
        Cpf.parse(text)
    except InvalidCpf:
        return False
    return True
