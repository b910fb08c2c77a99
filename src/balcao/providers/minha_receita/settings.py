"""The settings of Minha Receita, or BrasilAPI, which answers in the same form."""

from typing import Literal, Self

from pydantic import Field

from balcao.providers.fields import ProviderSettings


class MinhaReceitaSettings(ProviderSettings):
    """Minha Receita, or BrasilAPI, which answers in the same form."""

    url: str = Field("https://minhareceita.org", description="Endereço base.")
    flavour: Literal["minha_receita", "brasilapi"] = Field(
        "minha_receita",
        description="De qual dos dois serviços são os caminhos e os erros do endereço.",
    )

    @classmethod
    def simulated(cls, base: str) -> Self:
        """At the simulator."""
        return cls(url=f"{base}/minha-receita")


SETTINGS = MinhaReceitaSettings
