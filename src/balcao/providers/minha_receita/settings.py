"""The settings of Minha Receita, or BrasilAPI, which has the same format."""

from typing import Literal, Self

from pydantic import Field

from balcao.providers.fields import ProviderSettings, WebAddress

_ADDRESSES = {
    "minha_receita": "https://minhareceita.org",
    "brasilapi": "https://brasilapi.com.br",
}


class MinhaReceitaSettings(ProviderSettings):
    """Minha Receita, or BrasilAPI, which has the same format."""

    url: WebAddress = Field(
        "",
        description="Endereço base. Padrão: o do serviço indicado em `flavour`. Um dos dois ativa"
        " a fonte.",
    )
    flavour: Literal["minha_receita", "brasilapi"] = Field(
        "minha_receita",
        description="Qual dos dois serviços define os caminhos e os erros do endereço.",
    )

    @property
    def is_on(self) -> bool:
        # it has no key
        return bool(self.url) or "flavour" in self.model_fields_set

    @property
    def address(self) -> str:
        return self.url or _ADDRESSES[self.flavour]

    @classmethod
    def simulated(cls, base: str) -> Self:
        return cls(url=f"{base}/minha-receita")


SETTINGS = MinhaReceitaSettings
