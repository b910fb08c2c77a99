"""The documentation: every page is public, and nothing is loaded from other hosts."""

import re
from urllib.parse import urldefrag, urlencode

import msgspec

from balcao.operations import OPERATIONS
from balcao.web.pages.docs import markdown, reference
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
        assert tree.xpath("string(//html/@lang)") == "pt-BR"
        assert len(tree.xpath("//h1")) == 1, here
        assert not tree.xpath("//*[@style] | //style | //script[not(@src)]"), here
        for link in {*tree.xpath("//@href"), *tree.xpath("//@src")}:
            path, anchor = urldefrag(link)
            path = path or here
            if link.startswith("data:"):
                continue
            assert link.startswith(("/", "#")), f"{here}: {link}"
            assert not link.startswith("//"), f"{here}: {link}"
            if path.partition("?")[0] != path or not path.startswith("/docs"):
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
    assert sum(int(response.headers["content-length"]) for response in packed) < 60_000
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
    assert not found("nadadisso")
    assert not found("")
    listed = msgspec.json.decode(stranger.get("/docs/busca.json").content)
    assert {"/docs", "/docs/sandbox", "/docs/operacoes/criar-lote"} <= {
        each["endereco"] for each in listed
    }
    assert all(each["titulo"] and each["palavras"] for each in listed)


def test_an_answer_is_visible_to_its_user_only(house: Service) -> None:
    asked = signed_in(house)
    page = "/docs/operacoes/suframa"
    form = asked.get(f"{page}?cnpj=90010002000154")
    assert form.field("cnpj") == "90010002000154"
    sent = {"form_id": form.field("form_id"), "documentacao": "1", "cnpj": "90010002000154"}
    response = asked.post("/app/consultas/suframa", sent)
    assert (response.status, response.location.partition("?")[0]) == (303, page)
    there = response.location.partition("#")[0]
    assert '"incentivos"' in asked.get(there).tree.xpath("string(//*[@id='resposta'])")
    another = signed_in(house, house.account("outra"))
    for browser in (another, Browser(house)):
        assert not browser.get(there).tree.xpath("//*[@id='resposta']")
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
            curl = tree.xpath("string(//details[summary='curl']//pre)")
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
