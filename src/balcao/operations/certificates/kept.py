"""Certificates served by their validity, and answered apart from the instant of delivery."""

import secrets
from abc import abstractmethod
from functools import lru_cache
from typing import Annotated

import msgspec

from balcao.core.calendar import civil_day_text, from_ms
from balcao.core.certificates import Certificate, may_serve, valid_until
from balcao.core.described import described, doc
from balcao.core.freshness import CACHE_FIRST, Ask, CacheEntry, Serve
from balcao.core.ledger import Origin
from balcao.core.outcomes import Conclusion
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.operations.certificates.lookup import CertificateLookup
from balcao.operations.envelope import WITHOUT_ID
from balcao.operations.parameters import Flag, StrategyChoice

# Placeholder for the only value that differs between deliveries of a certificate.
SERVED_AT = secrets.token_hex(16)  # cannot occur in an answer

STRATEGY = StrategyChoice(
    "Prioridade entre resultado guardado e fonte. Uma certidão vencida nunca é entregue como"
    " válida.",
    (
        Strategy.CACHE_PREFERENCIAL,
        Strategy.CACHE_SE_EXISTIR,
        Strategy.SO_CACHE,
        Strategy.SO_ONLINE,
        Strategy.ONLINE_PREFERENCIAL,
    ),
    default=Strategy.CACHE_PREFERENCIAL,
    field="modo",
)
REFRESH = Flag("atualizar_online", "`true`: consulta a fonte mesmo que haja um resultado guardado.")


@described("Cobranca", "Créditos e caminho executado.")
class Billing(msgspec.Struct, frozen=True):
    """Credits consumed, and the path that was executed."""

    credits: Annotated[int, doc("Créditos.")]
    source: Annotated[Origin, doc("`cache` ou `online`.")]


class KeptCertificateLookup(CertificateLookup):
    """A certificate that is kept until the day before its last one (contract 4.6, 4.14)."""

    @abstractmethod
    def decode(self, body: bytes) -> Certificate:
        """Return the record in a cache entry."""

    def cache_decision(
        self, question: Question, inquiry: Inquiry, kept: CacheEntry, now_ms: int
    ) -> Serve | Ask:
        """Decide by validity instead of age. An expired one is never delivered."""
        certificate = self.decode(kept.body)
        if not may_serve(certificate, kept.asked_ms, now_ms):
            return Ask(None)
        if question.strategy in CACHE_FIRST:
            # `nova` and `atualizar_online` always ask the source.
            return Ask(None) if question.refresh or inquiry.reissue else Serve(kept)
        # A negative result may have changed: it is never a fallback.
        falls_back = question.strategy is Strategy.ONLINE_PREFERENCIAL and certificate.good
        return Ask(kept if falls_back else None)

    def answered_since(
        self, question: Question, kept: CacheEntry, since_ms: int, now_ms: int
    ) -> Question | None:
        certificate, (inquiry,) = self.decode(kept.body), question.inquiries
        if kept.asked_ms < since_ms or not may_serve(certificate, kept.asked_ms, now_ms):
            return None
        if inquiry.reissue and not self.is_issued_since(certificate, civil_day_text(since_ms)):
            return None
        return msgspec.structs.replace(
            question,
            inquiries=(msgspec.structs.replace(inquiry, reissue=False),),
            strategy=Strategy.CACHE_PREFERENCIAL,
            refresh=False,
        )

    def is_issued_since(self, certificate: Certificate, day: str) -> bool:
        """Return whether a certificate that may be issued again was issued on a day or later."""
        return False

    def should_cache(self, body: bytes, asked_ms: int, kept: CacheEntry | None) -> bool:
        """Return whether the new answer replaces the entry: usually, with two exceptions.

        A good certificate that can never be served (no code, no validity) only replaces a negative
        one. If nothing could be issued, that is no proof of debts: one in force stays.
        """
        new = self.decode(body)
        old = None if kept is None else self.decode(kept.body)
        if new.good:
            unusable = valid_until(new, asked_ms) is None
            return not unusable or (old is not None and not old.good)
        if new.inconclusive and old is not None and kept is not None and old.good:
            return not may_serve(old, kept.asked_ms, asked_ms)
        return True


def split_answer(encoded: bytes) -> tuple[bytes, bytes]:
    """Return an answer's JSON without its `request_id`, before and after `served_at`."""
    before, _, after = encoded.removeprefix(WITHOUT_ID).partition(SERVED_AT.encode())
    return before, after


def delivered_at(made: tuple[Conclusion, bytes, bytes], now_ms: int) -> Conclusion:
    """Return the conclusion with its JSON, served at this instant."""
    concluded, before, after = made
    return Conclusion(
        concluded.status,
        before + instant(now_ms // 1000) + after,
        concluded.credits,
        concluded.rule,
        concluded.origin,
        concluded.source,
        concluded.asked_ms,
        receipt=concluded.receipt,
        certificate=concluded.certificate,
    )


@lru_cache(maxsize=64)
def instant(second: int) -> bytes:
    """Return a second since 1970 as `YYYY-MM-DDTHH:mm:ss-03:00`, in Brasília."""
    return from_ms(second * 1000).isoformat(timespec="seconds").encode()
