"""`/app/operador/prorrogacoes`: acts of law that extend the validity of certificates.

Contract 4.12. The sources' answers stay unchanged: results show the act and its day separately.
"""

import datetime
from typing import Annotated

from pydantic import BeforeValidator, Field
from starlette.responses import Response

from balcao.core.extensions import DAYS_MAX, OF_NO_STATE, STATE, Extension, problem_of
from balcao.core.federation import UFS
from balcao.web.kit import filters
from balcao.web.kit.account_pages import done
from balcao.web.kit.context import PageContext
from balcao.web.kit.typed import TypedForm, read, whole_number
from balcao.web.pages.operator.forms import once

_PATH = "/app/operador/prorrogacoes"
_CHOICES = (
    ("federal", "Federal (Receita Federal e PGFN)"),
    ("trabalhista", "Trabalhista (CNDT)"),
    ("fgts", "Regularidade do FGTS (CRF)"),
    *((uf, f"Estadual, {uf}") for uf in UFS),
)
_DONE = {
    "incluida": "Prorrogação incluída. Ela já aparece ao lado da validade informada pela fonte.",
    "removida": "Prorrogação removida.",
    "ja": "Este formulário já tinha sido enviado. Nada foi feito de novo.",
    "nenhuma": "A prorrogação não estava mais na lista.",
}


def _day(text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("Escolha um dia.") from None


def _day_or_none(text: str) -> str | None:
    return _day(text) if text else None


def _days_or_none(text: str) -> int | None:
    if not text:
        return None
    number = whole_number(text)
    if number is None or not 1 <= number <= DAYS_MAX:
        raise ValueError(f"Informe um número de 1 a {DAYS_MAX}.")
    return number


def _of(text: str) -> str:
    if text not in OF_NO_STATE and text not in UFS:
        raise ValueError("Escolha a certidão.")
    return text


class ExtensionForm(TypedForm):
    """The form for a legal act that extends the validity of certificates."""

    of: Annotated[str, BeforeValidator(_of)] = Field(alias="certidao")
    issued_from: Annotated[str, BeforeValidator(_day)] = Field(alias="emitidas_de")
    issued_to: Annotated[str, BeforeValidator(_day)] = Field(alias="emitidas_ate")
    until_day: Annotated[str | None, BeforeValidator(_day_or_none)] = Field(alias="ate")
    days: Annotated[int | None, BeforeValidator(_days_or_none)] = Field(alias="dias")
    act: str = Field(alias="ato")

    @property
    def extension(self) -> Extension:
        subject = OF_NO_STATE.get(self.of)
        return Extension(
            subject or STATE,
            None if subject else self.of,
            self.issued_from,
            self.issued_to,
            self.until_day,
            self.days,
            self.act,
        )


async def show(context: PageContext) -> Response:
    """Show the table, and the form for a new act."""
    return _shown(context)


def _shown(context: PageContext, status: int = 200, **values: object) -> Response:
    return context.page(
        "operador/prorrogacoes.html",
        status,
        extensions=context.desk.extensions.all(),
        choices=_CHOICES,
        path=_PATH,
        **{"message": _DONE.get(context.query("feito")), **values},
    )


async def add(context: PageContext) -> Response:
    """Add an act."""
    signed, typed = once(context), read(ExtensionForm, context.form)
    if not isinstance(typed, ExtensionForm):
        return _shown(context, 422, complaints=typed)
    if (problem := problem_of(typed.extension)) is not None:
        return _shown(context, 422, alert=f"{problem[:1].upper()}{problem[1:]}.")
    write = context.desk.extensions.add(typed.extension, signed, context.now_ms())
    return context.redirect(_PATH, feito=await done(write, "incluida"))


async def remove(context: PageContext) -> Response:
    """Remove an act; the audit log keeps its content."""
    signed, number = once(context), context.request.path_params["number"]
    if not filters.is_number(number):
        return context.redirect(_PATH, feito="nenhuma")
    write = context.desk.extensions.remove(int(number), signed, context.now_ms())
    try:
        return context.redirect(_PATH, feito=await done(write, "removida"))
    except LookupError:
        return context.redirect(_PATH, feito="nenhuma")
