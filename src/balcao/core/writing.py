"""Formatting for pages: Brazilian Portuguese, Brasília time, punctuated documents.

All functions are Jinja filters too. They return a dash for None, and a text of an unexpected form
unchanged: they never fail.
"""

import re
from collections.abc import Sequence
from datetime import date

from balcao.core.calendar import from_ms

NOTHING = "—"
MONTHS = (
    "janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro",
    "outubro", "novembro", "dezembro",
)  # fmt: skip

_SECOND_MS = 1000
_MINUTE_MS = 60 * _SECOND_MS
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS

_CNPJ = re.compile(r"(\w{2})(\w{3})(\w{3})(\w{4})(\d{2})", re.ASCII)
_CPF = re.compile(r"(\d{3})(\d{3})(\d{3})(\d{2})", re.ASCII)
_MASKED_CPF = re.compile(r"\*\*\*(\d{3})(\d{3})\*\*", re.ASCII)
_CEP = re.compile(r"(\d{5})(\d{3})", re.ASCII)
_CNAE = re.compile(r"(\d{4})(\d)(\d{2})", re.ASCII)
_PHONE = re.compile(r"(\d{2})(\d{4,5})(\d{4})", re.ASCII)

# Length, singular and plural of each unit. A month is 30 days, a year 365.
_UNITS = (
    (365 * _DAY_MS, "ano", "anos"),
    (30 * _DAY_MS, "mês", "meses"),
    (_DAY_MS, "dia", "dias"),
    (_HOUR_MS, "hora", "horas"),
    (_MINUTE_MS, "minuto", "minutos"),
    (_SECOND_MS, "segundo", "segundos"),
)


def whole(number: int | None) -> str:
    """Format an integer with points between thousands: `1.234`. Negative: with a minus sign."""
    if number is None:
        return NOTHING
    return f"{number:,}".replace(",", ".").replace("-", "−")


def decimal(number: float | None, places: int = 1) -> str:
    """Format a number with a comma and this many decimal places: `1.234,5`."""
    if number is None:
        return NOTHING
    text = f"{number:,.{places}f}"
    return text.translate(str.maketrans(",.-", ".,−"))


def reais(micros: int) -> str:
    """Format an amount in millionths of a real: `R$ 1.234,56`."""
    return f"R$ {decimal(micros / 1_000_000, 2)}"


def counted(number: int | None, one: str, many: str) -> str:
    """Format a number with a noun: `1 dia`, `2 dias`, `1.234 dias`."""
    if number is None:
        return NOTHING
    return f"{whole(number)} {one if abs(number) == 1 else many}"


def credits(number: int | None) -> str:
    """Format credits: `1 crédito`, `2 créditos`, `1.234 créditos`."""
    return counted(number, "crédito", "créditos")


def credits_between(least: int, greatest: int) -> str:
    """Format a range of credits: `1 crédito`, `0 a 27 créditos`."""
    return credits(greatest) if least == greatest else f"{whole(least)} a {credits(greatest)}"


def length(days: int) -> str:
    """Format a period: `5 anos` if it is whole years of 365 days, else `400 dias`."""
    years, over = divmod(days, 365)
    return counted(days, "dia", "dias") if over or not years else counted(years, "ano", "anos")


def day(value: date | str | None) -> str:
    """Format a date, or a text that begins with `YYYY-MM-DD`: `12/11/2026`."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value[:10])
        except ValueError:
            return str(value)
    return f"{value.day:02}/{value.month:02}/{value.year:04}"


def left(until: str, today: str) -> str:
    """Format the days left: `faltam 85 dias`, `vence amanhã`, `vence hoje`, `venceu`.

    Both days are `YYYY-MM-DD`.
    """
    try:
        days = (date.fromisoformat(until[:10]) - date.fromisoformat(today)).days
    except ValueError:
        return ""
    if days < 0:
        return "venceu"
    return ("vence hoje", "vence amanhã")[days] if days < 2 else f"faltam {whole(days)} dias"


def listed(names: Sequence[str]) -> str:
    """Format a list of at least one name: `BA, MG e RS`."""
    *first, last = names
    return f"{', '.join(first)} e {last}" if first else last


def instant(at_ms: int | None) -> str:
    """Format milliseconds since 1970 in Brasília: `12/11/2026 às 14:03`."""
    if at_ms is None:
        return NOTHING
    at = from_ms(at_ms)
    return f"{day(at)} às {at.hour:02}:{at.minute:02}"


def moment(at_ms: int | None) -> str:
    """Format milliseconds since 1970 in Brasília, with seconds: `12/11/2026 às 14:03:27`."""
    return NOTHING if at_ms is None else f"{instant(at_ms)}:{from_ms(at_ms):%S}"


def time_of_day(at_ms: int | None) -> str:
    """Format milliseconds since 1970 as a time of day in Brasília: `14:03:27`."""
    return NOTHING if at_ms is None else f"{from_ms(at_ms):%H:%M:%S}"


def seconds(duration_ms: float | None) -> str:
    """Format a duration in milliseconds: `45 ms`, `1,2 s`, `34 s`, `2 min 5 s`."""
    if duration_ms is None:
        return NOTHING
    if duration_ms < 99.5:
        return f"{duration_ms:.0f} ms"
    if duration_ms < 9_950:
        return f"{decimal(duration_ms / _SECOND_MS)} s"
    minutes, rest = divmod(round(duration_ms / _SECOND_MS), 60)
    if not minutes:
        return f"{rest} s"
    return f"{whole(minutes)} min {rest} s" if rest else f"{whole(minutes)} min"


def percent(share: float | None) -> str:
    """Format a share from 0 to 1: `43%`, `99,9%`. Only exactly 1 is `100%`, only 0 is `0%`."""
    if share is None:
        return NOTHING
    tenths = round(share * 1000)
    if tenths >= 1000 and share < 1:
        tenths = 999
    if tenths <= 0 < share:
        tenths = 1
    return f"{whole(tenths // 10)}%" if tenths % 10 == 0 else f"{decimal(tenths / 10)}%"


def change(now: int, before: int) -> str:
    """Format the change of a whole number: `+8%`, `−12%`, `igual`, or `antes, nada` after 0."""
    if now == before:
        return "igual"
    if before <= 0:
        return "antes, nada"
    share = (now - before) / before
    size = percent(abs(share)) if abs(share) <= 1 else f"{whole(round(abs(share) * 100))}%"
    return f"{'+' if share > 0 else '−'}{size}"


def cnpj(text: str | None) -> str:
    """Punctuate a CNPJ: `12.345.678/0001-95`."""
    return _punctuated(text, _CNPJ, "{}.{}.{}/{}-{}")


def cpf(text: str | None) -> str:
    """Punctuate a CPF: `123.456.789-09`, or `***.456.789-**` if it is masked already."""
    shown = _punctuated(text, _CPF, "{}.{}.{}-{}")
    return _punctuated(shown, _MASKED_CPF, "***.{}.{}-**")


def document(text: str | None) -> str:
    """Punctuate a CNPJ or a CPF."""
    return cnpj(text) if text and len(text) == 14 and "*" not in text else cpf(text)


def cep(text: str | None) -> str:
    """Punctuate a CEP: `01310-100`."""
    return _punctuated(text, _CEP, "{}-{}")


def cnae(text: str | None) -> str:
    """Punctuate a CNAE of seven digits: `6201-5/01`."""
    return _punctuated(text, _CNAE, "{}-{}/{}")


def phone(text: str | None) -> str:
    """Punctuate area code and number, given as digits: `(11) 98765-4321`."""
    return _punctuated(text, _PHONE, "({}) {}-{}")


def _punctuated(text: str | None, form: re.Pattern[str], punctuated: str) -> str:
    if not text:
        return NOTHING
    match = form.fullmatch(text)
    # Not `match.expand`, which parses its template each time: files have millions of these.
    return punctuated.format(*match.groups()) if match else text


def ago(at_ms: int | None, now_ms: int) -> str:
    """Format a time relative to now: `há 3 minutos`, `em 3 minutos`, `agora` within a second."""
    if at_ms is None:
        return NOTHING
    distance = abs(now_ms - at_ms)
    for unit_ms, one, many in _UNITS:
        if distance >= unit_ms:
            when = "há" if at_ms < now_ms else "em"
            return f"{when} {counted(distance // unit_ms, one, many)}"
    return "agora"
