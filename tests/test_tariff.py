"""Rules of the tariff: codes that never change, their words, and nobody who compares words."""

import ast
from pathlib import Path

import pytest

from balcao.core.receipts import ReceiptNumbers
from balcao.core.tariff import NOT_CHARGED
from balcao.operations import OPERATIONS, tariff
from balcao.operations.contract import AnswerContext

SOURCE = Path(__file__).parents[1] / "src" / "balcao"
NOW = 1_785_942_000_000

# The ledger is for ever: a code of this list never goes and never means anything else.
SENTENCES = {
    "company/lookup": "cnpj-receita-federal: 1 por consulta concluída",
    "suframa/lookup": "suframa: 1 por consulta concluída",
    "state_registration/uf": "sintegra: 1 por UF respondida",
    "state_registration/uf+addresses": "sintegra: 1 por UF respondida + 1 por endereco",
    "rural_producer/uf": "produtor-rural: 1 por UF respondida",
    "rural_producer/uf+addresses": "produtor-rural: 1 por UF respondida + 1 por endereco",
    "federal_certificate/cache": "certidão federal: 1 por resultado do cache",
    "federal_certificate/online": "certidão federal: 2 por resultado da fonte",
    "state_certificate/cache": "certidão estadual: 1 por certidão do cache",
    "state_certificate/online": "certidão estadual: 2 por consulta à fonte",
    "labour_certificate/cache": "certidão trabalhista: 1 por resultado do cache",
    "labour_certificate/online": "certidão trabalhista: 2 por resultado da fonte",
    "fgts_regularity/cache": "regularidade do FGTS: 1 por resultado do cache",
    "fgts_regularity/online": "regularidade do FGTS: 2 por resultado da fonte",
    "search/page": "busca de empresas: por página com resultados",
    "search/count": "contagem de empresas: por contagem",
    "search/partners": "busca de sócios: por resposta com resultados",
    "error": "erro",
    "refused": "recusa",
    "interrupted": "processo interrompido",
}
# Where they may stand: the tables of words.
TABLES = {
    SOURCE / "core" / "tariff.py",
    *(SOURCE / "operations" / subject / "operation.py" for subject in OPERATIONS),
}


def test_every_code_has_its_words() -> None:
    assert {code: tariff.sentence(code) for code in tariff.RULES} == SENTENCES
    for code in SENTENCES:
        meaning = tariff.meaning(code) or ""
        assert meaning.endswith(".")
        assert tariff.with_addresses(code) == ("Mais 1 crédito pelos endereços" in meaning)


def test_a_code_names_its_operation() -> None:
    for subject, operation in OPERATIONS.items():
        assert operation.rules
        assert all(code.partition("/")[0] == subject for code in operation.rules)
    assert not any("/" in code for code in NOT_CHARGED)


def test_words_of_a_code_that_nobody_knows() -> None:
    for code in ("company/batch", "sintegra: 1 por UF", ""):
        assert (tariff.sentence(code), tariff.meaning(code)) == (code, None)
        assert not tariff.with_addresses(code)
    assert (tariff.sentence(None), tariff.meaning(None)) == (None, None)


def test_every_rule_that_makes_a_price_is_in_its_operations_table() -> None:
    """The examples of the API's document are made by `conclude`: their rules are real ones."""
    around = AnswerContext(NOW, 1, ReceiptNumbers(b"secret"))
    for operation in OPERATIONS.values():
        for example in operation.examples():
            said = operation.conclude(example.question, example.outcomes, around)
            assert said.rule in (operation.rules if said.credits else NOT_CHARGED)


@pytest.mark.parametrize("kind", ["py", "sql", "html"])
def test_nobody_compares_a_sentence(kind: str) -> None:
    """Outside their tables no text of the program is a rule's sentence, or has one in it."""
    files = set(SOURCE.rglob(f"*.{kind}")) - TABLES
    assert files
    for file in files:
        text = file.read_text("utf-8")
        if kind == "py":  # as the compiler joins them
            text = "\n".join(f'"{one}"' for one in _texts_of(text))
        for sentence in SENTENCES.values():
            short = " " not in sentence  # a word of everyday, unless it stands alone in quotes
            quotes = (f"'{sentence}'", f'"{sentence}"')
            found = any(one in text for one in quotes) if short else sentence in text
            assert not found, f"{file.relative_to(SOURCE)} knows the sentence {sentence!r}"


def _texts_of(source: str) -> set[str]:
    nodes = ast.walk(ast.parse(source))
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
