"""The snippets on pages work as programs; they are run as by a reader."""

import sys
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

import pytest
from bench import snippets

from balcao.web.kit.snippets import ADDRESS, KEY, SNIPPETS, for_reader, written
from tests.cli.shell import Server, keys_in
from tests.clients import interpreters
from tests.clients.scripted import Script, serve_scripts

PROGRAMS = {
    "curl": lambda: [interpreters.program("sh")],
    "python": lambda: [sys.executable],
    "node": lambda: [interpreters.node()],
    "php": lambda: [interpreters.program("php")],
    "apps-script": lambda: [interpreters.node()],
}
ran_here = pytest.mark.parametrize("name", PROGRAMS)
every = pytest.mark.parametrize("name", SNIPPETS)


def command_of(name: str, folder: Path, address: str, key: str) -> Sequence[str]:
    """Return the command that runs the snippet with the local interpreter."""
    for needed in {"curl": ("curl", "jq"), "apps-script": ("curl",)}.get(name, ()):
        interpreters.program(needed)
    interpreter = PROGRAMS[name]()
    return [*interpreter, *snippets.prepared(name, folder, address, key)[1:]]


@ran_here
def test_a_snippet_reports_the_documented_outcomes(
    name: str, server: Server, tmp_path: Path
) -> None:
    """Found, closed down, with letters, absent, refused, failed; certificates."""
    key = keys_in(server.out)["pre-pago"]
    command = command_of(name, tmp_path, server.base, key)
    assert snippets.complaints(command) == []


FOUND = {"error": False, "response": {"nome_empresarial": "X", "situacao_cadastral": "ATIVA"}}
CERTIFICATE = {
    "error": False,
    "success": True,
    "certificate_type": "CND",
    "effective_validity": "2030-01-01",
}


def refused(status: int, code: str, **headers: str) -> Mapping[str, object]:
    body = {"error": True, "message": "não", "error_message": {"message": "não", "code": code}}
    return {"status": status, "headers": headers, "body": body}


@ran_here
def test_a_snippet_retries_by_the_contract(name: str, tmp_path: Path) -> None:
    """Contract 6.4: with the same key; with another one after a 503 that cost nothing.

    Where an earlier attempt may have been charged, the key is kept.
    """
    at_once = {"Retry-After": "0"}
    play = Script(
        [
            refused(429, "LIMITE_EXCEDIDO", **at_once),
            refused(409, "OPERACAO_EM_ANDAMENTO", **at_once),
            refused(503, "SERVICO_INDISPONIVEL", **at_once),
            {"status": 200, "body": FOUND},
            refused(503, "COBRANCA_INCERTA", **at_once),
            refused(503, "SERVICO_INDISPONIVEL", **at_once),
            {"status": 503, "headers": at_once, "text": "<html>proxy</html>"},
            {"status": 200, "body": CERTIFICATE},
        ]
    )
    with serve_scripts({"p": play}) as base:
        command = command_of(name, tmp_path, f"{base}/p", "chave")
        lines = snippets.output_of(command, "12ABC34501DE35")

    assert lines == ["empresa: X (ATIVA)", "certidão federal: CND, válida até 2030-01-01"]
    company, certificate = play.asked[:4], play.asked[4:]
    assert {each.target for each in company} == {
        "/consultas/v2/cnpj-receita-federal/12ABC34501DE35"
    }
    assert {each.headers["x-api-key"] for each in play.asked} == {"chave"}
    keys = [each.headers["idempotency-key"] for each in company]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    others = {each.headers["idempotency-key"] for each in certificate}
    assert len(others) == 1
    assert not others & {*keys}


@ran_here
def test_a_snippet_gives_up_if_retries_are_useless(name: str, tmp_path: Path) -> None:
    """402, a 409 without a stored result and a wait of hours are reported, not retried."""
    scripts = {
        "saldo": Script(
            [refused(402, "SALDO_INSUFICIENTE"), refused(409, "RESULTADO_INDISPONIVEL")]
        ),
        "dia": Script([refused(429, "LIMITE_EXCEDIDO", **{"Retry-After": "7200"})] * 2),
    }
    with serve_scripts(scripts) as base:
        first = snippets.output_of(command_of(name, tmp_path / "1", f"{base}/saldo", "k"), "1")
        second = snippets.output_of(command_of(name, tmp_path / "2", f"{base}/dia", "k"), "1")

    assert first == [
        "empresa: erro SALDO_INSUFICIENTE: não",
        "certidão federal: erro RESULTADO_INDISPONIVEL: não",
    ]
    assert second == [
        "empresa: erro LIMITE_EXCEDIDO: não",
        "certidão federal: erro LIMITE_EXCEDIDO: não",
    ]
    assert [len(play.asked) for play in scripts.values()] == [2, 2]


@ran_here
def test_a_snippet_repeats_a_cut_connection_with_the_same_key(name: str, tmp_path: Path) -> None:
    """A truncated response may have been charged: it is requested again with its key."""
    play = Script(
        [
            {"status": 200, "body": FOUND, "half": True},
            {"status": 200, "body": FOUND},
            {"status": 200, "body": CERTIFICATE},
        ]
    )
    with serve_scripts({"p": play}) as base:
        lines = snippets.output_of(command_of(name, tmp_path, f"{base}/p", "chave"), "1")
    assert lines[0] == "empresa: X (ATIVA)"
    assert len({each.headers["idempotency-key"] for each in play.asked[:2]}) == 1


# Filling in


@every
def test_placeholders_occur_once_in_each_file(name: str) -> None:
    file = resources.files("balcao.web.kit.snippets") / "programs" / SNIPPETS[name].file
    text = file.read_text("utf-8")
    assert text.count(ADDRESS) == text.count(KEY) == 1
    assert text.index(ADDRESS) < text.index(KEY)
    assert "Idempotency-Key" in text
    assert "retry-after" in text.lower()


@every
def test_the_readers_address_and_key_are_filled_in(name: str) -> None:
    text = written(name, "https://balcao.example/", "balcao_test_abc")
    assert "https://balcao.example" in text
    assert "https://balcao.example/" not in text
    assert "balcao_test_abc" in text
    assert ADDRESS not in text
    assert KEY not in text
    assert KEY in written(name, "https://balcao.example")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("curl", r"""CHAVE='a"'\''\b#(c'"""),
        ("python", r'''CHAVE = "a\"'\\b#(c"'''),
        ("node", r'''CHAVE = "a\"'\\b#(c"'''),
        ("php", r"""CHAVE = 'a"\'\\b#(c'"""),
        ("csharp", r'''Chave = "a\"'\\b#(c"'''),
        ("java", r'''CHAVE = "a\"'\\b#(c"'''),
        ("go", r'''chave    = "a\"'\\b#(c"'''),
        ("delphi", r"""CHAVE = 'a"''\b#(c'"""),
        ("tlpp", r'''CHAVE "a" + Chr(34) + "'\b#(c"'''),
        ("power-query", r'''Chave = "a""'\b#(#)(c"'''),
        ("apps-script", r'''CHAVE = "a\"'\\b#(c"'''),
    ],
)
def test_filled_in_values_are_escaped(name: str, expected: str) -> None:
    """Keys and addresses cannot inject code into the program."""
    assert expected in written(name, "http://h", "a\"'\\b#(c")


def test_control_characters_are_refused() -> None:
    with pytest.raises(ValueError, match="control"):
        written("python", "http://h\n", "k")


def test_an_address_does_not_get_the_key() -> None:
    assert "http://SUA_CHAVE.example" in written("python", "http://SUA_CHAVE.example", "segredo")


def test_some_or_all_for_a_page() -> None:
    chosen = for_reader("http://h", names=("php", "curl"))
    assert [snippet.title for snippet, _ in chosen] == ["PHP", "curl"]
    assert len(for_reader("http://h")) == len(SNIPPETS) == 11
