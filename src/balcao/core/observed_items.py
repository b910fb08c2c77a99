"""Changes of a watched subject by an answer of the account's own lookups (contract 20.4)."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Final, TypeAlias

import msgspec

from balcao.core.budgets import iso_instant
from balcao.core.calendar import civil_day_text, day_starts_ms
from balcao.core.company import HEAD_OFFICE, Company
from balcao.core.company_changes import MONTH_TOPICS, company_changes, completed
from balcao.core.company_record import (
    RegistryRecord,
    record_bytes,
    registry_record,
    stored_record,
)
from balcao.core.documents import CNPJ_CHARACTERS, first_establishment
from balcao.core.item_events import ItemEvent, ItemHead
from balcao.core.observations import Observation, ObservedAnswer
from balcao.core.papers import ROOT_CHARACTERS
from balcao.core.questions import Mode, Subject
from balcao.core.registration import SITUATION_TEXTS, Registrations, bare_number
from balcao.core.suframa import ZoneRecord

# Topics that only lookups answer, by the operation that does; the first two have a UF.
REGISTRATIONS_TOPICS: Final[Mapping[Subject, str]] = {
    "state_registration": "inscricoes",
    "rural_producer": "produtor",
}
ZONE_TOPIC = "suframa"
# Of these, one registry answer has all; branches are known by months alone.
REGISTRY_TOPICS = frozenset(MONTH_TOPICS[:3])

REGISTRATION_CHANGED, ZONE_CHANGED = "inscricao.situacao", "suframa.situacao"
_UNRESTRICTED = SITUATION_TEXTS[1]
_ACTIVE_ZONE_CODE = 1


class Checked(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Instants of a topic: of the data of its last answer, and of its last scheduled lookup."""

    data_ms: int = 0
    asked_ms: int = 0


class WatchedRegistration(msgspec.Struct, frozen=True, gc=False):
    """A registration of an item, as the API shows it."""

    uf: str
    inscricao: str
    ativa: bool
    situacao_pj: str | None
    tipo_ie: str | None
    verificado_em: str | None

    @property
    def key(self) -> str:
        """Its number, as it is compared."""
        return bare_number(self.inscricao)

    @property
    def standing(self) -> Mapping[str, object]:
        """Its state, as events show it."""
        return {"ativa": self.ativa, "situacao_pj": self.situacao_pj, "tipo_ie": self.tipo_ie}

    @property
    def is_restricted(self) -> bool:
        return not self.ativa or self.situacao_pj not in {None, _UNRESTRICTED}


class WatchedZone(msgspec.Struct, frozen=True, gc=False):
    """The Suframa status of an item, as the API shows it."""

    codigo: int
    descricao: str


class ItemState(msgspec.Struct, frozen=True, gc=False):
    """The part of an item that lookups change."""

    registry: str | None  # JSON
    record: bytes | None  # `company_record.record_bytes`
    record_ms: int | None  # of its data
    registrations: tuple[WatchedRegistration, ...]
    suframa: WatchedZone | None
    checked: Mapping[str, Checked]
    verified_ms: int | None


class MonthRecord(msgspec.Struct, frozen=True, gc=False):
    """A company of the month in use, with the instant of its data."""

    record: RegistryRecord
    data_ms: int


class ObservedItem(msgspec.Struct, frozen=True, gc=False):
    """A watched subject that answers are about."""

    head: ItemHead
    watched: tuple[str, ...]
    state: ItemState

    def needs_month(self, seen: Observation) -> bool:
        """Return whether its state before the answer is that of the month in use."""
        return seen.subject == "company"


Updated: TypeAlias = tuple[ItemState, Sequence[ItemEvent]]
# Returns a company of the month in use, by mode and CNPJ; None: there is none. Any thread.
FindInMonth: TypeAlias = Callable[[Mode, str], MonthRecord | None]


class _Answered(Company, frozen=True, kw_only=True):
    """A company as sources give it; `data_base` is a member if it is of a copy of the registry."""

    data_base: str | msgspec.UnsetType | None = msgspec.UNSET


_company = msgspec.json.Decoder(_Answered).decode
_registrations = msgspec.json.Decoder(Registrations).decode
_zone = msgspec.json.Decoder(ZoneRecord).decode


def update_of(item: ObservedItem, seen: Observation, month: MonthRecord | None) -> Updated | None:
    """Return an item's state after an observation, and the events; None: nothing changes.

    `month`: the company of the month in use, which prevails over an older record. An item's first
    answer about a topic is the baseline: it has no event. Answers whose data are not newer than the
    item's are ignored.
    """
    after, events = item, list[ItemEvent]()
    for answer in seen.answers:
        updated = _answered(after, seen, answer, month)
        if updated is not None:
            after = msgspec.structs.replace(after, state=updated[0])
            events += updated[1]
    return None if after is item else (after.state, events)


def _answered(
    item: ObservedItem, seen: Observation, answer: ObservedAnswer, month: MonthRecord | None
) -> Updated | None:
    if seen.subject == "company":
        return _of_registry(item, seen, answer, month)
    if seen.subject == "suframa":
        return _of_zone(item, seen, answer)
    return _of_registrations(item, seen, answer)


def _of_registry(
    item: ObservedItem, seen: Observation, answer: ObservedAnswer, month: MonthRecord | None
) -> Updated | None:
    state, topics = item.state, REGISTRY_TOPICS.intersection(item.watched)
    if not topics:
        return None
    assert answer.body is not None
    company = _company(answer.body)
    if len(item.head.document) < CNPJ_CHARACTERS and not _is_head_office(company, seen.cnpj):
        return None
    day = civil_day_text(answer.asked_ms) if answer.of_own_copy else company.data_base or None
    whole = answer.of_own_copy or company.data_base is not msgspec.UNSET
    found = registry_record(company, whole=whole)
    data_ms = answer.asked_ms if day is None else day_starts_ms(date.fromisoformat(day))
    known_ms, before = state.record_ms, None
    if month is not None and (known_ms is None or known_ms <= month.data_ms):
        known_ms, before = month.data_ms, month.record
    elif state.record is not None:
        before = stored_record(state.record)
    # Changes of our own copy are those of months.
    if answer.of_own_copy or (known_ms is not None and data_ms <= known_ms):
        return None if state.registry else (_with_facts(state, found, _text_month(day)), ())
    record = found if before is None else completed(found, before)
    after = msgspec.structs.replace(
        _with_facts(state, record, _text_month(day)),
        record=record_bytes(record),
        record_ms=data_ms,
        verified_ms=max(state.verified_ms or 0, data_ms),
        checked={**state.checked, **{topic: _seen(state, topic, data_ms) for topic in topics}},
    )
    if before is None:
        return after, ()
    return after, [
        _event(
            item,
            seen,
            answer,
            change.kind,
            change.data,
            is_person=before.is_person or record.is_person,
            data_from=day,
        )
        for change in company_changes(before, found)
        if change.topic in topics
    ]


def _is_head_office(company: Company, cnpj: str | None) -> bool:
    """Return whether an establishment is its company's head office; order 0001 if not given."""
    if company.identificador_matriz_filial is not None:
        return company.identificador_matriz_filial == HEAD_OFFICE
    return cnpj is not None and cnpj == first_establishment(cnpj[:ROOT_CHARACTERS])


def _with_facts(state: ItemState, record: RegistryRecord, month: str | None) -> ItemState:
    company = record.company
    facts = {
        "nome_empresarial": company.nome_empresarial,
        "situacao": company.situacao_cadastral,
        "data_situacao": company.data_da_situacao_cadastral,
        "competencia": month,
    }
    return msgspec.structs.replace(state, registry=msgspec.json.encode(facts).decode())


def _text_month(day: str | None) -> str | None:
    return None if day is None else day[: len("YYYY-MM")]


def _of_registrations(
    item: ObservedItem, seen: Observation, answer: ObservedAnswer
) -> Updated | None:
    state, topic = item.state, f"{REGISTRATIONS_TOPICS[seen.subject]}:{answer.uf}"
    if answer.body is None or not _is_newer(item, topic, answer):
        return None
    found = _registrations(answer.body)
    verified = iso_instant(answer.asked_ms)
    before = {each.key: each for each in state.registrations if each.uf == answer.uf}
    after: dict[str, WatchedRegistration] = {}
    for each in found.inscricoes:
        known = before.get(bare_number(each.inscricao_estadual))
        now = WatchedRegistration(
            each.uf,
            each.inscricao_estadual,
            each.ativa,
            # A source that does not give a field does not change it.
            each.situacao_pj or (known.situacao_pj if known else None),
            each.tipo_ie or (known.tipo_ie if known else None),
            verified,
        )
        after[now.key] = now
    if found.omitidas:  # registrations that are not listed may exist
        after = {**before, **after}
    changed = msgspec.structs.replace(
        state,
        registrations=(
            *(each for each in state.registrations if each.uf != answer.uf),
            *after.values(),
        ),
        checked={**state.checked, topic: _seen(state, topic, answer.asked_ms)},
        verified_ms=max(state.verified_ms or 0, answer.asked_ms),
    )
    if not _has_baseline(state, topic):
        return changed, ()
    events = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old is not None and new is not None and not _differ(old, new):
            continue
        either = new or old
        assert either is not None
        grave = new.is_restricted if new else old is not None and old.ativa
        data = {
            "uf": either.uf,
            "inscricao": either.inscricao,
            "de": old and old.standing,
            "para": new and new.standing,
            "grave": grave,
        }
        events.append(
            _event(
                item,
                seen,
                answer,
                REGISTRATION_CHANGED,
                data,
                about=f"/{either.uf}/{key}",
            )
        )
    return changed, events


def _differ(old: WatchedRegistration, new: WatchedRegistration) -> bool:
    """Return whether a registration changed; a part that was not known did not."""
    return old.ativa is not new.ativa or any(
        then is not None and then != now
        for then, now in ((old.situacao_pj, new.situacao_pj), (old.tipo_ie, new.tipo_ie))
    )


def _of_zone(item: ObservedItem, seen: Observation, answer: ObservedAnswer) -> Updated | None:
    state = item.state
    if not _is_newer(item, ZONE_TOPIC, answer):
        return None
    before, after = state.suframa, None
    if answer.body is not None:
        status = _zone(answer.body).status
        after = WatchedZone(status.codigo, status.descricao)
    changed = msgspec.structs.replace(
        state,
        suframa=after,
        checked={**state.checked, ZONE_TOPIC: _seen(state, ZONE_TOPIC, answer.asked_ms)},
        verified_ms=max(state.verified_ms or 0, answer.asked_ms),
    )
    same = (before and before.codigo) == (after and after.codigo)
    if same or not _has_baseline(state, ZONE_TOPIC):
        return changed, ()
    data = {
        "de": before and msgspec.structs.asdict(before),
        "para": after and msgspec.structs.asdict(after),
        "grave": after is None or after.codigo != _ACTIVE_ZONE_CODE,
    }
    return changed, [_event(item, seen, answer, ZONE_CHANGED, data)]


def _is_newer(item: ObservedItem, topic: str, answer: ObservedAnswer) -> bool:
    """Return whether an item watches the topic, and its state is older than the answer."""
    known = item.state.checked.get(topic)
    return topic in item.watched and (known is None or answer.asked_ms > known.data_ms)


def _has_baseline(state: ItemState, topic: str) -> bool:
    known = state.checked.get(topic)
    return known is not None and known.data_ms > 0


def _seen(state: ItemState, topic: str, data_ms: int) -> Checked:
    return msgspec.structs.replace(state.checked.get(topic, Checked()), data_ms=data_ms)


def _event(
    item: ObservedItem,
    seen: Observation,
    answer: ObservedAnswer,
    kind: str,
    data: Mapping[str, object],
    *,
    about: str = "",
    is_person: bool = False,
    data_from: str | None = None,
) -> ItemEvent:
    return ItemEvent(
        kind,
        f"{item.head.item_id}/{kind}/{seen.request_id}{about}",
        seen.at_ms,
        answer.source,
        data,
        is_person=is_person,
        data_from=data_from or iso_instant(answer.asked_ms),
        month=_text_month(data_from),
        head_office=seen.cnpj,
    )
