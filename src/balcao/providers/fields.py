"""What the settings of several providers are made of."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from balcao.core.federation import UFS


def _uf(text: str) -> str:
    uf = text.upper()  # names of nested variables arrive in lower case
    if uf not in UFS:
        raise ValueError("não é a sigla de uma UF")
    return uf


def _unset(text: object) -> object:
    """An empty variable is no path: files of settings for containers are full of them."""
    return None if text == "" else text


Uf: TypeAlias = Annotated[str, AfterValidator(_uf)]
File: TypeAlias = Annotated[Path | None, BeforeValidator(_unset)]


class ProviderSettings(BaseModel):
    """One provider's part of the settings. It is off until what it needs is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    if TYPE_CHECKING:  # each declares its own, with its default and where it stands

        @property
        def url(self) -> str:
            """Where it is asked."""

    @property
    def is_on(self) -> bool:
        """Whether it can be asked. Of whom asks for no key, being in the settings is enough."""
        return True
