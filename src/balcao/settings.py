"""Every setting, typed, with its sentence. `docs/settings.md` is written from this class.

Settings come from the environment (`BALCAO_PORT`, nested ones with two underscores:
`BALCAO_CNPJA__KEY`) and from one TOML file (`$BALCAO_CONFIG`, else `balcao.toml` in the data
folder or here). The environment wins. They are read once, at start; all complaints together.
"""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)


class Limits(BaseModel):
    """Requests allowed for an account (decisions 7.1)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    per_minute: int = Field(ge=1, description="Requests per minute, and how many may come at once.")
    per_day: int = Field(ge=1, description="Requests per 24 hours, and how many may come at once.")


class MinhaReceita(BaseModel):
    """Minha Receita, or BrasilAPI, which answers in the same form."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str = Field("https://minhareceita.org", description="Base address.")
    flavour: Literal["minha_receita", "brasilapi"] = Field(
        "minha_receita", description="Whose paths and error bodies to expect at the address."
    )


class Cnpja(BaseModel):
    """CNPJá, commercial API."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str = Field("https://api.cnpja.com", description="Base address.")
    key: SecretStr | None = Field(None, description="API key; without it the source is off.")
    accepts_alphanumeric: bool = Field(
        False, description="Ask it about CNPJ with letters (not documented by the vendor)."
    )


class Serpro(BaseModel):
    """SERPRO Consulta CNPJ v2, by contract."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str = Field("https://gateway.apiserpro.serpro.gov.br", description="Base address.")
    consumer_key: SecretStr | None = Field(None, description="OAuth2 client; without it: off.")
    consumer_secret: SecretStr | None = Field(None, description="OAuth2 secret.")
    product: str = Field("consulta-cnpj-df", description="Path of the product; trial: -trial.")
    full_partners: bool = Field(
        False, description="The contract includes `empresa`, with partners' full CPF (opt-in)."
    )
    accepts_alphanumeric: bool = Field(True, description="Ask it about CNPJ with letters.")


class Settings(BaseSettings):
    """All settings of one process."""

    model_config = SettingsConfigDict(
        env_prefix="BALCAO_",
        env_nested_delimiter="__",
        nested_model_default_partial_update=True,
        extra="forbid",
        frozen=True,
    )

    home: Path = Field(Path(".balcao"), description="Data folder: databases, snapshots, receipts.")
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=1, le=65535, description="Port to listen on.")
    public_url: str = Field("", description="Address in links and examples; empty: host and port.")
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", description="One event per line as JSON, or for a person; auto: by terminal."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severity that is logged."
    )
    tls_certificate: Path | None = Field(None, description="PEM file; with tls_key: HTTPS.")
    tls_key: Path | None = Field(None, description="PEM file of the certificate's key (PKCS#8).")
    requests_max: int = Field(
        1024, ge=128, description="Requests under way at once; beyond it we answer 503."
    )
    header_bytes_max: int = Field(
        16_384, ge=1024, description="Longest request line and headers (decisions 7.4)."
    )
    source_deadline_seconds: float = Field(
        25.0, gt=0, description="All sources together; then it counts as failed (decisions 7.5)."
    )
    source_timeout_seconds: float = Field(
        10.0, gt=0, description="One source, when another may still be asked after it."
    )
    source_answer_bytes_max: int = Field(
        10_000_000, ge=1024, description="Longer upstream answers count as failed."
    )
    breaker_failures: int = Field(
        5, ge=1, description="Failures in a row after which a source is left alone for a while."
    )
    breaker_seconds: float = Field(15.0, gt=0, description="How long it is left alone.")
    company_sources: tuple[str, ...] = Field(
        ("snapshot", "minha_receita", "cnpja", "serpro"),
        description="Who answers the company registry, in order; those not configured are skipped.",
    )
    minha_receita: MinhaReceita | None = Field(None, description="Minha Receita or BrasilAPI.")
    cnpja: Cnpja | None = Field(None, description="CNPJá.")
    serpro: Serpro | None = Field(None, description="SERPRO.")
    limits_gratuito: Limits = Field(
        Limits(per_minute=20, per_day=500), description="Limits of plan `gratuito`."
    )
    limits_pre_pago: Limits = Field(
        Limits(per_minute=300, per_day=50_000), description="Limits of plan `pre_pago`."
    )
    limits_pos_pago: Limits = Field(
        Limits(per_minute=1_200, per_day=500_000), description="Limits of plan `pos_pago`."
    )
    idempotency_hours: int = Field(
        96, ge=1, description="How long results stay under their Idempotency-Key (decisions 6.1)."
    )
    sandbox_establishments: int = Field(
        10_000, ge=0, description="Size of the fictitious month made at the first start."
    )

    @classmethod
    def settings_customise_sources(  # noqa: D102 - pydantic-settings' own hook
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        toml = TomlConfigSettingsSource(settings_cls, toml_file=config_file())
        return init_settings, env_settings, toml


def config_file() -> Path | None:
    """The TOML file in force, or None: `$BALCAO_CONFIG`, the data folder's, the working one's."""
    if named := os.environ.get("BALCAO_CONFIG"):
        return Path(named)
    home = Path(os.environ.get("BALCAO_HOME", ".balcao"))
    for candidate in (home / "balcao.toml", Path("balcao.toml")):
        if candidate.is_file():
            return candidate
    return None
