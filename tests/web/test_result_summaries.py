"""The summary recorded with an answer: name and outcome, of every operation."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from balcao.core.result_summary import ResultSummary, summary_of
from balcao.operations import OPERATIONS
from balcao.web.kit.words import vocabulary
from balcao.web.kit.words.vocabulary import Word, outcome_of
from tests.web.lookups import a_trace

ACTIVE = {"ativa": True}
CLOSED = {"ativa": False}


@pytest.mark.parametrize(
    ("subject", "body", "result_summary", "word"),
    [
        (
            "company",
            {"response": {"nome_empresarial": "ACME LTDA", "situacao_cadastral": "BAIXADA"}},
            ResultSummary("ACME LTDA", "BAIXADA"),
            Word("Baixada", "bad"),
        ),
        ("company", {"response": {}}, ResultSummary(None, None), Word("Respondida", "good")),
        (
            "state_registration",
            {"razao_social": "ACME", "inscricoes_estaduais": [ACTIVE, CLOSED]},
            ResultSummary("ACME", "ativa"),
            Word("1 inscrição ativa", "good"),
        ),
        (
            "state_registration",
            {"inscricoes_estaduais": [ACTIVE, ACTIVE, ACTIVE]},
            ResultSummary(None, "ativas:3"),
            Word("3 inscrições ativas", "good"),
        ),
        (
            "state_registration",
            {"inscricoes_estaduais": [CLOSED]},
            ResultSummary(None, "inativa"),
            Word("Nenhuma inscrição ativa", "warn"),
        ),
        (
            "state_registration",
            {"inscricoes_estaduais": []},
            ResultSummary(None, "nenhuma"),
            Word("Sem inscrição", "info"),
        ),
        (
            "suframa",
            {"nome": "ZONA", "status": {"codigo": 3, "descricao": "BLOQUEADA"}},
            ResultSummary("ZONA", "3:BLOQUEADA"),
            Word("Bloqueada", "bad"),
        ),
    ],
)
def test_the_summary_of_an_answer(
    subject: str, body: Mapping[str, object], result_summary: ResultSummary, word: Word
) -> None:
    operation = OPERATIONS[subject]
    assert operation.result_summary(msgspec.json.encode(body)) == result_summary
    assert outcome_of(a_trace(operation=operation.path, result_summary=result_summary)) == word


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"response":1,"nome":2}'])
def test_unreadable_answers_have_no_summary(body: bytes) -> None:
    assert [each.result_summary(body) for each in OPERATIONS.values()] == [None] * len(OPERATIONS)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("MARIA DA SILVA 90010000100", "MARIA DA SILVA"),
        ("MARIA DA SILVA 900.100.001-00", "MARIA DA SILVA"),
        ("A" * 200, "A" * 150),
        ("", None),
        (None, None),
    ],
)
def test_names_are_short_and_without_a_cpf(name: str | None, kept: str | None) -> None:
    assert summary_of(name, None).name == kept


def test_every_result_filter_matches_recorded_results() -> None:
    remembered = {
        code for each in OPERATIONS.values() for code in (*each.result_labels, *each.verdicts)
    }
    wanted: Sequence[str] = [code for _, codes in vocabulary.RESULTS.values() for code in codes]
    assert set(wanted) <= remembered
    assert len(wanted) == len(set(wanted)), "a result is found by one word"
    # A wildcard in a code would match others.
    assert not [code for code in remembered if set("%_:") & set(code)]
