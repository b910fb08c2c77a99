"""Asking the providers whether they would answer, in the very way the server asks them.

It may be done beside a running server: nothing of the data folder is opened.
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
from balcao.providers.contract import SwitchedOn
from balcao.settings import Settings
from balcao.sources.contract import Absent, HttpReply, HttpRequest
from balcao.sources.online import Online
from balcao.sources.replies import MISCONFIGURED
from balcao.sources.upstream import Send, SourceCall, Upstream

Status: TypeAlias = Literal["ok", "warn", "fail"]

PARALLEL_MAX = 8

# Stand in where an inquiry needs a document; adapters choose themselves whom a probe is about.
_ANY_CNPJ = Cnpj("00000000000191")
_ANY_CPF = Cpf("00000000191")

# The first CNPJ with letters that was given out, of a bank's branch: its root has digits alone.
_WITH_LETTERS = Cnpj("00000000E08G12")
# What a source is asked about it, the first of those that it serves: nothing is issued for a try.
_ASKED_ABOUT_IT: Sequence[Subject] = ("company", "suframa", "state_registration")


@dataclass(frozen=True, slots=True)
class Probe:
    """One conversation with a provider, and the kinds of inquiry that it vouches for."""

    provider: SwitchedOn
    inquiries: tuple[Inquiry, ...]  # the first is the one that is tried
    letters: bool = False  # it is asked itself, about a company whose number has letters

    @property
    def uf(self) -> str | None:
        """The UF whose service is tried; None: one service for all."""
        return self.inquiries[0].uf if self.provider.by_uf else None


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a probe. `text` is for the operator and holds no personal data."""

    source: str
    inquiries: tuple[Inquiry, ...]
    uf: str | None
    status: Status
    text: str
    seconds: float | None = None  # None: nobody was asked
    ahead_seconds: float | None = None  # our clock before theirs; None: they did not tell theirs

    @property
    def refused_us(self) -> bool:
        """It is well, and it is our credentials or contract that it does not take."""
        return self.text.startswith(MISCONFIGURED)


def typical(subject: Subject, uf: str | None = None, *, full_partners: bool = False) -> Inquiry:
    """An inquiry of this kind, about nobody in particular."""
    document = _ANY_CPF if OPERATIONS[subject].document == "cpf" else _ANY_CNPJ
    return Inquiry(subject, document, uf, full_partners)


def ufs_served(
    provider: SwitchedOn, subject: Subject, asked: Mapping[Subject, Sequence[str]]
) -> Sequence[str]:
    """Those of the UFs asked (`configured.ufs`) that it serves, by the kind of document asked."""
    capabilities = provider.adapter.capabilities
    return [uf for uf in asked.get(subject, ()) if capabilities.include(typical(subject, uf))]


def plan(
    settings: Settings,
    switched_on: Sequence[SwitchedOn],
    *,
    subjects: Sequence[Subject] = (),
    ufs: Sequence[str] = (),
) -> Sequence[Probe]:
    """One probe for each provider, subject, and UF with a service of its own; empty: all.

    Kinds of inquiry for which a provider would be sent the same request share a probe: some are
    charged for, and none is wanted twice.
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


def plan_letters(settings: Settings, switched_on: Sequence[SwitchedOn]) -> Sequence[Probe]:
    """One question about a CNPJ with letters for each provider that is said to take them.

    It is asked as for a customer, so the provider may charge us; no account of ours is charged.
    """
    order, asked = configured.order(settings), configured.ufs(settings)
    found: list[Probe] = []
    for provider in switched_on:
        capabilities = provider.adapter.capabilities
        for subject in _ASKED_ABOUT_IT:
            served = ufs_served(provider, subject, asked) if subject in asked else [None]
            inquiries = (Inquiry(subject, _WITH_LETTERS, uf) for uf in served)
            first = next((each for each in inquiries if capabilities.include(each)), None)
            if provider.name in order.get(subject, ()) and first is not None:
                found.append(Probe(provider, (first,), letters=True))
                break
    return found


def _inquiries(
    provider: SwitchedOn, subject: Subject, asked: Mapping[Subject, Sequence[str]]
) -> Iterator[Inquiry]:
    if subject in asked:
        served = ufs_served(provider, subject, asked)
        yield from (typical(subject, uf) for uf in (served if provider.by_uf else served[:1]))
        return
    # The opt-in is about companies, and by some contracts it is another product.
    opts_in = "full_partners" in OPERATIONS[subject].source_facts
    for full_partners in (False, True) if opts_in else (False,):
        inquiry = typical(subject, full_partners=full_partners)
        if provider.adapter.capabilities.include(inquiry):
            yield inquiry


def _draft(
    drafts: list[tuple[str, HttpRequest, Probe]], provider: SwitchedOn, inquiry: Inquiry
) -> None:
    conversation = provider.adapter.probe(inquiry)
    address = provider.address_for(inquiry)
    request = next(conversation).within(0)  # whatever time it is given
    conversation.close()
    fresh = Probe(provider, (inquiry,))
    for place, (to, same, probe) in enumerate(drafts):
        if (to, same, probe.uf) == (address, request, fresh.uf):
            drafts[place] = (to, same, replace(probe, inquiries=(*probe.inquiries, inquiry)))
            return
    drafts.append((address, request, fresh))


async def run(
    probes: Sequence[Probe],
    settings: Settings,
    done: Callable[[Result], None] = lambda result: None,
) -> Sequence[Result]:
    """Make the probes, some at a time. Results in the order of the probes; `done` as they come."""
    usual_tls = httpx2.create_ssl_context()
    places = asyncio.Semaphore(PARALLEL_MAX)

    async def one(probe: Probe) -> Result:
        async with places:
            result = await _made(probe, settings, probe.provider.tls or usual_tls)
        done(result)
        return result

    return await asyncio.gather(*map(one, probes))


async def _made(probe: Probe, settings: Settings, tls: ssl.SSLContext) -> Result:
    provider, inquiry = probe.provider, probe.inquiries[0]
    calls: list[SourceCall] = []
    ahead: list[float] = []

    async def compare_clocks(request: HttpRequest, attempt: int, send: Send) -> HttpReply:
        reply = await send(request)
        with suppress(ValueError):  # none, or in a form of its own
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
        around=compare_clocks,
        tls=tls,
    )
    source = Online(
        provider.name, provider.adapter, lambda _: upstream, now=_now, through=provider.layer
    )
    status: Status = "ok"
    try:
        text = await (_about_letters(source, inquiry) if probe.letters else source.probe(inquiry))
    except SourceError as error:
        status, text = "fail", error.detail.removeprefix(f"{provider.name}: ")
    finally:
        await upstream.close()
    seconds = sum(call.seconds for call in calls)
    if status == "ok" and seconds > settings.source_timeout_seconds:
        status = "warn"
        text += "; devagar: em uma consulta já se teria passado à fonte seguinte"
    apart = ahead[-1] if ahead else None
    return Result(provider.name, probe.inquiries, probe.uf, status, text, seconds, apart)


async def _about_letters(source: Online, inquiry: Inquiry) -> str:
    """What it says of a company with letters that exists. Raises like `ask`."""
    answer = await source.ask(inquiry)
    document = _WITH_LETTERS.punctuated
    if isinstance(answer, Absent):
        return f"respondeu que não conhece {document}"
    return f"respondeu sobre {document}"


def _now() -> datetime:
    return datetime.now(UTC)
