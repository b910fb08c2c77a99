"""Settings of the provider."""

from typing import Self

from pydantic import Field, SecretStr

from balcao.providers.fields import ProviderSettings


class AcmeSettings(ProviderSettings):
    url: str = Field("https://api.acme.example", description="Endereço base.")
    key: SecretStr = Field(
        SecretStr(""), description="Chave da Acme; sem ela, a fonte fica desativada."
    )

    @property
    def is_on(self) -> bool:
        return self.key.get_secret_value() != ""

    @classmethod
    def simulated(cls, base: str) -> Self:
        return cls(url=f"{base}/acme", key=SecretStr("sandbox"))


SETTINGS = AcmeSettings
