"""The settings of the providers, one class each. Each is off until what it needs is given."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from balcao.core.federation import UFS


def _uf(text: str) -> str:
    uf = text.upper()  # names of nested variables arrive in lower case
    if uf not in UFS:
        raise ValueError("não é a sigla de uma UF")
    return uf


def _unset(text: object) -> object:
    """An empty variable is no path: files of settings for containers are full of them."""
    return None if text == "" else text


Uf: TypeAlias = Annotated[str, AfterValidator(_uf)]
File: TypeAlias = Annotated[Path | None, BeforeValidator(_unset)]


class MinhaReceita(BaseModel):
    """Minha Receita, or BrasilAPI, which answers in the same form."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str = Field("https://minhareceita.org", description="Endereço base.")
    flavour: Literal["minha_receita", "brasilapi"] = Field(
        "minha_receita",
        description="De qual dos dois serviços são os caminhos e os erros do endereço.",
    )

    @property
    def is_on(self) -> bool:
        """It asks for no key: being in the settings is enough."""
        return True


class Cnpja(BaseModel):
    """CNPJá, commercial API."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str = Field("https://api.cnpja.com", description="Endereço base.")
    key: SecretStr = Field(
        SecretStr(""), description="Chave da API; sem ela a fonte fica desligada."
    )
    accepts_alphanumeric: bool = Field(
        False,
        description="Consulta também CNPJs com letras (o fornecedor não documenta se os aceita).",
    )
    all_ufs: Literal["BR", "ALL"] = Field(
        "BR", description="Palavra do fornecedor para todas as UFs; mudou entre versões da API."
    )

    @property
    def is_on(self) -> bool:
        """Whether it can be asked."""
        return self.key.get_secret_value() != ""


class Serpro(BaseModel):
    """SERPRO Consulta CNPJ v2, by contract."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str = Field("https://gateway.apiserpro.serpro.gov.br", description="Endereço base.")
    consumer_key: SecretStr = Field(
        SecretStr(""), description="Identificador OAuth2; sem ele a fonte fica desligada."
    )
    consumer_secret: SecretStr = Field(
        SecretStr(""), description="Segredo OAuth2; sem ele a fonte fica desligada."
    )
    product: str = Field(
        "consulta-cnpj-df",
        description="Caminho do produto contratado; o de demonstração termina em `-trial`.",
    )
    full_partners: bool = Field(
        False,
        description="O contrato inclui a consulta `empresa`, que traz o CPF inteiro dos sócios"
        " (para `optin=1`).",
    )
    accepts_alphanumeric: bool = Field(True, description="Consulta também CNPJs com letras.")
    cnd: bool = Field(
        False, description="O contrato inclui a Consulta CND (certidão federal, só por CNPJ)."
    )
    cnd_product: str = Field(
        "consulta-cnd", description="Caminho do produto; o de demonstração termina em `-trial`."
    )

    @property
    def is_on(self) -> bool:
        """Whether it can be asked."""
        return "" not in (
            self.consumer_key.get_secret_value(),
            self.consumer_secret.get_secret_value(),
        )


class Sefaz(BaseModel):
    """Consulta Cadastro, the web service of the state treasuries."""

    model_config = ConfigDict(extra="forbid", frozen=True)
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


class Infosimples(BaseModel):
    """Infosimples, by contract."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str = Field("https://api.infosimples.com", description="Endereço base.")
    token: SecretStr = Field(
        SecretStr(""), description="Token da API; sem ele a fonte fica desligada."
    )
    ufs: tuple[Uf, ...] | None = Field(
        None, description="UFs em que é consultada para inscrições estaduais; vazio: todas."
    )
    certificate_ufs: tuple[Uf, ...] | None = Field(
        None, description="UFs em que é consultada para certidões estaduais; vazio: todas."
    )
    receipt_origins: tuple[str, ...] = Field(
        (),
        description="Origens, como `https://armazem.example`, de onde os comprovantes podem ser"
        " buscados; de nenhuma outra. Sem elas as certidões vêm sem comprovante (`print` nulo).",
    )
    accepts_alphanumeric: bool = Field(
        False,
        description="Consulta também CNPJs com letras (o fornecedor não documenta se os aceita).",
    )

    @property
    def is_on(self) -> bool:
        """Whether it can be asked."""
        return self.token.get_secret_value() != ""
