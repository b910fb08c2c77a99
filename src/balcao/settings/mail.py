"""The settings of e-mail: the SMTP server and the sender."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from balcao.core.addresses import is_loopback
from balcao.core.mail import PORTS, MailServer, MailTls
from balcao.core.people import is_email
from balcao.providers.fields import File
from balcao.settings.groups import Group
from balcao.settings.server import ServerSettings


class MailSettings(ServerSettings):
    """The settings of e-mail, after those of the process."""

    smtp_host: Annotated[str, Group.MAIL] = Field(
        "",
        pattern=r"^[!-~]*$",
        description="Servidor de e-mail (SMTP) que envia convites, novas senhas e avisos. Vazio:"
        " nada é enviado, e os links são copiados das páginas.",
    )
    smtp_port: Annotated[int | None, Group.MAIL] = Field(
        None,
        ge=1,
        le=65535,
        description="Porta do servidor de e-mail. Vazio: 465 com `tls`, 587 com `starttls`, 25 com"
        " `none`.",
    )
    smtp_plain_text: Annotated[bool, Group.MAIL] = Field(
        False,
        description="Permite `smtp_tls` igual a `none` com um servidor em outra máquina. Senhas e"
        " links passam sem criptografia pela rede.",
    )
    smtp_tls: Annotated[MailTls, Group.MAIL] = Field(
        "starttls",
        validate_default=True,
        description="Criptografia: `starttls`, `tls` (desde o início da conexão) ou `none`, só"
        " para um servidor na própria máquina. O certificado do servidor é sempre conferido.",
    )
    smtp_user: Annotated[str, Group.MAIL] = Field(
        "", description="Usuário no servidor de e-mail. Vazio: sem senha."
    )
    smtp_password: Annotated[SecretStr, Group.MAIL] = Field(
        SecretStr(""), description="Senha no servidor de e-mail."
    )
    smtp_password_file: Annotated[File, Group.MAIL] = Field(
        None, description="Arquivo com a senha, no lugar de `smtp_password`."
    )
    smtp_from: Annotated[str, Group.MAIL] = Field(
        "",
        validate_default=True,
        description="Endereço do remetente, obrigatório com `smtp_host`.",
    )

    @field_validator("smtp_tls")
    @classmethod
    def _encrypts(cls, tls: MailTls, info: ValidationInfo) -> MailTls:
        host, allowed = info.data.get("smtp_host", ""), info.data.get("smtp_plain_text", False)
        local = not host or host == "localhost" or is_loopback(host)
        if tls == "none" and not local and not allowed:
            raise ValueError(
                "sem criptografia só é permitido para um servidor na própria máquina; use tls ou"
                " starttls, ou ative smtp_plain_text"
            )
        return tls

    @field_validator("smtp_password_file")
    @classmethod
    def _has_a_password(cls, path: Path | None, info: ValidationInfo) -> Path | None:
        if path is not None and not path.is_file():
            raise ValueError("o arquivo não existe")
        password = info.data.get("smtp_password")
        if path is not None and password is not None and password.get_secret_value():
            raise ValueError("use só uma: smtp_password ou smtp_password_file")
        return path

    @field_validator("smtp_from")
    @classmethod
    def _has_a_sender(cls, sender: str, info: ValidationInfo) -> str:
        if (sender or info.data.get("smtp_host")) and not is_email(sender):
            raise ValueError("deve ser um endereço de e-mail, como balcao@exemplo.com.br")
        return sender.strip()

    @property
    def mail_server(self) -> MailServer | None:
        """The server that sends e-mail. None: none is configured. Raises `OSError`."""
        if not self.smtp_host:
            return None
        password, file = self.smtp_password.get_secret_value(), self.smtp_password_file
        return MailServer(
            self.smtp_host,
            self.smtp_port or PORTS[self.smtp_tls],
            self.smtp_tls,
            self.smtp_from,
            self.smtp_user,
            password if file is None else file.read_text("utf-8").rstrip("\r\n"),
        )
