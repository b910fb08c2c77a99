"""The English documentation: complete, up to date, and linked with the Portuguese one."""

import re

import pytest
from tools import translations

from balcao.http import documentation as openapi
from balcao.web.pages.docs import guides, synonyms
from balcao.web.pages.docs.contents import build
from balcao.web.pages.docs.language import english, other_address
from balcao.web.pages.docs.navigation import find
from tests.service import Service
from tests.web.browser import Browser, signed_in

_CODE = re.compile(r"`([A-Z][A-Z0-9_]{3,})`")


def test_nothing_is_missing_or_outdated() -> None:
    """A failure is repaired with `python -m tools.translations`."""
    assert not list(translations.complaints())


def test_a_changed_source_is_named() -> None:
    now = {"a": "1", "b": "2", "c": "3"}
    then = {"a": "1", "b": "0", "d": "4"}
    found = list(translations.differences(now, then))
    assert [line.partition(":")[0] for line in found] == ["b", "c", "d"]
    assert translations.digest("um  texto\n") == translations.digest("um texto")
    assert translations.digest("um texto") != translations.digest("um texto.")


def test_guides_have_the_same_codes_and_tables() -> None:
    document = openapi.document("1")
    for name, source in guides.sources(document).items():
        text = translations.RECORDS.parent.joinpath("guides", f"{name}.md").read_text("utf-8")
        assert set(_CODE.findall(text)) == set(_CODE.findall(source)), name
        for mark in ("\n|", "\n## ", "\n- "):
            assert text.count(mark) == source.count(mark), f"{name}: {mark!r}"


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ("/docs", "/docs/en"),
        ("/docs/en", "/docs"),
        ("/docs/erros/CPF_INVALIDO", "/docs/en/erros/CPF_INVALIDO"),
        ("/docs/en/erros/CPF_INVALIDO", "/docs/erros/CPF_INVALIDO"),
    ],
)
def test_the_other_language(path: str, other: str) -> None:
    assert other_address(path) == other


def test_pages_of_both_languages_name_each_other(house: Service) -> None:
    stranger, address = Browser(house), house.settings.address
    for path in ("/docs", "/docs/sandbox", "/docs/guias/lotes", "/docs/operacoes/criar-lote"):
        pages = {path: "pt-BR", other_address(path): "en"}
        for here, tag in pages.items():
            tree = stranger.get(here).tree
            assert tree.xpath("string(/html/@lang)") == tag
            links = tree.xpath("//link[@rel='alternate']")
            given = {each.get("href"): each.get("hreflang") for each in links}
            assert given == {f"{address}{each}": of for each, of in pages.items()}
            (other,) = tree.xpath("//a[@class='other']/@href")
            assert other == other_address(here)


def test_english_pages_lead_to_english_pages(house: Service) -> None:
    """Only the switch, and the note of an untranslated page, lead to Portuguese ones."""
    stranger = Browser(house)
    for path in ("", "/erros", "/erros/LIMITE_EXCEDIDO", "/guias/certidoes", "/operacoes/sintegra"):
        here = f"/docs/en{path}"
        tree = stranger.get(here).tree
        for link in tree.xpath("//a[starts-with(@href, '/docs')][not(@hreflang)]/@href"):
            assert link.startswith("/docs/en"), f"{here}: {link}"
    untranslated = stranger.get("/docs/en/operacoes/criar-lote")
    assert "only in Portuguese" in untranslated.words
    assert untranslated.tree.xpath("//main//*[@lang='pt-BR']//dl")


def test_an_english_search() -> None:
    indexed = build(openapi.document("1"), "https://balcao.test", english()).indexed
    for word, others in synonyms.ENGLISH.items():
        assert find(indexed, word, synonyms.ENGLISH), word
        for other in others:
            assert find(indexed, other, {}), f"{word}: {other}"
    assert find(indexed, "timeout", synonyms.ENGLISH)[0].leaf.href.startswith("/docs/en/")
    assert find(indexed, "certificates", {})[0].leaf.href == "/docs/en/guias/certidoes"


def test_an_answer_is_shown_in_the_language_of_its_form(house: Service) -> None:
    asked = signed_in(house)
    form = asked.get("/docs/en/operacoes/suframa")
    sent = {name: form.field(name) for name in ("form_id", "documentacao")}
    response = asked.post("/app/consultas/suframa", {**sent, "cnpj": "90010002000154"})
    assert response.location.startswith("/docs/en/operacoes/suframa?resposta=")
    assert "Credits charged: 1." in asked.get(response.location.partition("#")[0]).words
    elsewhere = {**sent, "form_id": "outro-formulario", "documentacao": "//example.com"}
    response = asked.post("/app/consultas/suframa", {**elsewhere, "cnpj": "90010002000154"})
    assert response.location.startswith("/app/consultas/resultado/")
