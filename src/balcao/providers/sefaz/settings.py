"""The settings of Consulta Cadastro, the web service of the state treasuries."""

from typing import Literal

from pydantic import Field, SecretStr

from balcao.providers.fields import File, ProviderSettings, Uf


class SefazSettings(ProviderSettings):
    """Consulta Cadastro, the web service of the state treasuries."""

    certificate: File = Field(
        None,
        description="Arquivo PKCS#12 (.p12, .pfx) do certificado A1 (e-CNPJ) de uma empresa"
        " emissora de documentos fiscais; sem ele a fonte fica desligada.",
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
    endpoints: dict[Uf, str] = Field(
        {}, description="Endereço completo de uma UF, no lugar do que conhecemos; vazio a desliga."
    )
    cpf_ufs: tuple[Uf, ...] | None = Field(
        None, description="UFs que respondem por CPF; vazio: tenta em todas."
    )
    header_ufs: tuple[Uf, ...] = Field(
        (), description="UFs que ainda exigem o cabeçalho nfeCabecMsg."
    )
    mt_wrapper: Literal["consultaCadastro", "nfeDadosMsg"] = Field(
        "consultaCadastro",
        description="O elemento que MT espera em volta de `nfeDadosMsg`: o da operação, ou o mesmo"
        " mais uma vez, como outros programas o enviam.",
    )
    url: str = Field(
        "",
        description="Endereço base no lugar do de cada UF, para ensaios com o simulador; o caminho"
        " de cada UF é mantido. Com ele o certificado é opcional.",
    )

    @property
    def is_on(self) -> bool:
        """Whether it can be asked."""
        return self.certificate is not None or self.url != ""
