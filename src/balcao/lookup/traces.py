"""What is remembered of a request besides money: how it was asked, by whom, and what came of it.

The application's page of a request is written from this and the ledger. It holds no CPF: its
masked form, and a keyed hash by which a person's requests can be found and forgotten.
"""

from balcao.core.certificates import CertificateGiven
from balcao.core.data_subject import document_hash
from balcao.core.documents import Cnpj, Cpf
from balcao.core.ledger import Origin, Trace
from balcao.core.outcomes import Conclusion, Reply
from balcao.core.problems import problem_of
from balcao.core.questions import Question
from balcao.core.tariff import REFUSED
from balcao.errors import CallerError
from balcao.lookup.context import Errand, Parts


def of_reply(errand: Errand, reply: Reply, conclusion: Conclusion, parts: Parts) -> Trace:
    """Of a request that was answered, with a result or an error."""
    return _trace(
        errand,
        parts,
        status=reply.status,
        code=reply.code,
        origin=reply.origin,
        source=reply.source,
        asked_ms=reply.asked_ms,
        credits=conclusion.credits,
        rule=conclusion.rule,
        certificate=conclusion.certificate,
    )


def of_refusal(errand: Errand, error: CallerError, parts: Parts) -> Trace:
    """Of a request that was refused after its question was understood."""
    problem = problem_of(error)
    return _trace(errand, parts, status=problem.status, code=problem.code, rule=REFUSED)


def _trace(
    errand: Errand,
    parts: Parts,
    *,
    status: int,
    code: str | None,
    origin: Origin | None = None,
    source: str | None = None,
    asked_ms: int | None = None,
    credits: int = 0,
    rule: str,
    certificate: CertificateGiven | None = None,
) -> Trace:
    question, caller = errand.question, errand.caller
    document = question.document
    return Trace(
        errand.request_id,
        caller.account_id,
        caller.key_id,
        caller.user_id,
        errand.operation.path,
        document.text if isinstance(document, Cnpj) else document.masked,
        document_hash(parts.numbering.secret, document.text) if isinstance(document, Cpf) else None,
        question.uf or question.inquiries[0].uf,
        question.strategy,
        _passes_over_what_is_kept(question),
        errand.key_digest,
        status,
        code,
        origin,
        source,
        asked_ms,
        credits,
        rule,
        errand.at_ms,
        parts.now_ms(),
        certificate,
    )


def _passes_over_what_is_kept(question: Question) -> bool:
    return question.refresh or question.inquiries[0].reissue
