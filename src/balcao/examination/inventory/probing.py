"""Ask providers whether they would answer, with the requests that the server uses.

Can run next to a server: opens nothing in the data folder.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, TypeAlias

import httpx2

from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import SourceError
from balcao.core.questions import Inquiry, Subject
from balcao.examination.inventory import configured
from balcao.operations import OPERATIONS
from balcao.providers.contract import EnabledSource
from balcao.settings import Settings
from balcao.sources.contract import Absent, HttpReply, HttpRequest
from balcao.sources.online import AdapterSource
from balcao.sources.replies import MISCONFIGURED
from balcao.sources.upstream import Send, SourceCall, Upstream

Status: TypeAlias = Literal["ok", "warn", "fail"]

PARALLEL_MAX = 8

# Placeholders where an inquiry needs a document; adapters choose the documents of their probes.
_ANY_CNPJ = Cnpj("00000000000191")
_ANY_CPF = Cpf("00000000191")

# The first CNPJ with letters, of a bank's branch: its root has only digits.
_WITH_LETTERS = Cnpj("00000000E08G12")
# Subjects to ask about it, in order of preference; never certificates, which would be issued.
_LETTERS_SUBJECTS: Sequence[Subject] = ("company", "suframa", "state_registration")


@dataclass(frozen=True, slots=True)
class Probe:
    """One conversation with a provider, and the inquiries that its result covers."""

    provider: EnabledSource
    inquiries: tuple[Inquiry, ...]  # the first one is sent
    letters: bool = False  # ask about a company whose CNPJ has letters

    @property
    def uf(self) -> str | None:
        """The UF whose service is probed; None: one service for all."""
        return self.inquiries[0].uf if self.provider.by_uf else None


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a probe. `text` is for the operator and holds no personal data."""

    source: str
    inquiries: tuple[Inquiry, ...]
    uf: str | None
    status: Status
    text: str
    seconds: float | None = None  # None: nothing was sent
    ahead_seconds: float | None = None  # our clock minus theirs; None: unknown

    @property
    def refused_us(self) -> bool:
        """Whether the provider works but refuses our credentials or contract."""
        return self.text.startswith(MISCONFIGURED)


def sample_inquiry(
    subject: Subject, uf: str | None = None, *, full_partners: bool = False
) -> Inquiry:
    """Return an inquiry of this kind with a placeholder document."""
    document = _ANY_CPF if OPERATIONS[subject].document == "cpf" else _ANY_CNPJ
    return Inquiry(subject, document, uf, full_partners)


def ufs_served(
    provider: EnabledSource, subject: Subject, asked: Mapping[Subject, Sequence[str]]
) -> Sequence[str]:
    """Return the UFs of `asked` (`configured.ufs`) that the provider serves."""
    capabilities = provider.adapter.capabilities
    return [
        uf for uf in asked.get(subject, ()) if capabilities.include(sample_inquiry(subject, uf))
    ]


def plan(
    settings: Settings,
    switched_on: Sequence[EnabledSource],
    *,
    subjects: Sequence[Subject] = (),
    ufs: Sequence[str] = (),
) -> Sequence[Probe]:
    """Plan one probe for each provider, subject, and UF with a separate service; empty: all.

    Inquiries with the same request to a provider share a probe, since some are charged for.
    """
    order = configured.order(settings)
    asked = {
        subject: [uf for uf in known if not ufs or uf in ufs]
        for subject, known in configured.ufs(settings).items()
    }
    found: list[Probe] = []
    for provider in switched_on:
        drafts: list[tuple[str, HttpRequest, Probe]] = []
        for subject, names in order.items():
            if provider.name in names and (not subjects or subject in subjects):
                for inquiry in _inquiries(provider, subject, asked):
                    _draft(drafts, provider, inquiry)
        found += [probe for _, _, probe in drafts]
    return found


def plan_letters(settings: Settings, switched_on: Sequence[EnabledSource]) -> Sequence[Probe]:
    """Plan one question about a CNPJ with letters for each provider configured to accept them.

    It is a regular request, so the provider may charge us; no account of ours is charged.
    """
    order, asked = configured.order(settings), configured.ufs(settings)
    found: list[Probe] = []
    for provider in switched_on:
        capabilities = provider.adapter.capabilities
        for subject in _LETTERS_SUBJECTS:
            served = ufs_served(provider, subject, asked) if subject in asked else [None]
            inquiries = (Inquiry(subject, _WITH_LETTERS, uf) for uf in served)
            first = next((each for each in inquiries if capabilities.include(each)), None)
            if provider.name in order.get(subject, ()) and first is not None:
                found.append(Probe(provider, (first,), letters=True))
                break
    return found


def _inquiries(
    provider: EnabledSource, subject: Subject, asked: Mapping[Subject, Sequence[str]]
) -> Iterator[Inquiry]:
    if subject in asked:
        served = ufs_served(provider, subject, asked)
        yield from (
            sample_inquiry(subject, uf) for uf in (served if provider.by_uf else served[:1])
        )
        return
    # The opt-in exists for companies only, and is a separate product in some contracts.
    opts_in = "full_partners" in OPERATIONS[subject].source_facts
    for full_partners in (False, True) if opts_in else (False,):
        inquiry = sample_inquiry(subject, full_partners=full_partners)
        if provider.adapter.capabilities.include(inquiry):
            yield inquiry


def _draft(
    drafts: list[tuple[str, HttpRequest, Probe]], provider: EnabledSource, inquiry: Inquiry
) -> None:
    conversation = provider.adapter.probe(inquiry)
    address = provider.address_for(inquiry)
    request = next(conversation).within(0)  # the time is irrelevant here
    conversation.close()
    new = Probe(provider, (inquiry,))
    for place, (to, same, probe) in enumerate(drafts):
        if (to, same, probe.uf) == (address, request, new.uf):
            drafts[place] = (to, same, replace(probe, inquiries=(*probe.inquiries, inquiry)))
            return
    drafts.append((address, request, new))


async def run(
    probes: Sequence[Probe],
    settings: Settings,
    done: Callable[[Result], None] = lambda result: None,
) -> Sequence[Result]:
    """Run the probes, some at a time. Results are in their order; `done` is called for each."""
    usual_tls = httpx2.create_ssl_context()
    places = asyncio.Semaphore(PARALLEL_MAX)

    async def one(probe: Probe) -> Result:
        async with places:
            result = await _run_one(probe, settings, probe.provider.tls or usual_tls)
        done(result)
        return result

    return await asyncio.gather(*map(one, probes))


async def _run_one(probe: Probe, settings: Settings, tls: ssl.SSLContext) -> Result:
    provider, inquiry = probe.provider, probe.inquiries[0]
    calls: list[SourceCall] = []
    ahead: list[float] = []

    async def compare_clocks(request: HttpRequest, attempt: int, send: Send) -> HttpReply:
        reply = await send(request)
        with suppress(ValueError):  # missing or malformed
            theirs = parsedate_to_datetime(reply.headers.get("date", ""))
            ahead.append((_now() - theirs.astimezone(UTC)).total_seconds())
        return reply

    upstream = Upstream(
        provider.name,
        provider.address_for(inquiry),
        timeout_seconds=settings.source_deadline_seconds,
        answer_bytes_max=settings.source_answer_bytes_max,
        observe=calls.append,
        subject=inquiry.subject,
        uf=inquiry.uf or "",
        wrap_attempt=compare_clocks,
        tls=tls,
    )
    source = AdapterSource(
        provider.name, provider.adapter, lambda _: upstream, now=_now, layer=provider.layer
    )
    status: Status = "ok"
    try:
        text = await (
            _ask_about_letters(source, inquiry) if probe.letters else source.probe(inquiry)
        )
    except SourceError as error:
        status, text = "fail", error.detail.removeprefix(f"{provider.name}: ")
    finally:
        await upstream.close()
    seconds = sum(call.seconds for call in calls)
    if status == "ok" and seconds > settings.source_timeout_seconds:
        status = "warn"
        text += "; lenta: em uma consulta, a fonte seguinte já teria sido usada"
    apart = ahead[-1] if ahead else None
    return Result(provider.name, probe.inquiries, probe.uf, status, text, seconds, apart)


async def _ask_about_letters(source: AdapterSource, inquiry: Inquiry) -> str:
    """Ask about an existing company whose CNPJ has letters. Raises like `ask`."""
    answer = await source.ask(inquiry)
    document = _WITH_LETTERS.punctuated
    if isinstance(answer, Absent):
        return f"respondeu que não conhece {document}"
    return f"respondeu sobre {document}"


def _now() -> datetime:
    return datetime.now(UTC)
