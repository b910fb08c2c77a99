"""Events in words: title, tone, one line for messages, and differences. Portuguese.

Pages and e-mails use the same texts. The line has no personal data.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from balcao.core.errors import errors_by_code
from balcao.core.event_titles import TITLES, TONES
from balcao.core.notices import Tone
from balcao.core.papers import NOT_ISSUED
from balcao.core.renewals import AFTER_THE_END
from balcao.core.writing import NOTHING, cep, counted, credits, day, decimal, phone, whole
from balcao.core.writing import cnpj as written_cnpj

# Sent at once with any data.
URGENT_KINDS: Final = frozenset({"certidao.positiva", "carteira.parada", "webhook.desligado"})
_PAPERS: Final[Mapping[str, str]] = {
    "certidao_federal": "certidão federal",
    "certidao_estadual": "certidão estadual",
    "certidao_trabalhista": "certidão trabalhista",
    "regularidade_fgts": "regularidade do FGTS",
    "outra": "certidão",
}
_STOPS: Final[Mapping[str, str]] = {
    "teto": "o limite de gasto do mês foi atingido",
    "saldo": "o saldo da conta acabou",
    "chave": "a chave que autorizava as compras foi revogada",
    "fonte": "a fonte não responde",
}
_OFF: Final[Mapping[str, str]] = {
    "http_410": "o endereço respondeu que não quer mais eventos (410)",
    "sem_sucesso": "nenhuma entrega teve sucesso em 5 dias",
}
_FIELDS: Final[Mapping[str, str]] = {
    "telefone": "Telefone",
    "endereco_eletronico": "E-mail",
}
_HIDDEN = "Os valores não são mostrados: é uma pessoa."


class Difference(NamedTuple):
    """A field before and after; None: there was or is nothing."""

    label: str
    before: str | None
    after: str | None


class EventText(NamedTuple):
    """An event in words."""

    title: str
    tone: Tone
    line: str  # a sentence without its end, for messages: no personal data
    differences: Sequence[Difference] = ()
    note: str = ""
    grave: bool = False


def is_grave(kind: str, data: Mapping[str, Any]) -> bool:
    """Return whether people are notified at once (contract 20.9)."""
    return kind in URGENT_KINDS or data.get("grave") is True


def event_text(kind: str, data: Mapping[str, Any]) -> EventText:
    """Return an event in words. Unknown kinds and missing members are no errors."""
    title = TITLES.get(kind, kind)
    if data.get("apagado") is True:
        return EventText(title, "neutral", title, note="Os dados deste evento foram apagados.")
    grave = is_grave(kind, data)
    tone: Tone = "bad" if grave else TONES.get(kind, "info")
    if kind.startswith("certidao."):
        title, line, note = _about_paper(kind, title, data)
        return EventText(title, tone, line, note=note, grave=grave)
    if (account := _OF_ACCOUNTS.get(kind)) is not None:
        note = account(data)
        return EventText(title, tone, f"{title}: {note}", note=note, grave=grave)
    differences = tuple(_differences(kind, data))
    line, note = _line(kind, title, data, differences), _note(kind, data, differences)
    if kind == "inscricao.situacao":
        title = f"{title} {data.get('uf') or ''}".strip()
    return EventText(title, tone, line, differences, note, grave)


def _line(kind: str, title: str, data: Mapping[str, Any], differences: Sequence[Difference]) -> str:
    """Return one line. Values are only those of fields that name no person and no place."""
    if kind == "empresa.socios":
        parts = (
            ("entraram", "entrou", "entraram"),
            ("sairam", "saiu", "saíram"),
            ("alterados", "alterado", "alterados"),
        )
        counts = [
            counted(len(found), one, many)
            for name, one, many in parts
            if (found := data.get(name) or ())
        ]
        return f"Sócios: {', '.join(counts)}" if counts else title
    if kind == "empresa.filial":
        opened, closed = len(data.get("abertas") or ()), len(data.get("baixadas") or ())
        counts = [
            *([counted(opened, "aberta", "abertas")] if opened else ()),
            *([counted(closed, "baixada", "baixadas")] if closed else ()),
        ]
        return f"Filiais: {', '.join(counts)}" if counts else title
    if kind == "inscricao.situacao":
        title = f"{title} {data.get('uf') or ''}".strip()
        return f"{title}: nova situação"
    if kind in _WITH_VALUES and len(differences) >= 1:
        first = differences[0]
        return f"{title}: {first.before or NOTHING} → {first.after or NOTHING}"
    return title if kind in {"empresa.sumiu", "empresa.apareceu"} else f"{title}: mudou"


_WITH_VALUES: Final = frozenset(
    {
        "empresa.situacao",
        "empresa.nome",
        "empresa.nome_fantasia",
        "empresa.porte",
        "empresa.natureza",
        "empresa.capital",
        "empresa.simples",
        "empresa.mei",
        "suframa.situacao",
    }
)


def _differences(kind: str, data: Mapping[str, Any]) -> Iterator[Difference]:
    before, after = data.get("de"), data.get("para")
    match kind:
        case "empresa.situacao":
            if before != after:
                yield Difference("Situação", _text(before), _text(after))
            special = data.get("situacao_especial")
            if isinstance(special, Mapping):
                yield Difference(
                    "Situação especial", _text(special.get("de")), _text(special.get("para"))
                )
        case "empresa.socios":
            yield from _partners(data)
        case "empresa.filial":
            for document in data.get("abertas") or ():
                yield Difference("Aberta", None, written_cnpj(document))
            for document in data.get("baixadas") or ():
                yield Difference("Baixada", written_cnpj(document), None)
        case "empresa.endereco" if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield Difference("Endereço", address_text(before), address_text(after))
        case "empresa.atividade" if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _activities(before, after)
        case "empresa.capital":
            yield Difference("Capital", _money(before), _money(after))
        case "empresa.simples" | "empresa.mei":
            yield Difference("Optante", _option(before), _option(after))
        case "inscricao.situacao":
            yield from _fields(before, after, _REGISTRATION)
        case "empresa.contato":
            yield from _fields(before, after, _FIELDS)
        case "empresa.sumiu" | "empresa.apareceu":
            return
        case _:
            if before is not None or after is not None:
                label = TITLES.get(kind, "Valor")
                yield Difference(label, _text(before), _text(after))


_REGISTRATION: Final[Mapping[str, str]] = {
    "ativa": "Ativa",
    "situacao_pj": "Situação",
    "tipo_ie": "Tipo",
}


def _fields(before: Any, after: Any, labels: Mapping[str, str]) -> Iterator[Difference]:
    """Yield the fields of two objects that differ."""
    old = before if isinstance(before, Mapping) else {}
    new = after if isinstance(after, Mapping) else {}
    for name, label in labels.items():
        if old.get(name) != new.get(name):
            write = phone if name == "telefone" else _text
            yield Difference(label, _or_none(write, old.get(name)), _or_none(write, new.get(name)))


def _partners(data: Mapping[str, Any]) -> Iterator[Difference]:
    for each in data.get("entraram") or ():
        yield Difference("Entrou", None, _partner(each))
    for each in data.get("sairam") or ():
        yield Difference("Saiu", _partner(each), None)
    for each in data.get("alterados") or ():
        before, after = each.get("de") or {}, each.get("para") or {}
        for name, label in _OF_PARTNERS.items():
            if before.get(name) != after.get(name):
                write = day if name == "desde" else _text
                yield Difference(
                    f"{each.get('nome') or 'Sócio'}: {label}",
                    _or_none(write, before.get(name)),
                    _or_none(write, after.get(name)),
                )


_OF_PARTNERS: Final[Mapping[str, str]] = {
    "qualificacao": "qualificação",
    "desde": "entrada",
    "pais": "país",
    "representante": "representante",
}


def _partner(each: Mapping[str, Any]) -> str:
    parts = [str(each.get("nome") or "Sócio")]
    if each.get("cnpj"):
        parts.append(written_cnpj(each["cnpj"]))
    if each.get("qualificacao"):
        parts.append(str(each["qualificacao"]))
    return ", ".join(parts)


def _activities(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    main, others = "atividade_economica_principal", "atividades_economicas_secundarias"
    if _text(before.get(main)) != _text(after.get(main)):
        yield Difference("Principal", _text(before.get(main)), _text(after.get(main)))
    old = {each.get("codigo"): each for each in before.get(others) or ()}
    new = {each.get("codigo"): each for each in after.get(others) or ()}
    for code in old.keys() - new.keys():
        yield Difference("Secundária retirada", _text(old[code]), None)
    for code in new.keys() - old.keys():
        yield Difference("Secundária incluída", None, _text(new[code]))


def address_text(of: Mapping[str, Any]) -> str:
    """Return an address of the registry in one line."""
    street = " ".join(str(of[name]) for name in ("tipo_logradouro", "logradouro") if of.get(name))
    number = [str(of[name]) for name in ("numero", "complemento", "bairro") if of.get(name)]
    city = "/".join(str(of[name]) for name in ("municipio", "uf") if of.get(name))
    parts = [street, *number, f"CEP {cep(of['cep'])}" if of.get("cep") else "", city]
    return ", ".join(part for part in parts if part) or NOTHING


def _note(kind: str, data: Mapping[str, Any], differences: Sequence[Difference]) -> str:
    notes = []
    reason = data.get("motivo")
    if isinstance(reason, Mapping) and reason.get("codigo") not in {None, "00"}:
        notes.append(f"Motivo: {_text(reason)}")
    since = data.get("data_situacao") or data.get("desde")
    if since:
        notes.append(f"desde {day(since)}" if notes else f"Desde {day(since)}")
    if data.get("pessoa") is True and kind in _OF_PERSONS:
        return _HIDDEN
    return ", ".join(notes)


_OF_PERSONS: Final = frozenset(
    {"empresa.nome", "empresa.nome_fantasia", "empresa.endereco", "empresa.contato"}
)


def _about_paper(kind: str, title: str, data: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return title, line and note of an event about a certificate."""
    paper = data.get("papel") or {}
    name = paper.get("nome") or _PAPERS.get(str(paper.get("tipo")), "certidão")
    uf = f" {paper['uf']}" if paper.get("uf") else ""
    notes = []
    if kind == "certidao.nao_renovada" and (reason := _failure(data.get("motivo"))):
        notes.append(reason)
    if data.get("valida_ate"):
        until = "venceu em" if kind == "certidao.vencida" else "válida até"
        notes.append(f"{until} {day(data['valida_ate'])}")
    if kind == "certidao.a_vencer" and data.get("dias") is not None:
        left = int(data["dias"])
        notes.append(f"{'falta' if left == 1 else 'faltam'} {counted(left, 'dia', 'dias')}")
    if data.get("ato"):
        notes.append(f"ato: {data['ato']}")
    if data.get("proxima_em"):
        notes.append(f"próxima tentativa em {day(data['proxima_em'])}")
    note = ", ".join(notes)
    titled = f"{title}: {name}{uf}"
    return titled, f"{titled}, {note}" if note else titled, note[:1].upper() + note[1:]


def _failure(reason: Any) -> str | None:
    """Return why a certificate was not renewed; None: the reason has no words."""
    if reason == AFTER_THE_END:
        return "a fonte só emite outra depois do vencimento"
    if reason == NOT_ISSUED:
        return "a fonte não emitiu a certidão"
    known = errors_by_code().get(str(reason))
    return None if known is None else known.short[:1].lower() + known.short[1:]


def _compared(data: Mapping[str, Any]) -> str:
    month = _month(data.get("competencia"))
    parts = [f"{month}, {counted(data.get('comparados'), 'item comparado', 'itens comparados')}"]
    changed = data.get("com_mudanca")
    parts.append(f"{whole(changed)} com mudança" if changed else "nenhuma mudança")
    if data.get("nao_verificados"):
        parts.append(counted(data["nao_verificados"], "não verificado", "não verificados"))
    return ", ".join(parts)


def _stopped(data: Mapping[str, Any]) -> str:
    reason = _STOPS.get(str(data.get("motivo")), "")
    reached = counted(data.get("atingidos") or 0, "item espera", "itens esperam")
    return f"{reason}; {reached}" if reason else reached


_OF_ACCOUNTS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "carteira.comparada": _compared,
    "carteira.parada": _stopped,
    "carteira.retomada": lambda data: "as consultas agendadas continuam",
    "carteira.relogio": lambda data: f"agora em {day(data.get('agora'))}",
    "lote.cotado": lambda data: "aguarda confirmação",
    "lote.pausado": lambda data: "aguarda uma decisão",
    "lote.concluido": lambda data: credits(data.get("creditos_gastos")) + " gastos",
    "teto.aviso": lambda data: f"{whole(data.get('usado'))} de {whole(data.get('teto'))} usados",
    "teto.atingido": lambda data: f"{whole(data.get('usado'))} de {whole(data.get('teto'))} usados",
    "saldo.baixo": lambda data: f"{credits(data.get('saldo'))} disponíveis",
    "chave.vence": lambda data: f"“{data.get('chave')}” vale até {day(data.get('vence_em'))}",
    "webhook.falhando": lambda data: f"nenhuma entrega desde {day(data.get('desde'))}",
    "webhook.desligado": lambda data: _OFF.get(str(data.get("motivo")), "não recebe mais eventos"),
    "webhook.esgotado": lambda data: "as tentativas de entregar um evento acabaram",
    "base.trocada": lambda data: f"{_month(data.get('competencia'))} em uso",
}


def _month(text: Any) -> str:
    year, _, month = str(text or "").partition("-")
    return f"{month}/{year}" if month else NOTHING


def _text(value: Any) -> str | None:
    """Return a value as pages show it; a coded one by its description."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "sim" if value else "não"
    if isinstance(value, Mapping):
        described, code = value.get("descricao"), value.get("codigo")
        return str(described or code) if described or code else None
    return str(value)


def _or_none(write: Callable[[Any], str | None], value: Any) -> str | None:
    return None if value is None or value == "" else write(value)


def _money(value: Any) -> str | None:
    return None if value is None else f"R$ {decimal(float(value), 2)}"


def _option(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return "não"
    if value.get("optante") is None:
        return None
    since, until = value.get("desde"), value.get("ate")
    if value["optante"]:
        return f"sim, desde {day(since)}" if since else "sim"
    return f"não, até {day(until)}" if until else "não"
