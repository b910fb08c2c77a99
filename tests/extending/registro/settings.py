"""Settings of the provider."""

from typing import Self

from pydantic import Field

from balcao.providers.fields import ProviderSettings


class RegistroSettings(ProviderSettings):
    url: str = Field("https://registro.example", description="Endereço base.")

    @classmethod
    def simulated(cls, base: str) -> Self:
        return cls(url=f"{base}/registro")


SETTINGS = RegistroSettings
