"""The addresses of "Consulta Cadastro" by UF, for production and homologation."""

from collections.abc import Mapping

# The shared service of Rio Grande do Sul, and its UFs. Maranhão has no such service.
_SHARED = (
    "https://cad.svrs.rs.gov.br/ws/cadconsultacadastro/cadconsultacadastro4.asmx",
    "https://cad-homologacao.svrs.rs.gov.br/ws/cadconsultacadastro/cadconsultacadastro4.asmx",
)
_SHARED_BY = "AC AL AP CE DF ES PA PB PI RJ RN RO RR RS SC SE TO"

ADDRESSES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(_SHARED_BY.split(), _SHARED),
    "AM": (
        "https://nfe.sefaz.am.gov.br/services2/services/CadConsultaCadastro4",
        "https://homnfe.sefaz.am.gov.br/services2/services/CadConsultaCadastro4",
    ),
    "BA": (
        "https://nfe.sefaz.ba.gov.br/webservices/CadConsultaCadastro4/CadConsultaCadastro4.asmx",
        "https://hnfe.sefaz.ba.gov.br/webservices/CadConsultaCadastro4/CadConsultaCadastro4.asmx",
    ),
    "GO": (
        "https://nfe.sefaz.go.gov.br/nfe/services/CadConsultaCadastro4",
        "https://homolog.sefaz.go.gov.br/nfe/services/CadConsultaCadastro4",
    ),
    "MG": (
        "https://nfe.fazenda.mg.gov.br/nfe2/services/CadConsultaCadastro4",
        "https://hnfe.fazenda.mg.gov.br/nfe2/services/CadConsultaCadastro4",
    ),
    "MS": (
        "https://nfe.sefaz.ms.gov.br/ws/CadConsultaCadastro4",
        "https://hom.nfe.sefaz.ms.gov.br/ws/CadConsultaCadastro4",
    ),
    "MT": (
        "https://nfe.sefaz.mt.gov.br/nfews/v2/services/CadConsultaCadastro4",
        "https://homologacao.sefaz.mt.gov.br/nfews/v2/services/CadConsultaCadastro4",
    ),
    "PE": (
        "https://nfe.sefaz.pe.gov.br/nfe-service/services/CadConsultaCadastro4",
        "https://nfehomolog.sefaz.pe.gov.br/nfe-service/services/CadConsultaCadastro4",
    ),
    "PR": (
        "https://nfe.sefa.pr.gov.br/nfe/CadConsultaCadastro4",
        "https://homologacao.nfe.sefa.pr.gov.br/nfe/CadConsultaCadastro4",
    ),
    "SP": (
        "https://nfe.fazenda.sp.gov.br/ws/cadconsultacadastro4.asmx",
        "https://homologacao.nfe.fazenda.sp.gov.br/ws/cadconsultacadastro4.asmx",
    ),
}
