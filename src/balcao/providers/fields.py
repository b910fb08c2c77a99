"""Base class and field types of the providers' settings."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr

from balcao.core.federation import UFS


def _uf(text: str) -> str:
    uf = text.upper()  # names of nested variables arrive in lower case
    if uf not in UFS:
        raise ValueError("não é a sigla de uma UF")
    return uf


def _unset(text: object) -> object:
    # an empty variable means no path: settings files of containers have many of them
    return None if text == "" else text


def web_address(text: str) -> str:
    """Return a valid HTTP address, or an empty text."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # Python's message is English
        raise ValueError("tem uma porta, ou um endereço IPv6, que não existe") from None
    if text and not known:
        raise ValueError("deve começar com http:// ou https:// e ter o nome de uma máquina")
    return text


# It may contain a user and a password, which are not shown.
WebAddress: TypeAlias = Annotated[str, AfterValidator(web_address)]
Uf: TypeAlias = Annotated[str, AfterValidator(_uf)]
# The result of a check: its title, its status, and a text with the remedy.
Remark: TypeAlias = tuple[str, Literal["ok", "warn", "fail"], str]
File: TypeAlias = Annotated[Path | None, BeforeValidator(_unset)]


class ProviderSettings(BaseModel):
    """One provider's part of the settings. It is off until its keys are set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    if TYPE_CHECKING:  # each subclass declares a field, with its default

        @property
        def url(self) -> str:
            """The base address."""

    @property
    def is_on(self) -> bool:
        """Whether the provider can be asked: all its keys are set, or it has none."""
        keys = (each for _, each in self if isinstance(each, SecretStr))
        return all(each.get_secret_value() for each in keys)

    @property
    def address(self) -> str:
        """The address for operators, as a URL or in words."""
        return self.url

    @property
    def addresses(self) -> Mapping[str, str]:
        """The address by UF, if each has its own."""
        return {}

    @property
    def allowed_receipt_origins(self) -> Sequence[str]:
        """Origins from which receipts may be fetched, if replies do not contain them."""
        return ()

    @property
    def missing_receipts_notice(self) -> str | None:
        """A notice for operators if its certificates come without receipts."""
        return None

    def check(self) -> None:
        """Check the settings at start. Raises `ProviderUnusable`."""

    def out_of_use(self, now: datetime) -> str | None:
        """Return why the provider cannot be asked although it is on; `now` is aware."""
        return None

    def remarks(self, now: datetime) -> Iterator[Remark]:
        """Yield remarks for `balcao doctor`, in addition to those on address and keys."""
        return iter(())

    @classmethod
    def simulated(cls, base: str) -> Self:
        """Return settings that enable everything, at the simulator of this base address."""
        raise NotImplementedError
