"""Parts shared by the result pages of certificates."""

import datetime
from collections.abc import Callable, Sequence

from balcao.core.calendar import civil_day, civil_day_text, day_starts_ms
from balcao.core.certificates import SHORT_CACHE_MS
from balcao.core.extensions import Extended
from balcao.core.writing import credits, day, instant, left
from balcao.operations.certificates.lookup import PRICES
from balcao.operations.sheets import SheetFact
from balcao.operations.views import REGISTER_FIGURES, Body, Fact, FormWords, Headline


def form(slug: str, title: str, answers: str) -> FormWords:
    """Return the texts of a certificate's form; prices are the same."""
    return FormWords(
        slug,
        title,
        answers,
        "1 crédito com certidão guardada, 2 na fonte",
        "Uma certidão guardada e válida custa 1 crédito. Uma consulta à fonte custa 2. Falhas não"
        " são cobradas.",
    )


def keeping(until: str | None, is_over: bool | None) -> Sequence[Fact]:
    """Return the fact on how long the cached result is available at a lower price, if it is."""
    kept, online = (credits(PRICES[path]) for path in ("cache", "online"))
    if until is None:
        return (("Guardada", f"Não fica guardada. A próxima consulta custa {online}"),)
    if is_over:
        return (("Guardada", f"Não está mais guardada. A próxima consulta custa {online}"),)
    return (("Guardada até", f"{until}. Até lá, uma nova consulta custa {kept}"),)


def keeping_of(body: Body, asked_ms: int | None, now_ms: int) -> Sequence[Fact]:
    """Return the fact until when the result is cached; a negative one for an hour of its day."""
    until = body["valid_until"]
    if body["success"]:
        return keeping(day(until) if until else None, until and civil_day_text(now_ms) > until)
    if asked_ms is None:
        return ()
    tomorrow = civil_day(asked_ms) + datetime.timedelta(days=1)
    until_ms = min(asked_ms + SHORT_CACHE_MS, day_starts_ms(tomorrow))
    at = instant(until_ms).rpartition(" ")[2]  # within the hour, so the time is enough
    return keeping(at, now_ms >= until_ms)


def in_force(text: str, note: str, until: str | None, now_ms: int) -> Headline:
    """Return the headline of a certificate in force, with its last day."""
    if not until:
        return Headline("good", text, note)
    if until[:10] == civil_day_text(now_ms):
        return Headline("warn", text, f"{note} Vence hoje, {day(until)}.".lstrip())
    remaining = left(until, civil_day_text(now_ms))
    return Headline("good", text, f"{note} Válida até {day(until)}: {remaining}.".lstrip())


def expired(until: str | None, later: Extended | None, now_ms: int) -> Headline:
    """Return the headline of an expired certificate. `later`: its extension by an act."""
    if later is not None and civil_day_text(now_ms) <= later.until:
        return Headline(
            "warn",
            "Certidão vencida, prorrogada por ato",
            f"Segundo a fonte, venceu em {day(until)}. Prorrogada até {day(later.until)} por"
            f" {later.act}. Confira o ato antes de usar.",
        )
    return Headline(
        "bad",
        "Certidão vencida",
        f"Venceu em {day(until)} e não serve mais como prova. Consulte de novo.",
    )


def by_act(later: Extended | None) -> Sequence[Fact]:
    """Return the fact with the last day by an act, shown next to the source's own."""
    if later is None:
        return ()
    text = f"{day(later.until)}, por {later.act} (informado pelo operador do serviço)"
    return (("Prorrogada por ato até", text),)


def figures(text: str | None) -> object:
    """Render a number in the style of document numbers."""
    return REGISTER_FIGURES.format(text) if text else None


def moment(text: str | None) -> str | None:
    """Format `YYYY-MM-DD HH:mm:ss`, with or without offset, for people."""
    if not text:
        return None
    try:
        at = datetime.datetime.fromisoformat(text)
    except ValueError:
        return text
    if at.tzinfo is None:  # Brasília's clock already
        return f"{day(at.date())} às {at:%H:%M}"
    return instant(round(at.timestamp() * 1000))


def receipt_number(address: str | None) -> str | None:
    """Return the receipt's number from the address in `print`."""
    return address.rpartition("/")[2] if address else None


def outcome_of(words_of: Callable[[Body], str]) -> Callable[[Body], str | None]:
    """Return the function for the outcome of an answer; None for an error."""
    return lambda body: words_of(body) if body.get("error") is False else None


def outcome_fact(
    words_of: Callable[[Body], str],
    text: str = "`CND`, `CPEND`, `CPD` ou por que não foi emitida.",
) -> SheetFact:
    """Return the column of the outcome in result files."""
    return SheetFact("certidao", "Certidão", text, outcome_of(words_of), width=26)
