"""`/app/carteira/incluir`: one subject, or the form of a list (see `lists`)."""

from collections.abc import Mapping

from starlette.responses import Response

from balcao.core.errors import CallerError
from balcao.lookup.wallet import ItemLine
from balcao.web.kit.context import PageContext
from balcao.web.pages.portfolio.terms import (
    ALL_CHOICES,
    LIST_CHOICES,
    USUALLY,
    complaint_about,
    is_person,
    of_subject,
    stated_request,
)
from balcao.web.pages.portfolio.views import item_path

# Of a file; `lists` reads them.
COLUMNS: Mapping[str, str] = {
    "documento": "Documento",
    "ref": "Referência",
    "cliente": "Cliente",
}


async def show(context: PageContext) -> Response:
    """Show the forms; `?documento=` fills in a company."""
    document = context.query("documento")
    return form_page(context, {"documento": "" if is_person(document) else document, **USUALLY})


async def add(context: PageContext) -> Response:
    """Add one subject and show its item."""
    document = context.typed("documento")
    request, complaints = stated_request(of_subject(context.form, document))
    if not document:
        complaints["documento"] = "Informe um CNPJ, uma raiz de CNPJ ou um CPF."
    if complaints:
        return form_page(context, context.form, complaints)
    birth = context.typed("nascimento").replace("-", "") or None
    try:
        line = ItemLine(document, request, birth)
        added = await context.tools.wallet.add(context.person.caller(), line)
    except CallerError as error:
        return form_page(context, context.form, complaint_about(error))
    done = "incluido" if added.new else "ja"
    return context.redirect(item_path(added.item.item_id), feito=done)


def form_page(
    context: PageContext,
    typed: Mapping[str, str],
    complaints: Mapping[str, str] | None = None,
    *,
    list_complaints: Mapping[str, str] | None = None,
) -> Response:
    """Return the page with both forms."""
    wrong = bool(complaints or list_complaints)
    return context.page(
        "carteira_incluir.html",
        422 if wrong else 200,
        typed=typed,
        complaints=complaints or {},
        list_complaints=list_complaints or {},
        choices=ALL_CHOICES,
        list_choices=LIST_CHOICES,
        columns=COLUMNS,
        alert=(complaints or {}).get("") or (list_complaints or {}).get(""),
    )
