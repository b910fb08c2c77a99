"""Certificates entered by hand: what is valid in them (contract 20.5)."""

from datetime import date
from typing import Final

from balcao.core.errors import InvalidParameter
from balcao.core.request_tags import reject_cpf

NAME_CHARACTERS_MAX: Final = 80
NOTE_CHARACTERS_MAX: Final = 500
PER_ITEM_MAX: Final = 50
# Calendars and spreadsheets cannot write earlier days, which are slips of a key.
FIRST_LAST_DAY: Final = "1900-01-01"


def checked_name(text: str) -> str:
    """Return a name without blanks around it. Raises `InvalidParameter`, `TagWithCpf`."""
    name = text.strip()
    if not name or len(name) > NAME_CHARACTERS_MAX or not name.isprintable():
        raise InvalidParameter(f"nome: de 1 a {NAME_CHARACTERS_MAX} caracteres, em uma linha.")
    reject_cpf(name, "nome")
    return name


def checked_note(text: str | None) -> str | None:
    """Return a note; None: there is none. Raises `InvalidParameter`, `TagWithCpf`."""
    note = (text or "").strip()
    if len(note) > NOTE_CHARACTERS_MAX or not note.replace("\n", " ").isprintable():
        raise InvalidParameter(f"nota: até {NOTE_CHARACTERS_MAX} caracteres.")
    reject_cpf(note, "nota")
    return note or None


def checked_day(text: str, field: str) -> str:
    """Return a day `YYYY-MM-DD`. Raises `InvalidParameter`."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise InvalidParameter(f"{field}: um dia, como 2026-08-31.")
    return text


def checked_last_day(text: str) -> str:
    """Return the last day of a certificate. Raises `InvalidParameter`."""
    if checked_day(text, "valida_ate") < FIRST_LAST_DAY:
        raise InvalidParameter(f"valida_ate: um dia a partir de {FIRST_LAST_DAY}.")
    return text
