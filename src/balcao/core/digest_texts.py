"""The messages of a portfolio's notices: a digest of the day, and a notice at once."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from balcao.core.digests import DueMail, MailableEvent
from balcao.core.event_words import event_text
from balcao.core.mail import MailButton, MailLine, MailSection, MailText
from balcao.core.writing import cnpj, counted, whole

LINES_MAX: Final = 60  # of one message; the portfolio has the others
_LINES_OF_ITEM_MAX = 8
_PAGE = "/app/carteira"
_CERTIFICATES, _EXTENDED, _ACCOUNT = "certidao.", "certidao.prorrogada", None


def item_address(address: str, item_id: str) -> str:
    """Return the address of an item's page."""
    return f"{address}{_PAGE}/itens/{item_id}"


def portfolio_mail(account: str, due: DueMail, address: str, unsubscribe: str) -> MailText:
    """Return the message of events that are due. `address`: of the service.

    It has names and CNPJs of companies, and no data of natural persons.
    """
    urgent = due.kind == "urgent"
    note = (
        f"Você recebe {'este aviso' if urgent else 'este resumo'} porque está nos avisos da"
        f" carteira da conta {account}. O horário e as pessoas podem ser mudados em Carteira ›"
        " Avisos e regras."
    )
    first = f"Na carteira da conta {account}:"
    return MailText(
        _subject(due),
        (first,),
        MailButton("Ver as mudanças", f"{address}{_PAGE}/mudancas"),
        note,
        tuple(_sections(due.events, address)),
        unsubscribe,
    )


def _subject(due: DueMail) -> str:
    if due.kind == "urgent" and len(due.events) == 1:
        (event,) = due.events
        line = event_text(event.kind, event.data).line
        return f"{event.name}: {line}" if event.name else line
    items = len({event.item_id for event in due.events if event.item_id is not None})
    if due.kind == "urgent":
        return f"Carteira: {counted(len(due.events), 'aviso importante', 'avisos importantes')}"
    changes = counted(len(due.events), "novidade", "novidades")
    return f"Carteira: {changes} em {counted(items, 'item', 'itens')}" if items else (
        f"Carteira: {changes}"
    )  # fmt: skip


def _sections(events: Sequence[MailableEvent], address: str) -> Iterator[MailSection]:
    """Yield sections, the most important first. Each item is one line, with its events below."""
    grave = [event for event in events if event.is_grave]
    rest = [event for event in events if not event.is_grave]
    papers = [event for event in rest if event.kind.startswith(_CERTIFICATES)]
    changes = [
        event
        for event in rest
        if event.item_id is not _ACCOUNT and not event.kind.startswith(_CERTIFICATES)
    ]
    account = [event for event in rest if event.item_id is _ACCOUNT]
    room = LINES_MAX
    for title, found in (
        ("Precisa de atenção", grave),
        ("Certidões", papers),
        ("Mudanças", changes),
        ("Avisos da conta", account),
    ):
        lines = [*_extensions(found, address), *_lines(_apart(found), address)]
        shown, left = lines[:room], len(lines[room:])
        room -= len(shown)
        if left:
            text = f"e mais {whole(left)}, na carteira"
            shown.append(MailLine(text, f"{address}{_PAGE}/mudancas"))
        if shown:
            yield MailSection(title, tuple(shown))


def _extensions(events: Sequence[MailableEvent], address: str) -> Iterator[MailLine]:
    """Yield one line for each act that extended several certificates."""
    for act, papers in _extended(events).items():
        if len(papers) > 1:
            text = f"{whole(len(papers))} certidões prorrogadas: {act}"
            yield MailLine(text, f"{address}{_PAGE}/certidoes")


def _apart(events: Sequence[MailableEvent]) -> Sequence[MailableEvent]:
    """Return the events that `_extensions` does not report."""
    acts = {act for act, papers in _extended(events).items() if len(papers) > 1}
    return [
        event for event in events if event.kind != _EXTENDED or event.data.get("ato") not in acts
    ]


def _extended(events: Sequence[MailableEvent]) -> Mapping[str, set[str]]:
    """Return the ids of certificates that were extended, by act."""
    found: dict[str, set[str]] = {}
    for event in events:
        if event.kind == _EXTENDED and event.data.get("ato"):
            found.setdefault(event.data["ato"], set()).add(event.data["papel"]["id"])
    return found


def _lines(events: Sequence[MailableEvent], address: str) -> Iterator[MailLine]:
    by_item: dict[str | None, list[MailableEvent]] = {}
    for event in events:
        by_item.setdefault(event.item_id, []).append(event)
    for item_id, found in by_item.items():
        texts = [event_text(event.kind, event.data).line for event in found]
        if item_id is None:
            yield from map(MailLine, texts)
            continue
        if left := len(texts) - _LINES_OF_ITEM_MAX:
            texts = texts[:_LINES_OF_ITEM_MAX] + ([f"e mais {whole(left)}"] if left > 0 else [])
        yield MailLine(_named(found[-1]), item_address(address, item_id), tuple(texts))


def _named(event: MailableEvent) -> str:
    parts = [event.name] if event.name else []
    if event.document:
        parts.append(cnpj(event.document))
    named = " · ".join(parts) or "Pessoa"
    return f"{named} (ref. {event.reference})" if event.reference else named
