"""Estimate of how easily a password is guessed by a program.

By zxcvbn: common passwords, words, names, keyboard patterns, dates and repetitions, and mixtures of
these with digits (OWASP ASVS 6.2.4). Added here: common Brazilian words, the service's name, and
the person's own e-mail and names.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import permutations

from balcao.core.text import unaccented

# zxcvbn's "very unguessable", also for an attacker with the hashes. Three unrelated words need a
# thousand times as many.
GUESSES_MIN = 10_000_000_000

# The estimate is quadratic in the length: of a longer password only both ends are estimated.
_CHARACTERS_MAX = 40
_PIECE_CHARACTERS_MIN = 3

_WORDS: Sequence[str] = re.findall(
    "[a-z]+",
    "senha minhasenha mudar trocar mudarsenha trocarsenha acesso entrar entrada login usuario"
    " administrador administrator gerente diretor suporte sistema servidor teste cliente empresa"
    " contabilidade contador escritorio fiscal imposto receita certidao consulta"
    " brasil brasileiro saopaulo riodejaneiro belohorizonte curitiba salvador fortaleza recife"
    " portoalegre flamengo corinthians palmeiras santos vasco gremio internacional cruzeiro"
    " atletico botafogo fluminense bahia timao mengao verdao campeao"
    " deus jesus jesuscristo deusefiel deuseamor deusnocomando fe gratidao familia amor meuamor"
    " amorzinho euteamo teamo saudade felicidade princesa principe gatinha gatinho linda lindo"
    " amoreterno amordaminhavida minhavida minhafamilia meufilho minhafilha"
    " janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro"
    " segunda terca quarta quinta sexta sabado domingo verao outono inverno primavera suasenha"
    " maria jose ana joao antonio francisco carlos paulo pedro lucas luiz luis marcos gabriel"
    " rafael daniel marcelo bruno eduardo felipe raimundo rodrigo manoel mateus matheus andre"
    " fernando fabio leonardo gustavo guilherme leandro tiago thiago anderson ricardo marcio jorge"
    " sebastiao alexandre roberto edson diego vitor victor sergio claudio adriana juliana marcia"
    " fernanda patricia aline sandra camila amanda bruna jessica leticia julia luciana vanessa"
    " mariana gabriela vera larissa claudia beatriz rita luana sonia renata eliane josefa simone"
    " natalia cristiane carla debora rosangela jaqueline rosa daniela aparecida marlene terezinha"
    " silva souza sousa oliveira pereira ferreira alves lima ribeiro gomes costa carvalho almeida"
    " lopes soares fernandes vieira barbosa rocha dias nascimento andrade moreira nunes marques"
    " machado mendes freitas cardoso ramos goncalves santana teixeira balcao",
)


# Two own words with a separator count as one word; zxcvbn would count each part as unknown.
_JOINTS = ("", " ", ".", "-", "_")
_OWN_WORDS_MAX = 16
_ALWAYS_OWN = ("balcao", "empresa")


def is_easily_guessed(password: str, email: str, names: Sequence[str] = ()) -> bool:
    """Return whether fewer than `GUESSES_MIN` guesses find the password.

    `names`: of the person and of the account.
    """
    plain = unaccented(password)
    own = _own_words(email, names)
    ends = {plain[:_CHARACTERS_MAX], plain[-_CHARACTERS_MAX:]}
    return all(_guesses(end, own) < GUESSES_MIN for end in ends)


def _own_words(email: str, names: Sequence[str]) -> Sequence[str]:
    """Return the e-mail and the names, their parts, and pairs of parts."""
    email = email.strip().casefold()
    known = [unaccented(name) for name in names]
    words = [
        *(word for name in known for word in _words_of(name)),
        *_words_of(email),
        *_ALWAYS_OWN,
    ]
    several = [joint.join(_words_of(name)) for name in known for joint in _JOINTS]
    different = list(dict.fromkeys(words))[:_OWN_WORDS_MAX]
    pairs = [joint.join(pair) for pair in permutations(different, 2) for joint in _JOINTS]
    own = [email, email.partition("@")[0], *words, *several, *pairs]
    return [each for each in own if len(each) >= _PIECE_CHARACTERS_MIN]


def _words_of(text: str) -> Sequence[str]:
    pieces = re.split(r"[^a-z0-9]+", text)
    return [piece for piece in pieces if len(piece) >= _PIECE_CHARACTERS_MIN]


def _guesses(text: str, own: Sequence[str]) -> float:
    from zxcvbn import matching, scoring  # noqa: PLC0415 - loading takes 0.3 s, and is seldom needed

    # Not `zxcvbn.zxcvbn`, which stores the user's words in a global.
    words = {**matching.RANKED_DICTIONARIES, "user_inputs": _ranks(own)}
    found = scoring.most_guessable_match_sequence(text, matching.omnimatch(text, words))
    return float(found["guesses"])


def _ranks(own: Sequence[str]) -> Mapping[str, int]:
    """Rank both lists from 1, so that many own words make no other word harder to guess."""
    ranks: dict[str, int] = {}
    for words in (own, _WORDS):
        for rank, word in enumerate(words, 1):
            ranks[word] = min(rank, ranks.get(word, rank))
    return ranks
