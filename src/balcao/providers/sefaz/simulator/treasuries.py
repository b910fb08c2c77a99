"""The treasuries by path, and the quirks of each state.

Paths are those of the production addresses. Only MT's wrapper and PE's header are published
(`sefaz-consulta-cadastro.md`, sections 3, 5 and 8). We assigned the other quirks to one state
each, so that a client without support for one of them fails there.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Treasury:
    """A web service: the state that runs it, and the states that it serves."""

    path: str
    owner: str
    ufs: frozenset[str]
    program: str  # its name in `verAplic`


@dataclass(frozen=True, slots=True)
class Quirks:
    """Deviations of one state's service from the standard."""

    wrapper: str = "nfeResultMsg"  # the element around an answer
    escaped: bool = False  # the answer is text in the wrapper, not elements
    needs_wrapper: bool = False  # around the usual nfeDadosMsg of a question
    needs_soap_action: bool = False  # a header of that name, be it empty
    answers_cpf: bool = True
    has_offset: bool = True  # of the time of an answer
    has_address: bool = True
    has_single_number: bool = False  # IEUnica: one number for all establishments
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

_QUIRKS: Mapping[str, Quirks] = {
    "AM": Quirks(wrapper=_RESULT_4, answers_cpf=False),
    "BA": Quirks(wrapper=_RESULT, has_offset=False),
    "GO": Quirks(has_single_number=True),
    "MG": Quirks(wrapper=_RESULT_4),
    "MS": Quirks(wrapper=_RESULT, escaped=True),
    "MT": Quirks(wrapper=_RESULT, needs_wrapper=True),
    "PB": Quirks(has_address=False),
    "PE": Quirks(wrapper=_RESULT_4, answers_cpf=False, needs_soap_action=True),
    "PR": Quirks(page_when_down=True),
    "SP": Quirks(drops_zeros=True),  # CEPs begin with 0 in this state only
}
_USUAL = Quirks()


def quirks_of(uf: str) -> Quirks:
    """Return the quirks of a state."""
    return _QUIRKS.get(uf, _USUAL)
