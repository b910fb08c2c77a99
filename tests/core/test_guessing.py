"""Passwords that are refused because a program would soon guess them (contract 7.7)."""

import pytest
from zxcvbn.frequency_lists import FREQUENCY_LISTS

from balcao.core.addresses import rate_limit_address
from balcao.core.people import PASSWORD_CHARACTERS_MIN, password_problem

EMAIL = "maria.silva@exemplo.com.br"

# Of each kind: a common word with digits, a keyboard walk, something repeated, leet, a name, a
# date, a Brazilian favourite, the service, the person's own e-mail.
GUESSED = (
    "letmein12345", "sunshine1234", "princesa1234", "michael12345", "Passw0rd1234",
    "qazwsxedcrfv", "abc123abc123", "maria.silva1", "maria.silva@exemplo.com.br1",
    "1maria.silva@exemplo.com.br", "Maria.Silva2026!", "iloveyou1234", "password2026",
    "qwerty123456", "asdfghjkl123", "1q2w3e4r5t6y", "1qaz2wsx3edc", "zxcvbnm12345",
    "123456789012", "abcdefghijkl", "dragondragon", "trustno1trust", "P@ssw0rd2026",
    "Senha@123456", "senhasenha12", "minhasenha2026", "mudar1234567", "flamengo1234",
    "Corinthians10", "jesuscristo1", "deusefiel123", "Gratidão2026", "joaosilva123",
    "francisco1980", "contabilidade1", "administrador1", "brasil202612", "Balcao@2026!",
    "balcao123456", "saopaulo1935", "amordaminhavida",
)  # fmt: skip

KEPT = (
    "uma frase bem comprida",
    "tranquila-cadeira-7",
    "manga-rosa-84-vento",
    "x9#kLm2$pQ7z",
    "correct-horse-battery",
    "o ornitorrinco lê devagar às quartas, sempre que chove em Quixadá",
    "z" * 30 + "jabuticaba-lilás-42-farol-torto",
)


@pytest.mark.parametrize("password", GUESSED)
def test_what_is_soon_guessed_is_refused(password: str) -> None:
    problem = password_problem(password, EMAIL)
    assert problem is not None
    assert "fácil de adivinhar" in problem


def test_common_leaked_passwords_are_refused() -> None:
    """The 30,000 most frequent ones are refused, if they are long enough."""
    leaked = [each for each in FREQUENCY_LISTS["passwords"] if len(each) >= PASSWORD_CHARACTERS_MIN]
    assert len(leaked) > 200
    assert [each for each in leaked if password_problem(each, EMAIL) is None] == []


@pytest.mark.parametrize(
    ("password", "names"),
    [
        ("OliviaOperadora1", ["Olívia Operadora"]),
        ("olivia operadora", ["Olívia Operadora"]),
        ("Olivia.Operadora2026", ["Olívia Operadora"]),
        ("GilGestor2026", ["Gil Gestor"]),
        ("gestor_gil_1", ["Gil Gestor"]),
        ("JacarandáMudança7", ["Íris Jacarandá da Mudança"]),
        ("balcao.empresa1", ["Gil Gestor"]),
        ("Guaraxaim@2026", ["Gil Gestor", "Guaraxaim Ltda."]),
        ("gil.guaraxaim12", ["Gil Gestor", "Guaraxaim Ltda."]),
    ],
)
def test_one_s_own_names_are_soon_guessed(password: str, names: list[str]) -> None:
    problem = password_problem(password, "o.g@exemplo.com.br", names)
    assert problem is not None
    assert "o seu nome" in problem


@pytest.mark.parametrize("password", KEPT)
def test_long_names_refuse_no_other_password(password: str) -> None:
    names = ["Maria Aparecida dos Santos Oliveira Albuquerque Cavalcanti de Bragança Neto"] * 2
    assert password_problem(password, EMAIL, names) is None


@pytest.mark.parametrize("password", KEPT)
def test_what_nobody_guesses_is_not(password: str) -> None:
    assert password_problem(password, EMAIL) is None


def test_the_longest_is_judged_in_no_time() -> None:
    """The two ends are examined alone: the estimate takes the square of the length."""
    assert password_problem("ab1!" * 50, EMAIL) is not None


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("203.0.113.9:51234", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8::1", "2001:db8::/64"),
        ("[2001:db8::ffff:1]:443", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("unknown:x:y", "unknown:x:y"),
        ("", ""),
    ],
)
def test_what_an_address_is_counted_as(address: str, counted: str) -> None:
    assert rate_limit_address(address) == counted
