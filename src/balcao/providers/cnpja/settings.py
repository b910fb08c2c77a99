"""The settings of CNPJá, commercial API."""

from typing import Literal, Self

from pydantic import Field, SecretStr

from balcao.providers.fields import ProviderSettings, WebAddress


class CnpjaSettings(ProviderSettings):
    """CNPJá, commercial API."""

    url: WebAddress = Field("https://api.cnpja.com", description="Endereço base.")
    key: SecretStr = Field(
        SecretStr(""), description="Chave da API; sem ela a fonte fica desligada."
    )
    accepts_alphanumeric: bool = Field(
        False,
        description="Consulta também CNPJs com letras (o fornecedor não documenta se os aceita).",
    )
    all_ufs: Literal["", "BR", "ALL"] = Field(
        "",
        description="Palavra do fornecedor para todas as UFs, que mudou entre versões da API;"
        " vazio: a lista das 27, que todas as versões aceitam.",
    )

    @classmethod
    def simulated(cls, base: str) -> Self:
        """At the simulator."""
        return cls(url=f"{base}/cnpja", key=SecretStr("sandbox"), accepts_alphanumeric=True)


SETTINGS = CnpjaSettings
