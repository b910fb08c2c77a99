"""When messages about a portfolio are due, which events they have, and their texts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from balcao.core.calendar import BRASILIA, to_ms
from balcao.core.digest_texts import LINES_MAX, portfolio_mail
from balcao.core.digests import (
    URGENT_EVERY_MS,
    DueMail,
    MailableEvent,
    MailPosition,
    due_mail,
    first_position,
    is_due,
)
from balcao.core.event_words import event_text
from balcao.core.wallet import Notices

GRAVE = {"de": "ATIVA", "para": "INAPTA", "grave": True}


def at(text: str) -> int:
    """Return an instant of Brasília, `DD HH:MM` of August 2026."""
    return to_ms(datetime.strptime(f"2026-08-{text}", "%Y-%m-%d %H:%M").replace(tzinfo=BRASILIA))


def event(number: int, kind: str = "empresa.nome", **data: object) -> MailableEvent:
    return MailableEvent(number, kind, 0, data, f"item{number}", "90010001000100", "ALFA LTDA")


EVENTS = [event(11), event(12, "empresa.situacao", **GRAVE), event(13, "lote.concluido")]
BEFORE = MailPosition(10, 10, "2026-08-07")


@pytest.mark.parametrize(
    ("when", "notices", "position", "kind", "numbers"),
    [
        # By day, what is grave goes at once; the rest with the digest of the next morning.
        ("07 14:00", Notices(), BEFORE, "urgent", [12]),
        ("08 08:00", Notices(), BEFORE, "digest", [11, 12]),
        ("08 08:00", Notices(), MailPosition(10, 13, "2026-08-07"), "digest", [11]),
        ("15 10:00", Notices(), BEFORE, "digest", [11, 12]),  # a week of downtime
        ("08 07:30", Notices(), BEFORE, "urgent", [12]),
        ("08 09:00", Notices(), MailPosition(13, 13, "2026-08-08"), None, []),
        # Quiet hours, and settings.
        ("07 22:00", Notices(), BEFORE, None, []),
        ("08 06:59", Notices(), BEFORE, None, []),
        ("07 22:00", Notices(imediatos="sempre"), BEFORE, "urgent", [12]),
        ("07 14:00", Notices(imediatos="nao"), BEFORE, None, []),
        ("08 08:00", Notices(resumo_as="18:30"), BEFORE, "urgent", [12]),
        ("08 18:30", Notices(resumo_as="18:30"), BEFORE, "digest", [11, 12]),
        ("08 14:00", Notices(resumo_as=None), BEFORE, "urgent", [12]),
        # Not again at once within a quarter of an hour.
        ("07 14:00", Notices(), MailPosition(10, 10, "2026-08-07", at("07 13:50")), None, []),
        ("07 14:00", Notices(), MailPosition(10, 10, "2026-08-07", at("07 13:45")), "urgent", [12]),
    ],
)
def test_what_is_due(
    when: str, notices: Notices, position: MailPosition, kind: str | None, numbers: list[int]
) -> None:
    events = [each for each in EVENTS if each.number > position.mailed]
    due = due_mail(position, notices, 13, events, at(when))
    if kind is None:
        assert due is None
        return
    assert due is not None
    assert (due.kind, [each.number for each in due.events]) == (kind, numbers)
    # Afterwards the same events are never due at once, nor in the same day's digest.
    after = [each for each in events if each.number > due.position.mailed]
    again = due_mail(due.position, notices, 13, after, at(when) + URGENT_EVERY_MS)
    assert again is None
    assert (due.position.mailed == 13) == (kind == "digest" or notices.resumo_as is None)


def test_a_new_reader_gets_later_events_alone() -> None:
    notices = Notices()
    early, late = (first_position(notices, 13, at(when)) for when in ("07 07:00", "07 09:00"))
    assert [each.mailed for each in (early, late)] == [13, 13]
    assert is_due(early, notices, 13, at("07 08:00"))
    assert not is_due(late, notices, 13, at("07 23:00"))
    assert is_due(late, notices, 13, at("08 08:00"))


def test_a_digest_names_companies_and_no_person() -> None:
    person = MailableEvent(
        14, "inscricao.situacao", 0, {"uf": "SP", "pessoa": True}, "p", None, None, "F-118"
    )
    partners = event(15, "empresa.socios", entraram=[{"nome": "ANA SOUZA"}], sairam=[])
    due = DueMail("digest", [*EVENTS[:2], person, partners], MailPosition(15, 15, "2026-08-08"))
    mail = portfolio_mail("ana", due, "https://b.test", "https://b.test/app/avisos/t")
    assert mail.subject == "Carteira: 4 novidades em 4 itens"
    assert [section.title for section in mail.sections] == ["Precisa de atenção", "Mudanças"]
    (grave,), others = (section.lines for section in mail.sections)
    assert grave.text == "ALFA LTDA · 90.010.001/0001-00"
    assert grave.details == ("Situação cadastral: ATIVA → INAPTA",)
    assert grave.address == "https://b.test/app/carteira/itens/item12"
    assert [line.text for line in others][1] == "Pessoa (ref. F-118)"
    assert others[2].details == ("Sócios: 1 entrou",)
    assert "ANA SOUZA" not in str(mail)


def test_an_act_that_extends_many_certificates_is_one_line() -> None:
    kind = "certidao.prorrogada"
    events = [
        event(number, kind, ato="Portaria 1/2026", papel={"id": f"p{number // 2}"})
        for number in range(200)
    ]
    events.append(event(200, kind, ato="Portaria 2/2026", papel={"id": "other"}))
    mail = portfolio_mail("ana", DueMail("digest", events, BEFORE), "https://b.test", "u")
    (section,) = mail.sections
    many, one = section.lines
    assert many.text == "100 certidões prorrogadas: Portaria 1/2026"
    assert many.address == "https://b.test/app/carteira/certidoes"
    assert one.text.startswith("ALFA LTDA")
    assert "Portaria 2/2026" in one.details[0]


def test_a_long_digest_is_cut() -> None:
    events = [event(number, "empresa.porte", de="A", para="B") for number in range(500)]
    mail = portfolio_mail("ana", DueMail("digest", events, BEFORE), "https://b.test", "u")
    (section,) = mail.sections
    assert len(section.lines) == LINES_MAX + 1
    assert section.lines[-1].text == "e mais 440, na carteira"


CODED = {"codigo": "63", "descricao": "OMISSAO DE DECLARACOES"}


@pytest.mark.parametrize(
    ("kind", "data", "line", "differences"),
    [
        (
            "empresa.situacao",
            {**GRAVE, "motivo": CODED, "data_situacao": "2026-08-01"},
            "Situação cadastral: ATIVA → INAPTA",
            [("Situação", "ATIVA", "INAPTA")],
        ),
        ("empresa.nome", {"pessoa": True, "de": None, "para": None}, "Nome empresarial: mudou", []),
        (
            "empresa.simples",
            {"de": {"optante": True, "desde": "2020-01-01"}, "para": {"optante": False}},
            "Simples Nacional: sim, desde 01/01/2020 → não",
            [("Optante", "sim, desde 01/01/2020", "não")],
        ),
        (
            "empresa.contato",
            {"de": {"telefone": "1133334444"}, "para": {"telefone": None}},
            "Contato: mudou",
            [("Telefone", "(11) 3333-4444", None)],
        ),
        (
            "empresa.filial",
            {"abertas": ["90030006000366"], "baixadas": []},
            "Filiais: 1 aberta",
            [("Aberta", None, "90.030.006/0003-66")],
        ),
        ("empresa.sumiu", {}, "Não consta mais no cadastro", []),
        ("empresa.novidade", {}, "empresa.novidade: mudou", []),
        ("empresa.nome", {"apagado": True}, "Nome empresarial", []),
    ],
)
def test_an_event_in_words(
    kind: str, data: Mapping[str, Any], line: str, differences: list[tuple[str, ...]]
) -> None:
    text = event_text(kind, data)
    assert (text.line, list(text.differences)) == (line, differences)
