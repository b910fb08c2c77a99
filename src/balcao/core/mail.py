"""Messages by e-mail: the server, the content, and the text of each kind (ADR 0101)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

from balcao.core.writing import counted, credits

# Implicit TLS from the first byte, STARTTLS, or no encryption.
MailTls: TypeAlias = Literal["tls", "starttls", "none"]
PORTS: Mapping[MailTls, int] = {"tls": 465, "starttls": 587, "none": 25}

MailKind: TypeAlias = Literal[
    "invitation", "password_reset", "recovery_code", "low_balance", "digest", "urgent"
]

# Waits after each attempt that failed for now, in seconds; the last one repeats.
_RETRY_SECONDS = (60.0, 300.0, 1_800.0, 7_200.0, 28_800.0)


@dataclass(frozen=True, slots=True)
class MailServer:
    """The SMTP server that accepts our messages. Without a user there is no authentication."""

    host: str
    port: int
    tls: MailTls
    sender: str
    user: str = ""
    password: str = field(default="", repr=False)


class MailButton(msgspec.Struct, frozen=True):
    """The link to follow."""

    label: str
    address: str


class MailLine(msgspec.Struct, frozen=True):
    """One line of a list, linked where it has an address. `details`: lines below it."""

    text: str
    address: str = ""
    details: Sequence[str] = ()


class MailSection(msgspec.Struct, frozen=True):
    """A list with its title."""

    title: str
    lines: Sequence[MailLine]


class MailText(msgspec.Struct, frozen=True):
    """Subject and body of a message. `note`: small print below the button.

    `unsubscribe`: the address where the recipient stops such messages, by one POST (RFC 8058).
    """

    subject: str
    paragraphs: Sequence[str]
    button: MailButton | None = None
    note: str = ""
    sections: Sequence[MailSection] = ()
    unsubscribe: str = ""


class Message(msgspec.Struct, frozen=True, tag=True):
    """A message to one person. Its `repr` shows neither address nor text."""

    to: str
    text: MailText

    def __repr__(self) -> str:
        return "Message(***)"


class PasswordReset(msgspec.Struct, frozen=True, tag=True):
    """A request for a new password, by anybody: whether the person exists is determined later."""

    email: str

    def __repr__(self) -> str:
        return "PasswordReset(***)"


MailContent: TypeAlias = Message | PasswordReset


def retry_seconds(attempts: int) -> float:
    """Return the wait after so many failed attempts."""
    return _RETRY_SECONDS[min(attempts, len(_RETRY_SECONDS)) - 1]


def domain_of(address: str) -> str:
    """Return the domain of an e-mail address."""
    return address.rpartition("@")[2]


def invitation(name: str, link: str, hours: int, *, is_new: bool) -> MailText:
    """Return the message with a link for choosing a password, sent by a manager or an operator."""
    first = "Você foi convidado a usar o Balcão, o serviço de consulta de empresas e certidões."
    again = "Foi gerado um link para você escolher uma nova senha no Balcão."
    return MailText(
        "Seu acesso ao Balcão" if is_new else "Escolha uma nova senha no Balcão",
        (f"Olá, {name}.", first if is_new else again, "Abra o link e escolha a sua senha:"),
        MailButton("Escolher a senha", link),
        f"O link vale por {counted(hours, 'hora', 'horas')} e só pode ser usado uma vez. Não o"
        " encaminhe a ninguém.",
    )


def password_reset(name: str, link: str, minutes: int) -> MailText:
    """Return the message with a link for replacing a forgotten password."""
    return MailText(
        "Escolha uma nova senha no Balcão",
        (f"Olá, {name}.", "Alguém pediu uma nova senha para este e-mail no Balcão."),
        MailButton("Escolher uma nova senha", link),
        f"O link vale por {counted(minutes, 'minuto', 'minutos')} e só pode ser usado uma vez. Se"
        " não foi você, ignore esta mensagem: a senha atual continua valendo.",
    )


def recovery_code_used(name: str, left: int, address: str) -> MailText:
    """Return the notice that a recovery code was used to sign in."""
    remaining = counted(left, "código de recuperação", "códigos de recuperação")
    return MailText(
        "Um código de recuperação foi usado no Balcão",
        (
            f"Olá, {name}.",
            "Alguém entrou com a sua senha e um dos seus códigos de recuperação, em vez do"
            " aplicativo autenticador.",
            f"Resta {remaining}." if left == 1 else f"Restam {remaining}.",
        ),
        MailButton("Ver o meu acesso", f"{address}/app/eu"),
        "Se não foi você, troque a senha agora e gere novos códigos.",
    )


def low_balance(account: str, available: int, threshold: int, address: str) -> MailText:
    """Return the notice to an account's managers that its balance has become low."""
    return MailText(
        f"Saldo baixo: {account}",
        (
            f"A conta {account} tem {credits(available)} disponíveis, menos que os"
            f" {credits(threshold)} do seu aviso.",
            "Quando o saldo acabar, as consultas pagas serão recusadas.",
        ),
        MailButton("Ver o extrato", f"{address}/app/extrato"),
        "Você recebe esta mensagem porque é gestor da conta. O limite do aviso pode ser alterado"
        " em Extrato › Aviso de saldo.",
    )


def trial() -> MailText:
    """Return the message of `balcao mail test`."""
    return MailText(
        "Teste de e-mail do Balcão",
        ("Esta é uma mensagem de teste. O envio de e-mails do Balcão está funcionando.",),
    )
