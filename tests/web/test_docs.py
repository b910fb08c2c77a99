"""The documentation: every page is public, and nothing is loaded from other hosts."""

import re
from typing import Any
from urllib.parse import urldefrag, urlencode

import msgspec

from balcao.core.text import unaccented
from balcao.http import documentation as openapi
from balcao.operations import OPERATIONS
from balcao.web.pages.docs import markdown, reference
from balcao.web.pages.docs.contents import build
from balcao.web.pages.docs.language import language_of
from balcao.web.pages.docs.navigation import Leaf, excerpt, find
from balcao.web.pages.docs.synonyms import PORTUGUESE as SYNONYMS
from tests.service import Service
from tests.web.browser import Browser, signed_in


def test_every_link_works(house: Service) -> None:
    """Crawled signed out from the first page: each link, file and anchor of each page."""
    stranger = Browser(house)
    trees = {"/docs": stranger.get("/docs").tree}
    to_read, others = ["/docs"], set()
    while to_read:
        here = to_read.pop()
        tree = trees[here]
        assert tree.xpath("string(//html/@lang)") == language_of(here).tag
        assert len(tree.xpath("//h1")) == 1, here
        assert not tree.xpath("//*[@style] | //style | //script[not(@src)]"), here
        for link in {*tree.xpath("//@href[not(../@rel='alternate')]"), *tree.xpath("//@src")}:
            path, anchor = urldefrag(link)
            path = path or here
            if link.startswith("data:"):
                continue
            assert link.startswith(("/", "#")), f"{here}: {link}"
            assert not link.startswith("//"), f"{here}: {link}"
            if "linguagem=" in path:
                assert path.startswith(f"{here}?"), f"{here}: {link}"
            elif path.partition("?")[0] != path or not path.startswith("/docs"):
                others.add(path)
            elif path not in trees:
                response = stranger.get(path)
                assert response.status == 200, f"{here}: {link}"
                trees[path] = response.tree
                to_read.append(path)
            if anchor and path in trees:
                assert trees[path].xpath("//*[@id=$id]", id=anchor), f"{here}: {link}"
    for path in others:
        assert stranger.get(path).status in (200, 302, 303), path


def test_a_first_visit_is_small(house: Service) -> None:
    """Everything that a new browser loads for an operation's page, compressed; no other host."""
    stranger = Browser(house)
    page = stranger.get("/docs/operacoes/cnpj-receita-federal", accept_encoding="gzip")
    files = {*page.tree.xpath("//link[@rel='stylesheet']/@href"), *page.tree.xpath("//script/@src")}
    assert any("docs-" in file for file in files)
    packed = [page, *(stranger.get(file, accept_encoding="gzip") for file in files)]
    assert sum(int(response.headers["content-length"]) for response in packed) < 45_000
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_words_of_a_page_are_found(house: Service) -> None:
    stranger = Browser(house)

    def found(text: str) -> list[str]:
        tree = stranger.get(f"/docs/busca?q={text}").tree
        return [str(each) for each in tree.xpath("//ul[contains(@class,'docs-found')]//@href")]

    assert found("certidoes")[0] == "/docs/guias/certidoes"
    assert "/docs/operacoes/cnpj-receita-federal" in found("situacao_cadastral")
    assert "/docs/operacoes/suframa" in found("INSCRICAO_NAO_ENCONTRADA+suframa")
    assert "/docs/operacoes/busca-de-empresas" in found("busca+EMPRÉSAS")
    assert found("python")[0] == "/docs/programas#programa-python"
    assert "/docs/programas#clientes" in found("typescript")
    assert not found("nadadisso")
    assert not found("")
    listed = msgspec.json.decode(stranger.get("/docs/busca.json").content)
    assert {"/docs", "/docs/sandbox", "/docs/operacoes/criar-lote"} <= {
        each["endereco"] for each in listed
    }
    assert all(each["titulo"] and each["palavras"] for each in listed)


def test_words_that_the_pages_do_not_use_are_found() -> None:
    """A synonym leads nowhere if the pages do not use its words either."""
    indexed = build(openapi.document("1"), "https://balcao.test").indexed
    for word, others in SYNONYMS.items():
        assert word == unaccented(word), word
        assert find(indexed, word, SYNONYMS), word
        for other in others:
            assert find(indexed, other, {}), f"{word}: {other}"


def test_an_empty_result_shows_searches_that_find_something(house: Service) -> None:
    stranger = Browser(house)
    tree = stranger.get("/docs/busca?q=nadadisso").tree
    links = tree.xpath("//main//a[starts-with(@href, '/docs/busca?q=')]/@href")
    assert links
    for link in links:
        assert stranger.get(link).tree.xpath("//mark"), link


def test_an_excerpt_has_the_words_marked() -> None:
    text = "palavra " * 60 + "o <b>Prazo</b> é de 60 segundos" + " fim" * 60
    shown = excerpt(Leaf("/", "Título", "Um resumo.", text), ("prazo",))
    assert "&lt;b&gt;<mark>Prazo</mark>&lt;/b&gt;" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert excerpt(Leaf("/", "Título", "Um resumo."), ("prazo",)) == "Um resumo."


def test_the_request_follows_the_form(house: Service) -> None:
    """A button updates the request without script; an empty field keeps the example."""
    stranger = Browser(house)
    page = "/docs/operacoes/certidao-negativa-de-debitos-federal"

    def shown(sent: dict[str, str], **headers: str) -> Any:
        given = {"csrf": stranger.get(page).field("csrf"), **sent}
        response = stranger.post(page, given, **headers)
        assert response.status == 200
        return response.tree

    tree = shown({"quem": "cpf", "cpf": "900.100.001-00", "nascimento": "01/01/1980"})
    url = "federal?cpf=90010000100&data_nascimento=19800101"
    panels = tree.xpath("//*[@role='tabpanel']//code")
    assert len(panels) == len(tree.xpath("//*[@role='tab']")) == 10
    assert all(url in panel.text_content() for panel in panels[:8])
    assert 'cpf="90010000100"' in panels[8].text_content()
    assert tree.xpath("string(//input[@name='cpf']/@value)") == "900.100.001-00"
    tree = shown({"quem": "cnpj", "cnpj": "", "modo": "guardado"}, hx_request="true")
    assert "federal?cnpj=90010001000100&cache_strategy=SO_CACHE" in tree.text_content()
    assert not tree.xpath("//input")
    hostile = shown({"quem": "cnpj", "cnpj": "\"'`\\$(id)"}, hx_request="true").text_content()
    assert "federal?cnpj=%22%27%60%5C%24%28id%29" in hostile.replace("&", "?")


def test_a_language_is_remembered(house: Service) -> None:
    stranger = Browser(house)

    def chosen(path: str) -> str:
        tree = stranger.get(path).tree
        (panel,) = tree.xpath("//*[@role='tabpanel'][not(@hidden)]")
        (tab,) = tree.xpath("//*[@role='tab'][@aria-selected='true']")
        assert tab.get("aria-controls") == panel.get("id")
        return str(tab.text_content())

    assert chosen("/docs/operacoes/suframa") == "curl"
    assert chosen("/docs/operacoes/suframa?linguagem=go") == "Go"
    assert chosen("/docs/operacoes/sintegra?cnpj=90010001000100") == "Go"
    assert chosen("/docs/operacoes/sintegra?linguagem=cobol") == "Go"
    # Without script, a tab sends the form, so that what was typed stays.
    tree = stranger.get("/docs/operacoes/sintegra").tree
    (tab,) = tree.xpath("//*[@role='tab'][.='Python']")
    assert tab.get("form") == "consulta"
    page = stranger.post(tab.get("formaction").partition("#")[0], {"cnpj": "90010002000154"}).tree
    assert page.xpath("string(//*[@role='tab'][@aria-selected='true'])") == "Python"
    assert page.xpath("string(//input[@name='cnpj']/@value)") == "90010002000154"


def test_an_answer_is_visible_to_its_user_only(house: Service) -> None:
    asked = signed_in(house)
    page = "/docs/operacoes/suframa"
    form = asked.get(f"{page}?cnpj=90010002000154")
    assert form.field("cnpj") == "90010002000154"
    sent = {"form_id": form.field("form_id"), "documentacao": "/docs", "cnpj": "90010002000154"}
    response = asked.post("/app/consultas/suframa", sent)
    assert (response.status, response.location.partition("?")[0]) == (303, page)
    there = response.location.partition("#")[0]
    shown = asked.get(there).tree.xpath("string(//*[@id='resposta'])")
    assert '"incentivos"' in shown
    for header in ("X-Request-Id", "X-Creditos-Cobrados", "RateLimit-Policy", "Cache-Status"):
        assert header in shown
    another = signed_in(house, house.account("outra"))
    for browser in (another, Browser(house)):
        answer = browser.get(there)
        assert answer.status == 200
        assert not answer.tree.xpath("//*[@id='resposta']")
    assert not asked.get(there.replace("suframa", "sintegra")).tree.xpath("//*[@id='resposta']")


def test_texts_are_never_taken_for_html() -> None:
    assert "<b>" not in markdown.line("a <b>b</b> `<i>`")
    assert "<script" not in markdown.article("# T\n\n<script>x</script>\n\n|a|\n|-|\n|<img>|")
    assert "href" not in markdown.line("[x](javascript:alert(1))")


def test_the_request_of_a_page_is_answered(house: Service) -> None:
    """The example address of every lookup and price works in the sandbox."""
    stranger, base = Browser(house), house.settings.address
    for operation in OPERATIONS.values():
        for name in (operation.path, f"cotacao-{operation.path}"):
            tree = stranger.get(f"/docs/operacoes/{name}").tree
            curl = tree.xpath("string(//*[@id='requisicao']//pre)")
            (url,) = re.findall(r'"(http[^"]+)"', curl)
            answer = house.get(url.removeprefix(base))
            assert answer.status == 200, f"{name}: {answer.body!r}"
            assert "x-api-key: $BALCAO_KEY" in curl


def test_example_requests_have_the_required_parameters(
    house: Service,
) -> None:
    client = house.account("exemplos", partner_optin=True)
    for path, query in reference._EXAMPLE_QUERIES.items():
        assert house.get(path, client).status == 400
        response = house.get(f"{path}?{urlencode(query)}", client)
        assert response.status != 400, response.body
