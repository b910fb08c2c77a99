"""Changes between two registry answers about an establishment (contract 20.3).

Used for two months of the registry, and for an account's own lookups.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from balcao.core.company import Company, Partner, TaxOption
from balcao.core.company_record import (
    RegistryRecord,
    canonical_day,
    canonical_text,
    fields_differ,
    partner_key,
    partner_parts,
    parts_differ,
)

STATUS, PARTNERS, SIMPLES, MEI = (
    "empresa.situacao",
    "empresa.socios",
    "empresa.simples",
    "empresa.mei",
)
BRANCHES, GONE, CAME = "empresa.filial", "empresa.sumiu", "empresa.apareceu"

# Topics of `vigiar`.
REGISTRY_TOPIC, PARTNERS_TOPIC, SIMPLES_TOPIC, BRANCHES_TOPIC = MONTH_TOPICS = (
    "cadastro",
    "socios",
    "simples",
    "filiais",
)

ACTIVE = "ativa"  # canonical

_FIELDS: Final[Mapping[str, Sequence[str]]] = {
    STATUS: (
        "situacao_cadastral",
        "motivo_situacao_cadastral",
        "data_da_situacao_cadastral",
        "situacao_especial",
        "data_da_situacao_especial",
    ),
    "empresa.nome": ("nome_empresarial",),
    "empresa.nome_fantasia": ("nome_fantasia",),
    "empresa.endereco": (
        "tipo_logradouro",
        "logradouro",
        "numero",
        "complemento",
        "bairro",
        "cep",
        "municipio",
        "uf",
        "codigo_municipio_ibge",
    ),
    "empresa.atividade": ("atividade_economica_principal", "atividades_economicas_secundarias"),
    "empresa.capital": ("capital_social",),
    "empresa.porte": ("porte",),
    "empresa.natureza": ("natureza_juridica",),
    "empresa.contato": ("telefone", "endereco_eletronico"),
    SIMPLES: ("simples",),
    MEI: ("mei",),
}
_SPECIAL = ("situacao_especial", "data_da_situacao_especial")
_PERSONAL = frozenset({"empresa.nome", "empresa.nome_fantasia", "empresa.endereco"}) | {
    "empresa.contato"
}
_CNPJ = re.compile(r"[0-9A-Z]{12}[0-9]{2}")


class CompanyChange(NamedTuple):
    """A change of one kind. `data`: members of the event, to be encoded as JSON."""

    kind: str
    data: Mapping[str, object]

    @property
    def topic(self) -> str:
        """The topic of `vigiar` that it belongs to."""
        return topic_of(self.kind)


def topic_of(kind: str) -> str:
    """Return the topic of `vigiar` that a kind of change belongs to."""
    if kind == PARTNERS:
        return PARTNERS_TOPIC
    if kind == BRANCHES:
        return BRANCHES_TOPIC
    return SIMPLES_TOPIC if kind in {SIMPLES, MEI} else REGISTRY_TOPIC


def company_changes(before: RegistryRecord, after: RegistryRecord) -> Sequence[CompanyChange]:
    """Return the changes from one record of an establishment to a later one, at most one a kind.

    Unknown fields did not change. A natural person's name, address and contact
    are null.
    """
    if before == after:
        return ()
    is_person = before.is_person or after.is_person
    changes = []
    for kind, names in _FIELDS.items():
        if kind == SIMPLES and (partners := _partners_changed(before, after)) is not None:
            changes.append(CompanyChange(PARTNERS, partners))
        if fields_differ(before, after, names):
            data = _change(kind, names, before, after)
            if is_person and kind in _PERSONAL:
                data = {"de": None, "para": None}
            changes.append(CompanyChange(kind, data))
    return tuple(changes)


def completed(after: RegistryRecord, before: RegistryRecord) -> RegistryRecord:
    """Return a record whose unknown fields are as before, except in parts that changed."""
    if not after.unknown:
        return after
    filled: dict[str, object] = {}
    grouped = {name: names for names in _FIELDS.values() for name in names}
    for name in after.unknown - before.unknown:
        if not fields_differ(before, after, grouped.get(name, ())):
            filled[name] = getattr(before.company, name)
    return RegistryRecord(
        msgspec.structs.replace(after.company, **filled), after.unknown - filled.keys()
    )


def _change(
    kind: str, names: Sequence[str], before: RegistryRecord, after: RegistryRecord
) -> Mapping[str, object]:
    old, new = before.company, after.company
    if kind == STATUS:
        special = None
        if fields_differ(before, after, _SPECIAL):
            special = {"de": old.situacao_especial, "para": new.situacao_especial}
        return {
            "de": old.situacao_cadastral,
            "para": new.situacao_cadastral,
            "motivo": new.motivo_situacao_cadastral,
            "data_situacao": new.data_da_situacao_cadastral,
            "grave": canonical_text(new.situacao_cadastral) != ACTIVE,
            "situacao_especial": special,
        }
    changed: dict[str, object] = {"de": _written(old, names), "para": _written(new, names)}
    if kind in {SIMPLES, MEI}:
        changed["desde"] = _since(new.simples if kind == SIMPLES else new.mei)
    return changed


def _written(company: Company, names: Sequence[str]) -> object:
    """Return the fields as the registry lookup writes them; several as an object."""
    if len(names) == 1:
        return getattr(company, names[0])
    return {name: getattr(company, name) for name in names}


def _since(option: TaxOption | None) -> str | None:
    if option is None:
        return None
    return canonical_day(option.desde if option.optante else option.ate)


def _partners_changed(before: RegistryRecord, after: RegistryRecord) -> Mapping[str, object] | None:
    """Return the partners that entered, left or changed; None: nothing did."""
    old, new = before.company.socios, after.company.socios
    if old == new or "socios" in before.unknown | after.unknown:
        return None
    left, entered, pairs = _matched(old, new)
    altered = [
        {"nome": now.nome, "cnpj": _cnpj(now), "de": _standing(then), "para": _standing(now)}
        for then, now in pairs
        if parts_differ(partner_parts(then), partner_parts(now))
    ]
    if not (left or entered or altered):
        return None
    return {
        "entraram": [_partner(each) for each in entered],
        "sairam": [_partner(each) for each in left],
        "alterados": altered,
    }


def _matched(
    before: Sequence[Partner], after: Sequence[Partner]
) -> tuple[list[Partner], list[Partner], list[tuple[Partner, Partner]]]:
    """Return partners that left, that entered, and pairs of those that stayed."""
    pairs: list[tuple[Partner, Partner]] = []
    left, entered = list(before), list(after)
    # The same in all parts first: a partner may be listed twice, with two qualifications. Sources
    # that do not publish documents of persons leave the name alone.
    for same in (
        lambda each: (partner_key(each), partner_parts(each)),
        partner_key,
    ):
        waiting: dict[object, list[Partner]] = defaultdict(list)
        for each in left:
            waiting[same(each)].append(each)
        remaining = []
        for each in entered:
            if found := waiting.get(same(each)):
                pairs.append((found.pop(0), each))
            else:
                remaining.append(each)
        left, entered = [each for found in waiting.values() for each in found], remaining
    return (*_matched_by_name(left, entered, pairs), pairs)


def _matched_by_name(
    left: list[Partner], entered: list[Partner], pairs: list[tuple[Partner, Partner]]
) -> tuple[list[Partner], list[Partner]]:
    """Pair partners of one name where a side has no document. Return the others."""
    remaining = []
    for each in entered:
        name, document = partner_key(each)
        for other in left:
            other_name, other_document = partner_key(other)
            if name == other_name and (document is None or other_document is None):
                pairs.append((other, each))
                left.remove(other)
                break
        else:
            remaining.append(each)
    return left, remaining


def _cnpj(partner: Partner) -> str | None:
    """Return a partner's CNPJ; no part of a CPF is ever in an event."""
    document = (partner.cpf_cnpj_socio or "").strip().upper()
    return document if _CNPJ.fullmatch(document) else None


def _partner(partner: Partner) -> Mapping[str, object]:
    return {
        "nome": partner.nome,
        "cnpj": _cnpj(partner),
        "qualificacao": partner.qualificacao_socio,
        "desde": canonical_day(partner.data_entrada_sociedade),
    }


def _standing(partner: Partner) -> Mapping[str, object]:
    return {
        "qualificacao": partner.qualificacao_socio,
        "desde": canonical_day(partner.data_entrada_sociedade),
        "pais": partner.pais,
        "representante": partner.nome_representante_legal,
    }
