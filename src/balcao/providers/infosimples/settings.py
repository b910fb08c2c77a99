"""The settings of Infosimples, by contract."""

from typing import Self

from pydantic import Field, SecretStr

from balcao.providers.fields import ProviderSettings, Uf, WebAddress


class InfosimplesSettings(ProviderSettings):
    """Infosimples, by contract."""

    url: WebAddress = Field("https://api.infosimples.com", description="Endereço base.")
    token: SecretStr = Field(
        SecretStr(""), description="Token da API; sem ele, a fonte fica desativada."
    )
    ufs: tuple[Uf, ...] | None = Field(
        None, description="UFs consultadas para inscrições estaduais. Vazio: todas."
    )
    certificate_ufs: tuple[Uf, ...] | None = Field(
        None, description="UFs consultadas para certidões estaduais. Vazio: todas."
    )
    receipt_origins: tuple[str, ...] = Field(
        (),
        description="Origens permitidas para baixar comprovantes, como `https://armazem.example`."
        " Sem elas, as certidões vêm sem comprovante (`print` nulo).",
    )
    accepts_alphanumeric: bool = Field(
        False,
        description="Consulta também CNPJs com letras (o fornecedor não documenta se aceita).",
    )

    @property
    def allowed_receipt_origins(self) -> tuple[str, ...]:
        return self.receipt_origins

    @property
    def missing_receipts_notice(self) -> str | None:
        if self.receipt_origins:
            return None
        return "infosimples vem sem comprovantes: falta BALCAO_INFOSIMPLES__RECEIPT_ORIGINS"

    @classmethod
    def simulated(cls, base: str) -> Self:
        return cls(
            url=f"{base}/infosimples",
            token=SecretStr("sandbox"),
            accepts_alphanumeric=True,
            receipt_origins=(base,),
        )


SETTINGS = InfosimplesSettings
