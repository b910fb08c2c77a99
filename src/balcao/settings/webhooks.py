"""The settings of webhooks: private networks and authorities of certificates."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from balcao.providers.fields import File
from balcao.settings.groups import Group
from balcao.settings.mail import MailSettings
from balcao.settings.values import Network


class WebhookSettings(MailSettings):
    """The settings of webhooks, after those of e-mail."""

    webhook_private_cidrs: Annotated[tuple[Network, ...], Group.WEBHOOKS] = Field(
        (),
        description="Redes internas que podem receber webhooks, como `10.0.0.0/8`, também por"
        " http. Qualquer gestor de uma conta pode enviar requisições a elas. Vazio: só endereços"
        " públicos, por https.",
    )
    webhook_ca_file: Annotated[File, Group.WEBHOOKS] = Field(
        None,
        description="Arquivo PEM de autoridades certificadoras aceitas nos webhooks, além das do"
        " sistema.",
    )

    @field_validator("webhook_ca_file")
    @classmethod
    def _exists(cls, path: Path | None) -> Path | None:
        if path is not None and not path.is_file():
            raise ValueError("o arquivo não existe")
        return path
