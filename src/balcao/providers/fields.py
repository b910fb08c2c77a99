"""What the settings of several providers are made of."""

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
    """An empty variable is no path: files of settings for containers are full of them."""
    return None if text == "" else text


def web_address(text: str) -> str:
    """An address on the web, or none."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # Python's own words are English
        raise ValueError("tem uma porta, ou um endereço IPv6, que não existe") from None
    if text and not known:
        raise ValueError("deve começar com http:// ou https:// e ter o nome de uma máquina")
    return text


# It may have a user and a password, which are not shown.
WebAddress: TypeAlias = Annotated[str, AfterValidator(web_address)]
Uf: TypeAlias = Annotated[str, AfterValidator(_uf)]
# What is said of something: its name, how it is, and a text with the remedy.
Remark: TypeAlias = tuple[str, Literal["ok", "warn", "fail"], str]
File: TypeAlias = Annotated[Path | None, BeforeValidator(_unset)]


class ProviderSettings(BaseModel):
    """One provider's part of the settings, and what follows from it. Off until it is complete."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    if TYPE_CHECKING:  # each declares its own, with its default and where it stands

        @property
        def url(self) -> str:
            """Where it is asked."""

    @property
    def is_on(self) -> bool:
        """Whether it can be asked: with all its keys, and of whom asks for none, always."""
        keys = (each for _, each in self if isinstance(each, SecretStr))
        return all(each.get_secret_value() for each in keys)

    @property
    def address(self) -> str:
        """Where it is asked, in an address or in words."""
        return self.url

    @property
    def addresses(self) -> Mapping[str, str]:
        """The address by UF, where each has its own."""
        return {}

    @property
    def origins_of_receipts(self) -> Sequence[str]:
        """From where its certificates' receipts are fetched, where they do not come along."""
        return ()

    @property
    def without_receipts(self) -> str | None:
        """What to say where its certificates come without their receipts."""
        return None

    def check(self) -> None:
        """Find out before anything is made. Raises `ProviderUnusable`."""

    def out_of_use(self, now: datetime) -> str | None:
        """Why it cannot be asked although it is switched on; `now` is aware."""
        return None

    def remarks(self, now: datetime) -> Iterator[Remark]:
        """What `balcao doctor` should say of it beside its address and keys."""
        return iter(())

    @classmethod
    def simulated(cls, base: str) -> Self:
        """Everything switched on, at the simulator of this address."""
        raise NotImplementedError
