"""How errors look to callers (contract 1.4, 3)."""

import re

import pytest

from balcao.core import errors
from balcao.core.problems import problem_of

# Contract 3, row by row, for what can be raised today.
FACES = [
    (errors.InvalidCnpj(), 400, "CNPJ_INVALIDO"),
    (errors.InvalidCpf(), 400, "CPF_INVALIDO"),
    (errors.InvalidParameter(), 400, "PARAMETRO_INVALIDO"),
    (errors.RepeatedParameter(), 400, "PARAMETRO_REPETIDO"),
    (errors.InvalidStrategy(), 400, "ESTRATEGIA_INVALIDA"),
    (errors.InvalidIdempotencyKey(), 400, "IDEMPOTENCY_KEY_INVALIDA"),
    (errors.IdempotencyKeyReused(), 400, "IDEMPOTENCY_KEY_REUTILIZADA"),
    (errors.KeyRefused(), 401, "API_KEY_INVALIDA"),
    (errors.InsufficientCredits(2, 1), 402, "SALDO_INSUFICIENTE"),
    (errors.CertificatesNotEnabled(), 403, "CND_POS_PAGO_NAO_HABILITADO"),
    (errors.OptInNotEnabled(), 403, "OPTIN_NAO_HABILITADO"),
    (errors.AddressNotAllowed(), 403, "ENDERECO_NAO_PERMITIDO"),
    (errors.AddressNotAllowed("203.0.113.9"), 403, "ENDERECO_NAO_PERMITIDO"),
    (errors.OperationNotAllowed(), 403, "OPERACAO_NAO_PERMITIDA"),
    (errors.ClientRequired(), 400, "CLIENTE_OBRIGATORIO"),
    (errors.TagWithCpf(), 400, "MARCA_COM_CPF"),
    (errors.CnpjNotFound(), 404, "CNPJ_NAO_ENCONTRADO"),
    (errors.RouteNotFound(), 404, "ROTA_NAO_ENCONTRADA"),
    (errors.MethodNotAllowed(), 405, "METODO_NAO_PERMITIDO"),
    (errors.StillRunning(5), 409, "OPERACAO_EM_ANDAMENTO"),
    (errors.ResultUnavailable(), 409, "RESULTADO_INDISPONIVEL"),
    (errors.RateLimited(3, "minuto"), 429, "LIMITE_EXCEDIDO"),
    (errors.TooManyUnreadFiles(), 429, "ARQUIVOS_NA_FILA"),
    (errors.FileRunning(), 503, "ARQUIVO_EM_PREPARO"),
    (errors.NoFileSpace(), 503, "SEM_ESPACO"),
    (errors.SourceFailed("timeout"), 500, "ERRO_INTERNO"),
    (errors.SourceUnavailable("circuit open"), 503, "SERVICO_INDISPONIVEL"),
    (errors.StorageFailed("FullError"), 503, "SERVICO_INDISPONIVEL"),
    (errors.CommitUncertain("outcome unknown"), 503, "COBRANCA_INCERTA"),
    (errors.Overloaded(), 503, "SERVICO_INDISPONIVEL"),
]


@pytest.mark.parametrize(("error", "status", "code"), FACES)
def test_each_error_has_its_face(error: errors.BalcaoError, status: int, code: str) -> None:
    problem = problem_of(error)
    assert (problem.status, problem.code) == (status, code)
    assert problem.message


def test_the_words_for_an_exhausted_balance_are_kept_for_402_and_429() -> None:
    words = re.compile("saldo|cr[ée]dito|limite", re.IGNORECASE)
    for kind in errors.public_errors():
        for message in (kind.message, *(problem_of(error).message for error in kind.samples())):
            if kind.status not in (402, 429):
                assert not words.search(message), f"{kind.__name__} (contract 1.4)"
    assert not words.search(problem_of(KeyError("x")).message)


@pytest.mark.parametrize("status", [409, 429, 503])
def test_who_may_come_again_is_told_when(status: int) -> None:
    for error, expected, _ in FACES:
        if expected == status and not isinstance(error, errors.ResultUnavailable):
            seconds = problem_of(error).retry_after_seconds
            assert seconds is not None
            assert seconds >= 1


def test_waits_are_those_of_the_error() -> None:
    assert problem_of(errors.RateLimited(17, "dia")).retry_after_seconds == 17
    assert problem_of(errors.SourceUnavailable("x", 42)).retry_after_seconds == 42
    assert problem_of(errors.StillRunning(7)).retry_after_seconds == 7
    assert problem_of(errors.CommitUncertain("outcome unknown")).retry_after_seconds == 5
    assert problem_of(errors.ResultUnavailable()).retry_after_seconds is None


@pytest.mark.parametrize("kind", [errors.SourceUnavailable, errors.NotServed])
def test_nobody_is_sent_away_for_longer_than_five_minutes(
    kind: type[errors.SourceUnavailable],
) -> None:
    """Client libraries wait as long as `Retry-After` (contract 9.4)."""
    for true, told in [(1, 1), (299, 299), (300, 300), (301, 300), (3600, 300)]:
        assert problem_of(kind("x", true)).retry_after_seconds == told
    assert problem_of(errors.Overloaded(901)).retry_after_seconds == 300


def test_a_limit_of_the_day_is_told_as_it_is() -> None:
    """Only 503 ends by itself sooner than anybody knows; a quota does not."""
    assert problem_of(errors.RateLimited(4000, "dia")).retry_after_seconds == 4000
    assert problem_of(errors.StillRunning(400)).retry_after_seconds == 400


def test_402_says_what_is_missing() -> None:
    fields = problem_of(errors.InsufficientCredits(27, 3)).fields
    assert fields == {"creditos_necessarios": 27, "creditos_disponiveis": 3}


def test_a_detail_is_told_where_it_was_written_for_the_caller() -> None:
    told = problem_of(errors.InvalidParameter("O parâmetro cache deve ser um número inteiro."))
    assert told.message == "O parâmetro cache deve ser um número inteiro."


@pytest.mark.parametrize(
    "error",
    [
        errors.SourceFailed("10.0.0.7 said: secret"),
        errors.SourceUnavailable("secret"),
        errors.StorageFailed("secret"),
        errors.KeyRefused("secret"),
        RuntimeError("secret"),
        errors.NameTaken("secret"),
    ],
)
def test_what_was_written_for_the_log_stays_there(error: Exception) -> None:
    assert "secret" not in problem_of(error).message


def test_a_bug_says_nothing_of_itself() -> None:
    problem = problem_of(ZeroDivisionError("division by zero"))
    assert (problem.status, problem.code) == (500, "ERRO_INTERNO")
    assert "zero" not in problem.message


def test_headers_that_are_too_large_have_their_own_status() -> None:
    assert problem_of(errors.RequestTooLarge(headers=True)).status == 431
    assert problem_of(errors.RequestTooLarge(headers=False)).status == 413
