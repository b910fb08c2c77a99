"""One treasury after the other: what it checks before it answers, in this order."""

from collections.abc import Callable
from datetime import datetime

from starlette.types import Receive

from balcao.core.documents import Cpf
from balcao.core.errors import InvalidCpf
from balcao.fiction import exists
from balcao.providers.sefaz.simulator import holder
from balcao.providers.sefaz.simulator.holder import Taxpayer
from balcao.providers.sefaz.simulator.reading import (
    CadastroQuestion,
    NotSoap,
    RefusedQuestion,
    read_question,
)
from balcao.providers.sefaz.simulator.requester import (
    certificate_problem,
    is_authorised,
)
from balcao.providers.sefaz.simulator.treasuries import TREASURIES, Treasury, manner_of
from balcao.providers.sefaz.simulator.writing import TreasuryVoice, fault
from balcao.providers.simulation.exchange import (
    CERTIFICATE_HEADER,
    SimulatedReply,
    SimulatedRequest,
    html_reply,
    is_cnpj,
)
from balcao.providers.simulation.staging import Scene, Stage

_SUBJECTS = {"CNPJ": "state_registration", "CPF": "rural_producer"}


class SimulatedSefaz:
    """CadConsultaCadastro4 of all states, each at the path of its production address."""

    def __init__(self, stage: Stage, clock: Callable[[], datetime]) -> None:
        self._stage = stage
        self._clock = clock

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        """One request."""
        treasury = TREASURIES.get(request.path)
        if treasury is None:
            return html_reply(404, "404 Not Found")
        if request.method != "POST":
            return html_reply(405, "405 Method Not Allowed")
        content_type = request.headers.get("content-type", "")
        if content_type.partition(";")[0].strip().lower() != "application/soap+xml":
            return html_reply(415, "415 Unsupported Media Type")
        manner = manner_of(treasury.owner)
        if manner.wants_soap_action and "soapaction" not in request.headers:
            return fault("Sender", "The header SOAPAction is missing.")
        now = self._clock()
        certificate = request.headers.get(CERTIFICATE_HEADER)
        try:
            if problem := certificate_problem(certificate, now):
                raise RefusedQuestion(problem)
            question = read_question(request.body, content_type, wants_wrapper=manner.wants_wrapper)
            if problem := _problem(question, treasury, certificate):
                raise RefusedQuestion(problem, question)
        except NotSoap as problem:
            return fault(problem.code, problem.reason)
        except RefusedQuestion as refused:
            return TreasuryVoice(treasury, refused.question, now).says(refused.status)
        return await self._look_up(question, TreasuryVoice(treasury, question, now), receive)

    async def _look_up(
        self, question: CadastroQuestion, voice: TreasuryVoice, receive: Receive
    ) -> SimulatedReply:
        document = question.argument
        find: Callable[[str], Taxpayer] = holder.company
        if question.kind == "CPF":
            document = document.zfill(11)
            find = holder.person
        elif not exists(document):
            return voice.says(259)

        scene = Scene(
            _SUBJECTS[question.kind],
            document,
            good=lambda about: voice.tells(find(about)),
            incomplete=lambda about: voice.tells(find(about), complete=False),
            ufs=(question.uf,),
        )
        return await self._stage.play(scene, voice, receive)


def _problem(question: CadastroQuestion, treasury: Treasury, certificate: str | None) -> int | None:
    """The cStat of a question that is not looked up."""
    if question.uf not in treasury.ufs:
        return 265
    if not is_authorised(certificate):
        return 257
    match question.kind:
        case "CNPJ":
            return None if is_cnpj(question.argument) else 258
        case "CPF" if not manner_of(question.uf).answers_cpf:
            return 262
        case "CPF":
            return None if _is_cpf(question.argument.zfill(11)) else 263
        case _:
            # Registrations are drawn from documents, and no way leads back.
            return 260 if question.argument == "ISENTO" else 261


def _is_cpf(text: str) -> bool:
    try:
        Cpf.parse(text)
    except InvalidCpf:
        return False
    return True
