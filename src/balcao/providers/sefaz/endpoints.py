"""Where each state treasury answers "Consulta Cadastro" (`sefaz-consulta-cadastro.md` section 2).

For some of the UFs that use the shared service of Rio Grande do Sul (SVRS) only public clients
vouch; such a UF may answer that it is not served there, and the settings can leave it out.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

Environment: TypeAlias = Literal["production", "homologation"]  # theirs; no legal effect in it

_SVRS = "svrs.rs.gov.br/ws/cadconsultacadastro/cadconsultacadastro4.asmx"
_SVRS_UFS = frozenset(
    {
        "AC", "AL", "AP", "CE", "DF", "ES", "PA", "PB", "PI", "RJ", "RN", "RO", "RR", "SC", "SE",
        "TO", "RS",  # which runs it
    }
)  # fmt: skip

# Their own services: both hosts, and the path they share.
_OWN: Mapping[str, tuple[str, str, str]] = {
    "AM": ("nfe.sefaz.am.gov.br", "homnfe.sefaz.am.gov.br", "services2/services/{}"),
    "BA": ("nfe.sefaz.ba.gov.br", "hnfe.sefaz.ba.gov.br", "webservices/{0}/{0}.asmx"),
    "GO": ("nfe.sefaz.go.gov.br", "homolog.sefaz.go.gov.br", "nfe/services/{}"),
    "MG": ("nfe.fazenda.mg.gov.br", "hnfe.fazenda.mg.gov.br", "nfe2/services/{}"),
    "MS": ("nfe.sefaz.ms.gov.br", "hom.nfe.sefaz.ms.gov.br", "ws/{}"),
    "MT": ("nfe.sefaz.mt.gov.br", "homologacao.sefaz.mt.gov.br", "nfews/v2/services/{}"),
    "PE": ("nfe.sefaz.pe.gov.br", "nfehomolog.sefaz.pe.gov.br", "nfe-service/services/{}"),
    "PR": ("nfe.sefa.pr.gov.br", "homologacao.nfe.sefa.pr.gov.br", "nfe/{}"),
    "SP": (
        "nfe.fazenda.sp.gov.br",
        "homologacao.nfe.fazenda.sp.gov.br",
        "ws/cadconsultacadastro4.asmx",
    ),
}

# MA is missing: its authoriser (SVAN) has no such service.
UFS_SERVED: frozenset[str] = _SVRS_UFS | frozenset(_OWN)


def endpoint(environment: Environment, uf: str) -> str | None:
    """The whole address for questions about a UF; None where nobody answers them."""
    production = environment == "production"
    if uf in _SVRS_UFS:
        return f"https://{'cad' if production else 'cad-homologacao'}.{_SVRS}"
    if uf not in _OWN:
        return None
    host, trial_host, path = _OWN[uf]
    return f"https://{host if production else trial_host}/{path.format('CadConsultaCadastro4')}"
