"""The settings of CNPJá, commercial API."""

from typing import Literal, Self

from pydantic import Field, SecretStr

from balcao.providers.fields import ProviderSettings, WebAddress


class CnpjaSettings(ProviderSettings):
    """CNPJá, commercial API."""

    url: WebAddress = Field("https://api.cnpja.com", description="Endereço base.")
    key: SecretStr = Field(
        SecretStr(""), description="Chave da API; sem ela, a fonte fica desativada."
    )
    accepts_alphanumeric: bool = Field(
        False,
        description="Consulta também CNPJs com letras (o fornecedor não documenta se aceita).",
    )
    all_ufs: Literal["lista", "BR", "ALL"] = Field(
        "lista",
        description="Como pedir todas as UFs: a lista das 27, aceita por todas as versões da API,"
        " ou a palavra do fornecedor, que varia entre as versões.",
    )

    @classmethod
    def simulated(cls, base: str) -> Self:
        return cls(url=f"{base}/cnpja", key=SecretStr("sandbox"), accepts_alphanumeric=True)


SETTINGS = CnpjaSettings
