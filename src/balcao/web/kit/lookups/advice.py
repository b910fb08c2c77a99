"""Advice, with links, on a text in a document field that is not a valid document of its kind.

The page contains the same sentences for its script, which shows them before anything is sent. No
link contains a CPF.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlencode

from markupsafe import Markup

from balcao.core.documents import Cnpj
from balcao.core.recognition import Kind, document_of, recognise
from balcao.web.kit.lookups.forms import DOCUMENTS, FORMS, LookupForm, addressable

Field: TypeAlias = Literal["cnpj", "cpf"]

# The count and the form's address. The button sends the field's text.
_SEVERAL = Markup(
    "Há <b>{}</b> documentos aqui, e cada consulta usa um só. Deixe um ou"
    ' <button class="button plain small" formaction="/app/lotes/colar?operacao={}">crie um lote com'
    " todos</button>"
)
WORDS: Mapping[Field, str] = {
    "cnpj": "Informe um CNPJ com 14 caracteres: 00.000.000/0000-00. Esta consulta não aceita"
    " nomes.",
    "cpf": "Informe um CPF com 11 dígitos: 000.000.000-00. Esta consulta não aceita nomes.",
}
_DIGITS = "Os dígitos verificadores deste {} não conferem."
_LENGTH: Mapping[Field, str] = {
    "cnpj": "O CNPJ tem 14 caracteres; aqui há {}.",
    "cpf": "O CPF tem 11 dígitos; aqui há {}.",
}
_OTHERS: Mapping[Kind, str] = {
    "root": "Esta é a raiz de um CNPJ, os 8 primeiros caracteres. Digite o número completo.",
    "cut": "A planilha cortou este número e os últimos dígitos se perderam.",
    "ambiguous": "Faltam zeros à esquerda. Digite o número completo.",
}
# The completed number is confirmed by a click, as the lookup may cost something.
_WITH_ZEROS = Markup(
    'Faltam zeros à esquerda. <a class="button plain small" href="/app/consultas/{}?{}">É {}?</a>'
)
_REQUEST = Markup(
    'Este é o número de uma consulta, não um documento. <a href="/app/historico/{}">Ver essa'
    " consulta</a>"
)
_LINK = Markup('<a href="/app/consultas/{}">{}</a>')


def advice(form: LookupForm, field: Field, typed: Mapping[str, str]) -> str | None:
    """Explain why a text is not the document of this field; None: it is empty."""
    text = typed[field]
    seen = recognise(text)
    name = field.upper()
    match seen.kind:
        case "nothing":
            return None
        case "several":
            return several(form, seen.count)
        case "request":
            return _REQUEST.format(text.strip().lower())
        case "words":
            return WORDS[field]
        case "cnpj" | "cpf" if seen.kind != field:
            return other_kind(form, field)
        case "cnpj":  # leading zeros are missing
            meant = document_of(text)
            assert isinstance(meant, Cnpj)
            query = urlencode({**addressable(typed), "cnpj": meant.text})
            return _WITH_ZEROS.format(form.slug, query, meant.punctuated)
        case "cpf":
            return _OTHERS["ambiguous"]
        case "root" | "cut" | "ambiguous":
            return _OTHERS[seen.kind]
        case "digits" if seen.count == (14 if field == "cnpj" else 11):
            return _DIGITS.format(name)
        case _:
            return _LENGTH[field].format(seen.count)


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences that the script of a form's page shows before anything is sent."""

    several: Markup
    words: Mapping[Field, str]
    other_kind: Mapping[Field, Markup]


def sentences(form: LookupForm) -> Sentences:
    """Return the sentences of this form."""
    return Sentences(several(form), WORDS, {field: other_kind(form, field) for field in DOCUMENTS})


def several(form: LookupForm, count: int | None = None) -> Markup:
    """Return advice for several documents in the field; None: the script fills in the count."""
    return _SEVERAL.format("" if count is None else count, form.slug)


def other_kind(form: LookupForm, field: Field) -> Markup:
    """Return advice for a CPF in a CNPJ field or the reverse, with links to fitting lookups."""
    other = "CPF" if field == "cnpj" else "CNPJ"
    if "quem" in form.fields:
        choice = "Pessoa (CPF)" if field == "cnpj" else "Empresa (CNPJ)"
        return Markup("Este é um {}. Escolha acima “{}” e digite o número lá.").format(
            other, choice
        )
    if field == "cnpj":
        places = [
            (f"{slug}?quem=cpf", slug) for slug, each in FORMS.items() if "quem" in each.fields
        ]
        places.append(("produtor-rural",) * 2)
    else:
        places = [("empresa",) * 2, ("inscricoes-estaduais",) * 2]
    links = [_LINK.format(address, FORMS[slug].title) for address, slug in places]
    return Markup("Este é um {}, e esta consulta usa {}. Consultas por {}: {}.").format(
        other, field.upper(), other, Markup(", ").join(links)
    )
