"""The settings of SERPRO's services."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field, SecretStr, model_validator

from balcao.providers.fields import ProviderSettings, WebAddress

# `CodigoIdentificacao` of a company, by version of Consulta CND.
COMPANY_CODES: Mapping[str, str] = {"v1": "9001", "v2": "9201"}


class SerproSettings(ProviderSettings):
    """SERPRO: Consulta CNPJ v2 and Consulta CND, by contract."""

    url: WebAddress = Field("https://gateway.apiserpro.serpro.gov.br", description="Endereço base.")
    consumer_key: SecretStr = Field(
        SecretStr(""), description="Identificador OAuth2; sem ele, a fonte fica desativada."
    )
    consumer_secret: SecretStr = Field(
        SecretStr(""), description="Segredo OAuth2; sem ele, a fonte fica desativada."
    )
    product: str = Field(
        "consulta-cnpj-df",
        description="Caminho do produto contratado. O de demonstração termina em `-trial`.",
    )
    full_partners: bool = Field(
        False,
        description="O contrato inclui a consulta `empresa`, que traz o CPF completo dos sócios"
        " (para `optin=1`).",
    )
    accepts_alphanumeric: bool = Field(True, description="Consulta também CNPJs com letras.")
    cnd: bool = Field(
        False, description="O contrato inclui a Consulta CND (certidão federal, só por CNPJ)."
    )
    cnd_product: str = Field(
        "consulta-cnd", description="Caminho do produto. O de demonstração termina em `-trial`."
    )
    cnd_version: str = Field(
        "v1", pattern=r"^v[0-9]{1,2}$", description="Versão da Consulta CND no contrato."
    )
    cnd_company_code: str = Field(
        "",
        pattern=r"^[0-9]{0,8}$",
        description="Código de identificação de empresas na Consulta CND; vazio: o da versão,"
        " `9001` na `v1` e `9201` na `v2`; obrigatório em outra versão.",
    )

    @model_validator(mode="after")
    def _company_code_is_known(self) -> Self:
        if self.cnd and not self.cnd_company_code and self.cnd_version not in COMPANY_CODES:
            raise ValueError(f"cnd_company_code é obrigatório com cnd_version = {self.cnd_version}")
        return self

    @classmethod
    def simulated(cls, base: str) -> Self:
        return cls(
            url=f"{base}/serpro",
            consumer_key=SecretStr("sandbox"),
            consumer_secret=SecretStr("sandbox"),
            full_partners=True,
            cnd=True,
        )


SETTINGS = SerproSettings
