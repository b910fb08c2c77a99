"""The settings and addresses of Consulta Cadastro, the web service of the state treasuries.

Addresses: `sefaz-consulta-cadastro.md`, section 2. For some UFs only public clients document that
they use the shared service of Rio Grande do Sul (SVRS); it may reply that it does not serve such a
UF, and the settings can exclude it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from balcao.core.federation import UFS
from balcao.providers.fields import File, ProviderSettings, Remark, Uf, WebAddress

Environment: TypeAlias = Literal["production", "homologation"]  # theirs; no legal effect in it

_SVRS = "svrs.rs.gov.br/ws/cadconsultacadastro/cadconsultacadastro4.asmx"
_SVRS_UFS = frozenset(
    {
        "AC", "AL", "AP", "CE", "DF", "ES", "PA", "PB", "PI", "RJ", "RN", "RO", "RR", "SC", "SE",
        "TO", "RS",  # which runs it
    }
)  # fmt: skip

# UFs with their own service: hosts of production and homologation, and the path.
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

# Without MA: its authoriser (SVAN) has no such service.
UFS_SERVED: frozenset[str] = _SVRS_UFS | frozenset(_OWN)


def endpoint(environment: Environment, uf: str) -> str | None:
    """Return the address of a UF's service; None if it has none."""
    production = environment == "production"
    if uf in _SVRS_UFS:
        return f"https://{'cad' if production else 'cad-homologacao'}.{_SVRS}"
    if uf not in _OWN:
        return None
    host, trial_host, path = _OWN[uf]
    return f"https://{host if production else trial_host}/{path.format('CadConsultaCadastro4')}"


class SefazSettings(ProviderSettings):
    """Consulta Cadastro, the web service of the state treasuries."""

    certificate: File = Field(
        None,
        description="Arquivo PKCS#12 (.p12, .pfx) do certificado A1 (e-CNPJ) de uma empresa"
        " emissora de documentos fiscais; sem ele, a fonte fica desativada.",
    )
    password: SecretStr = Field(SecretStr(""), description="Senha do certificado.")
    ca_file: File = Field(
        None,
        description="Arquivo PEM com mais raízes para conferir os servidores, além das do sistema:"
        " as da ICP-Brasil, que alguns estados usam.",
    )
    environment: Literal["production", "homologation"] = Field(
        "production", description="Ambiente dos estados."
    )
    endpoints: dict[Uf, WebAddress] = Field(
        {}, description="Endereço completo de uma UF, no lugar do padrão. Vazio: UF desativada."
    )
    cpf_ufs: tuple[Uf, ...] | None = Field(
        None, description="UFs que aceitam CPF. Vazio: tenta em todas."
    )
    header_ufs: tuple[Uf, ...] = Field(
        (), description="UFs que ainda exigem o cabeçalho nfeCabecMsg."
    )
    mt_wrapper: Literal["consultaCadastro", "nfeDadosMsg"] = Field(
        "consultaCadastro",
        description="O elemento que MT espera em volta de `nfeDadosMsg`: o da operação ou o mesmo"
        " repetido, como outros programas enviam.",
    )
    url: WebAddress = Field(
        "",
        description="Endereço base no lugar do de cada UF, para testes com o simulador. O caminho"
        " de cada UF é mantido. Com ele, o certificado é opcional.",
    )

    @property
    def is_on(self) -> bool:
        return self.certificate is not None or self.url != ""

    @property
    def address(self) -> str:
        if self.url:
            return self.url
        kind = "produção" if self.environment == "production" else "homologação"
        return f"o de cada UF, em {kind}"

    @property
    def addresses(self) -> Mapping[str, str]:
        known = {uf: endpoint(self.environment, uf) for uf in UFS} | dict(self.endpoints)
        return {uf: _moved(url, self.url) for uf, url in known.items() if url}

    def check(self) -> None:
        from balcao.providers.sefaz import certificate_checks

        certificate_checks.checked_certificate(self)

    def out_of_use(self, now: datetime) -> str | None:
        from balcao.providers.sefaz import certificate_checks

        return certificate_checks.out_of_use(self, now)

    def remarks(self, now: datetime) -> Iterator[Remark]:
        from balcao.providers.sefaz import certificate_checks

        return certificate_checks.remarks(self, now)

    @classmethod
    def simulated(cls, base: str) -> Self:
        # without TLS, and so without a certificate
        return cls(url=f"{base}/sefaz")


def _moved(url: str, base: str) -> str:
    """Return the same path at another base address."""
    return base.rstrip("/") + urlsplit(url).path if base else url


SETTINGS = SefazSettings
