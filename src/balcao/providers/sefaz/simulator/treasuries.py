"""Which treasury answers at which path, and the manners of each state.

Paths are those of the production addresses. Nobody has
published which state has which manner (`sefaz-consulta-cadastro.md`, sections 3, 5 and 8), but
for MT's wrapper and PE's header: the others are our choice, each in one state, so that a client
that does not know one of them fails there.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Treasury:
    """A web service: the state that runs it, and the states it answers for."""

    path: str
    owner: str
    ufs: frozenset[str]
    program: str  # how it names itself in `verAplic`


@dataclass(frozen=True, slots=True)
class Manner:
    """What a state does in its own way."""

    wrapper: str = "nfeResultMsg"  # the element around an answer
    escaped: bool = False  # the answer is text in the wrapper, not elements
    wants_wrapper: bool = False  # around the usual nfeDadosMsg of a question
    wants_soap_action: bool = False  # a header of that name, be it empty
    answers_cpf: bool = True
    tells_offset: bool = True  # of the time of an answer
    tells_address: bool = True
    tells_unique: bool = False  # IEUnica: one number for all establishments
    drops_zeros: bool = False  # that a CEP or a CNAE begins with
    page_when_down: bool = False  # the page of a proxy, with HTTP 503, instead of cStat 108


_SVRS = Treasury(
    "/ws/cadconsultacadastro/cadconsultacadastro4.asmx",
    "RS",
    frozenset(
        {"AC", "AL", "AP", "CE", "DF", "ES", "PA", "PB", "PI"}
        | {"RJ", "RN", "RO", "RR", "RS", "SC", "SE", "TO"}
    ),
    "SVRS",
)


def _own(uf: str, path: str) -> Treasury:
    return Treasury(path, uf, frozenset({uf}), uf)


# MA has no such service.
TREASURIES: Mapping[str, Treasury] = {
    treasury.path: treasury
    for treasury in (
        _own("AM", "/services2/services/CadConsultaCadastro4"),
        _own("BA", "/webservices/CadConsultaCadastro4/CadConsultaCadastro4.asmx"),
        _own("GO", "/nfe/services/CadConsultaCadastro4"),
        _own("MG", "/nfe2/services/CadConsultaCadastro4"),
        _own("MS", "/ws/CadConsultaCadastro4"),
        _own("MT", "/nfews/v2/services/CadConsultaCadastro4"),
        _own("PE", "/nfe-service/services/CadConsultaCadastro4"),
        _own("PR", "/nfe/CadConsultaCadastro4"),
        _own("SP", "/ws/cadconsultacadastro4.asmx"),
        _SVRS,
    )
}

_RESULT, _RESULT_4 = "consultaCadastroResult", "consultaCadastro4Result"

_MANNERS: Mapping[str, Manner] = {
    "AM": Manner(wrapper=_RESULT_4, answers_cpf=False),
    "BA": Manner(wrapper=_RESULT, tells_offset=False),
    "GO": Manner(tells_unique=True),
    "MG": Manner(wrapper=_RESULT_4),
    "MS": Manner(wrapper=_RESULT, escaped=True),
    "MT": Manner(wrapper=_RESULT, wants_wrapper=True),
    "PB": Manner(tells_address=False),
    "PE": Manner(wrapper=_RESULT_4, answers_cpf=False, wants_soap_action=True),
    "PR": Manner(page_when_down=True),
    "SP": Manner(drops_zeros=True),  # CEPs begin with 0 in this state only
}
_USUAL = Manner()


def manner_of(uf: str) -> Manner:
    """How a state behaves."""
    return _MANNERS.get(uf, _USUAL)
