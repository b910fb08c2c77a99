"""Traces: records of how a request was asked, by which caller, and with which outcome.

The page of a request is made from its trace and the ledger. A trace holds no CPF, only the masked
form and a keyed hash by which a person's requests can be found and erased.
"""

from contextlib import suppress

import msgspec

from balcao.core.certificates import CertificateSummary
from balcao.core.data_subject import document_hash
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import CallerError
from balcao.core.ledger import Trace, TracedCharge
from balcao.core.outcomes import Conclusion
from balcao.core.problems import problem_of
from balcao.core.result_summary import READ_BYTES_MAX, ResultSummary, summary_of
from balcao.core.tariff import REFUSED
from balcao.lookup.context import LookupContext


def refusal_trace(context: LookupContext, error: CallerError) -> Trace:
    """Return the trace of a request that was refused after its question was parsed."""
    problem = problem_of(error)
    conclusion = Conclusion(problem.status, b"", 0, REFUSED, code=problem.code)
    return conclusion_trace(context, conclusion, context.parts.now_ms())


def conclusion_trace(
    context: LookupContext, conclusion: Conclusion, now_ms: int, *, with_summary: bool = False
) -> Trace:
    """Return the trace of a request that was answered now, with a result or an error.

    `with_summary`: read the summary from the answer. Frequent available answers go without, since
    it would be a large part of their cost (ADR 0028).
    """
    question, caller, parts = context.question, context.caller, context.parts
    inquiry = question.inquiries[0]
    document = inquiry.document
    return Trace(
        context.request_id,
        caller.account_id,
        caller.key_id,
        caller.user_id,
        context.operation.path,
        document.text if isinstance(document, Cnpj) else document.masked,
        document_hash(parts.receipt_numbers.pepper, document.text)
        if isinstance(document, Cpf)
        else None,
        question.uf or inquiry.uf,
        question.strategy,
        question.refresh or inquiry.reissue,  # the cache was bypassed
        context.key_digest,
        conclusion.status,
        conclusion.code,
        conclusion.origin,
        conclusion.source,
        conclusion.asked_ms,
        conclusion.credits,
        conclusion.rule,
        context.at_ms,
        now_ms,
        context.tags.client,
        context.tags.reference,
        _given(context, conclusion) if with_summary else conclusion.certificate,
        _result_summary(context, conclusion) if with_summary else None,
    )


def traced_charge(context: LookupContext, conclusion: Conclusion, now_ms: int) -> TracedCharge:
    """Return trace and charge in one change, of an available answer without idempotency key."""
    question, caller, tags = context.question, context.caller, context.tags
    inquiry, origin = question.inquiries[0], conclusion.origin
    document, person = inquiry.document, None
    assert origin is not None
    if isinstance(document, Cnpj):
        shown = document.text
    else:
        shown = document.masked
        person = document_hash(context.parts.receipt_numbers.pepper, document.text)
    return TracedCharge(
        caller.account_id,
        context.request_id,
        context.at_ms,
        caller.key_id,
        caller.user_id,
        context.operation.path,
        shown,
        question.uf or inquiry.uf,
        question.strategy,
        question.refresh or inquiry.reissue,
        conclusion.status,
        conclusion.code,
        origin,
        conclusion.source,
        conclusion.asked_ms,
        conclusion.credits,
        conclusion.rule,
        now_ms,
        tags.client,
        tags.reference,
        tags.batch_id,
        person,
        conclusion.certificate,
        tags.of_wallet,
    )


def _given(context: LookupContext, conclusion: Conclusion) -> CertificateSummary | None:
    """Return the certificate; with the company's name of our own copy if it has none."""
    given, document = conclusion.certificate, context.question.document
    if given is None or given.name is not None or not isinstance(document, Cnpj):
        return given
    company = None
    with suppress(Exception):  # such as a damaged file: the answer matters more than the name
        company = context.environment.registry.snapshot_company(document)
    if company is None:
        return given
    return msgspec.structs.replace(given, name=summary_of(company.nome_empresarial, None).name)


def _result_summary(context: LookupContext, conclusion: Conclusion) -> ResultSummary | None:
    if (
        conclusion.status != 200
        or conclusion.certificate is not None
        or len(conclusion.fields) > READ_BYTES_MAX
        or not isinstance(context.question.document, Cnpj)
    ):
        return None
    return context.operation.result_summary(b"{" + conclusion.fields)
