"""All settings with types and descriptions. `docs/settings.md` is generated from this class.

The descriptions are Portuguese, for operators.

Settings come from the environment (`BALCAO_PORT`, nested ones with two underscores:
`BALCAO_CNPJA__KEY`) and from one TOML file (`$BALCAO_CONFIG`, else `balcao.toml` in the data folder
or the working folder). The environment wins. They are read once, at start; all complaints are
reported together.
"""

import codecs
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args
from urllib.parse import unquote, urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    SecretStr,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    TomlConfigSettingsSource,
)

from balcao.core.access import Plan
from balcao.core.addresses import TrustedProxies
from balcao.core.people import SecondFactorRule
from balcao.core.questions import Subject
from balcao.home import Home
from balcao.operations import ALL_OPERATIONS
from balcao.providers import PROVIDERS, in_order
from balcao.providers.fields import File
from balcao.settings.files import GRATUITO, POS_PAGO, PRE_PAGO, FilesOfPlan
from balcao.settings.groups import Group
from balcao.settings.values import BearerToken, Network, Page, Place, Ufs
from balcao.settings.webhooks import WebhookSettings

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - recognised only


class Limits(BaseModel):
    """Requests allowed for an account (contract 7.1)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    per_minute: int = Field(
        ge=1, description="Requisições por minuto e quantas podem vir de uma vez."
    )
    per_day: int = Field(
        ge=1, description="Requisições em 24 horas e quantas podem vir de uma vez."
    )


@dataclass(frozen=True, slots=True)
class OneOf:
    """A type like `Literal`, with words that are computed at import."""

    words: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.words))


# Settings with paths: in a TOML file they are relative to its folder.
_FILES = (
    ("tls_certificate",),
    ("tls_key",),
    ("backup_folder",),
    ("smtp_password_file",),
    ("webhook_ca_file",),
    *(
        (provider.name, name)
        for provider in PROVIDERS
        for name, field in provider.settings_class.model_fields.items()
        if Path in get_args(field.annotation)
    ),
)


# Former names of settings, which are refused with a message that names the new one.
RENAMED: Mapping[str, str] = {"ballast_mb": "disk_reserve_mb", "lane": "fast_path"}


class FromEnvironment(EnvSettingsSource):
    """The variables. A list is separated by commas, or in JSON; settings with parts are in JSON."""

    def __call__(self) -> dict[str, Any]:
        """Return the values; those of renamed settings too, so that they are refused."""
        former = {
            name: value
            for name in RENAMED
            if (value := self.env_vars.get(f"{self.env_prefix}{name}".lower())) is not None
        }
        return super().__call__() | former

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: str) -> Any:
        """Decode a value; an invalid one stays a text and is refused later, with all others."""
        text = value.strip()
        if text.startswith(("[", "{")):
            try:
                return json.loads(text)
            except ValueError:
                return value
        return [part.strip() for part in text.split(",")] if text else value


class NotUtf8(ValueError):
    """The TOML file is not UTF-8; `line` is the first invalid line."""

    def __init__(self, line: int) -> None:
        super().__init__(f"not UTF-8 (at line {line})")
        self.line = line


def toml_text(file: Path) -> str:
    """Return the text of a TOML file, without the byte order mark of Windows' editors.

    Raises `NotUtf8`.
    """
    content = file.read_bytes().removeprefix(codecs.BOM_UTF8)
    if (zero := content.find(b"\0")) >= 0:  # UTF-16 without its mark
        raise NotUtf8(content.count(b"\n", 0, zero) + 1)
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise NotUtf8(content.count(b"\n", 0, error.start) + 1) from None


class TomlFile(TomlConfigSettingsSource):
    """The unchanged content of the TOML file."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        return tomllib.loads(toml_text(file_path))


class _Toml(TomlFile):
    """The TOML file, with paths resolved relative to its folder."""

    def __call__(self) -> dict[str, Any]:
        values = super().__call__()
        file = config_file()
        for name in _FILES:
            *group, last = name
            holder = values.get(group[0], {}) if group else values
            if file is not None and isinstance(holder, dict) and holder.get(last):
                holder[last] = str(file.absolute().parent / str(holder[last]))
        return values


def _of_operations() -> dict[str, Any]:
    """Return the fields of operations: sources and, where they can be chosen, UFs."""
    fields: dict[str, Any] = {}
    for each in ALL_OPERATIONS:
        order = in_order(each.subject, *each.sources)
        fields[f"{each.subject}_sources"] = (
            Annotated[tuple[Annotated[str, OneOf(order)], ...], Group.SOURCES],
            Field(order, description=each.sources_setting),
        )
    for each in ALL_OPERATIONS:
        if each.usual_ufs:
            fields[f"{each.subject}_ufs"] = (
                Annotated[Ufs, Group.SOURCES],
                Field(tuple(each.usual_ufs), min_length=1, description=each.ufs_setting),
            )
    return fields


def _of_providers() -> dict[str, Any]:
    """Return the fields of providers: their settings, or None."""
    return {
        provider.name: (
            Annotated[provider.settings_class | None, Group.SOURCES],
            Field(None, description=provider.description),
        )
        for provider in PROVIDERS
    }


if TYPE_CHECKING:

    class _SourceSettings(WebhookSettings): ...

else:
    _SourceSettings = create_model(
        "_SourceSettings", __base__=WebhookSettings, **_of_operations(), **_of_providers()
    )


class Settings(_SourceSettings):
    """All settings of one process."""

    limits_gratuito: Annotated[Limits, Group.PLANS] = Field(
        Limits(per_minute=20, per_day=500), description="Limites de cada conta do plano `gratuito`."
    )
    limits_pre_pago: Annotated[Limits, Group.PLANS] = Field(
        Limits(per_minute=300, per_day=50_000),
        description="Limites de cada conta do plano `pre_pago`.",
    )
    limits_pos_pago: Annotated[Limits, Group.PLANS] = Field(
        Limits(per_minute=1_200, per_day=500_000),
        description="Limites de cada conta do plano `pos_pago`.",
    )
    files_gratuito: Annotated[FilesOfPlan, Group.PLANS] = Field(
        GRATUITO, description="Arquivos de cada conta do plano `gratuito`."
    )
    files_pre_pago: Annotated[FilesOfPlan, Group.PLANS] = Field(
        PRE_PAGO, description="Arquivos de cada conta do plano `pre_pago`."
    )
    files_pos_pago: Annotated[FilesOfPlan, Group.PLANS] = Field(
        POS_PAGO, description="Arquivos de cada conta do plano `pos_pago`."
    )
    files_mb_max: Annotated[int, Group.PLANS] = Field(
        50_000,
        ge=1,
        description="Espaço máximo dos lotes de todas as contas, em megabytes.",
    )
    disk_free_mb_min: Annotated[int, Group.DATA] = Field(
        256,
        ge=0,
        description="Espaço livre mínimo, em megabytes, no disco da pasta de dados para receber"
        " arquivos. Abaixo da metade, arquivos ainda não lidos são recusados.",
    )
    receipts: Annotated[Place, Group.DATA] = Field(
        "",
        description="Onde guardar os comprovantes: uma pasta ou um endereço como"
        " `s3://bucket/prefixo`. Vazio: a pasta `receipts` da pasta de dados.",
    )
    cache_days: Annotated[int, Group.RETENTION] = Field(
        1825,
        ge=1,
        description="Por quantos dias um resultado fica guardado, a partir da consulta à fonte.",
    )
    cache_person_days: Annotated[int, Group.RETENTION] = Field(
        365,
        ge=1,
        description="O mesmo, para as respostas sobre pessoas físicas (produtor rural e certidões"
        " federal e trabalhista, por CPF; cadastro de empresas cuja natureza jurídica é 213-5 ou"
        " começa com 4).",
    )
    receipt_days: Annotated[int, Group.RETENTION] = Field(
        1825,
        ge=366,
        description="Por quantos dias um comprovante é guardado, desde a primeira entrega.",
    )
    backup_folder: Annotated[File, Group.BACKUP] = Field(
        None,
        description="Pasta dos backups, de preferência em outro disco. Vazio: a pasta `backups`"
        " da pasta de dados.",
    )
    disk_reserve_mb: Annotated[int, Group.DATA] = Field(
        32,
        ge=0,
        description="Megabytes reservados na pasta de dados. São liberados se o disco encher,"
        " para o serviço se recuperar sozinho. 0: nenhum. Só com SQLite.",
    )
    backup_every_hours: Annotated[int, Group.BACKUP] = Field(
        24,
        ge=0,
        description="Intervalo entre backups automáticos, em horas. 0: nunca. Com vários nós, só"
        " um deles faz.",
    )
    backup_keep: Annotated[int, Group.BACKUP] = Field(
        7,
        ge=1,
        description="Quantos backups ficam na pasta. Os mais antigos são apagados. Os feitos"
        " antes de uma migração ou restauração não contam e nunca são apagados.",
    )
    own_backup_of_schema: Annotated[int, Group.BACKUP] = Field(
        0,
        ge=0,
        description="Versão do esquema do banco de dados da qual você já tem um backup próprio. A"
        " migração dessa versão não faz outro.",
    )
    trusted_proxies: Annotated[tuple[Network, ...], Group.SERVER] = Field(
        (),
        description="Endereços ou redes dos proxies na frente do serviço, como `10.0.0.0/8`. Só"
        " deles é aceito o endereço do cliente (`X-Forwarded-For`), usado para limitar"
        " tentativas de acesso e verificar as redes permitidas de uma chave.",
    )
    metrics_token: Annotated[BearerToken, Group.MONITORING] = Field(
        SecretStr(""),
        description="Token para ler `/metrics` com `Authorization: Bearer`, de 16 caracteres ou"
        " mais, sem espaços (no Prometheus, `authorization: {credentials_file: …}`). Vazio:"
        " qualquer endereço de rede privada. A própria máquina sempre pode ler. Os demais"
        " recebem 404.",
    )
    session_idle_minutes: Annotated[int, Group.SESSIONS] = Field(
        60,
        ge=5,
        description="Minutos sem uso para encerrar uma sessão da aplicação.",
    )
    session_hours: Annotated[int, Group.SESSIONS] = Field(
        12, ge=1, description="Duração máxima de uma sessão da aplicação, em horas."
    )
    second_factor: Annotated[SecondFactorRule, Group.SESSIONS] = Field(
        "operators",
        description="Quem precisa de segundo fator para usar a aplicação: os operadores"
        " (`operators`), todos (`all`) ou só quem quiser (`optional`). Sem conta de produção,"
        " ninguém precisa.",
    )
    trace_days: Annotated[int, Group.RETENTION] = Field(
        180,
        ge=7,
        description="Por quantos dias são guardados os detalhes de cada consulta (autor,"
        " parâmetros, origem da resposta). Os de certidões são guardados ao menos enquanto o"
        " comprovante. A cobrança fica no livro-razão para sempre.",
    )
    wallet_items_max: Annotated[int, Group.PLANS] = Field(
        10_000,
        ge=1,
        le=1_000_000,
        description="Máximo de itens na carteira de uma conta.",
    )
    batch_days: Annotated[int, Group.RETENTION] = Field(
        30,
        ge=1,
        description="Por quantos dias o arquivo e os resultados de um lote são guardados depois"
        " do fim. As cobranças ficam no livro-razão para sempre.",
    )
    idempotency_hours: Annotated[int, Group.RETENTION] = Field(
        96,
        ge=1,
        description="Por quantas horas uma resposta pode ser repetida com a mesma Idempotency-Key.",
    )
    result_days: Annotated[int, Group.RETENTION] = Field(
        180,
        ge=4,
        description="Por quantos dias a aplicação mostra de novo o resultado das consultas feitas"
        " nela. No máximo `trace_days`.",
    )
    opendata_answers: Annotated[bool, Group.OPENDATA] = Field(
        True,
        description="Prepara as respostas do mês em uso, em um processo de baixa prioridade, para"
        " reduzir o tempo de cada consulta. Ocupam cerca de 150 bytes por estabelecimento.",
    )
    opendata_fetch: Annotated[bool, Group.OPENDATA] = Field(
        False,
        description="Baixa e coloca em uso cada mês novo do cadastro do CNPJ (cerca de 8 GB),"
        " entre 2h e 6h (horário de Brasília), em um processo de baixa prioridade.",
    )
    opendata_shares: Annotated[tuple[Page, ...], Group.OPENDATA] = Field(
        (
            "https://arquivos.receitafederal.gov.br/index.php/s/YggdBLfdninEJX9",
            "https://arquivos.receitafederal.gov.br/index.php/s/gn672Ad4CF8N6TK"
            "?dir=/Dados/Cadastros/CNPJ",
        ),
        min_length=1,
        description="Endereços em que a Receita Federal publica os meses, como aparecem no"
        " navegador. Podem mudar. É usado o primeiro que tem o mês mais recente.",
    )
    opendata_url: Annotated[Page, Group.OPENDATA] = Field(
        "",
        description="Espelho para baixar os meses, com uma pasta AAAA-MM por mês (WebDAV ou a"
        " lista de arquivos de um servidor web). Útil com várias instalações ou sem acesso à"
        " internet.",
    )
    opendata_contact: Annotated[str, Group.OPENDATA] = Field(
        "",
        pattern=r"^[!-~]*$",
        description="Seu e-mail ou site, enviado ao servidor de download (`User-Agent`).",
    )
    opendata_keep_zips: Annotated[bool, Group.OPENDATA] = Field(
        False,
        description="Guarda os zips baixados de cada mês. Se desativado, são apagados"
        " depois da troca.",
    )
    opendata_search: Annotated[bool, Group.OPENDATA] = Field(
        True,
        description="Prepara o índice da busca de empresas do mês em uso, em um processo de baixa"
        " prioridade. Ocupa cerca de 40 bytes por estabelecimento.",
    )
    preco_busca_creditos: Annotated[int, Group.PLANS] = Field(
        1,
        ge=0,
        le=9_999,
        description="Créditos por página de busca de empresas com resultados, por contagem e por"
        " busca de sócios. 0: grátis.",
    )
    sandbox_establishments: Annotated[int, Group.OPENDATA] = Field(
        10_000,
        ge=0,
        description="Estabelecimentos do mês fictício criado no primeiro início. 0: nenhum mês.",
    )

    def sources_of(self, subject: Subject) -> Sequence[str]:
        """Return the sources of a subject, in the order of asking."""
        found: Sequence[str] = getattr(self, f"{subject}_sources")
        return found

    def ufs_of(self, subject: Subject) -> Sequence[str]:
        """Return the configured UFs of an operation."""
        found: Sequence[str] = getattr(self, f"{subject}_ufs")
        return found

    @property
    def limits_by_plan(self) -> Mapping[Plan, Limits]:
        return {
            "gratuito": self.limits_gratuito,
            "pre_pago": self.limits_pre_pago,
            "pos_pago": self.limits_pos_pago,
        }

    @property
    def backups(self) -> Path:
        """The folder of backups: the configured one, else in the data folder."""
        return self.backup_folder or self.home / "backups"

    @property
    def receipts_folder(self) -> Path | None:
        """The folder of receipts. None: they are in a bucket."""
        if not self.receipts:
            return Home(self.home).receipts
        if self.receipts.startswith("file://"):
            return Path(unquote(urlsplit(self.receipts).path))
        is_bucket = "://" in self.receipts or self.receipts.startswith("memory:")
        return None if is_bucket else Path(self.receipts)

    @property
    def longest_lookup_seconds(self) -> float:
        """The longest time that a lookup may take, for which a graceful stop waits."""
        return max(self.source_deadline_seconds, self.batch_certificate_seconds)

    @property
    def address(self) -> str:
        """The public address of the service, for links and examples."""
        return self.public_url.rstrip("/") or self.own_address

    @property
    def proxies(self) -> TrustedProxies:
        """The rules for finding a caller's address.

        Without our own TLS, a public https address is a proxy's.
        """
        by_proxy = self.public_url.startswith("https:") and self.tls_certificate is None
        return TrustedProxies(self.trusted_proxies, by_proxy)

    def worker_port(self, number: int) -> int:
        """Return the loopback port of worker `number` (from 0), for its own `/metrics`."""
        return self.port + 1 + number

    @property
    def own_address(self) -> str:
        """The address at which this machine reaches the service."""
        host = _ANYWHERE.get(self.host, f"[{self.host}]" if ":" in self.host else self.host)
        scheme = "https" if self.tls_certificate is not None else "http"
        return f"{scheme}://{host}:{self.port}"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        toml = _Toml(settings_cls, toml_file=config_file())
        return init_settings, FromEnvironment(settings_cls), toml


def config_file() -> Path | None:
    """Return the TOML file in use: `$BALCAO_CONFIG`, the data folder's, the working folder's."""
    if named := os.environ.get("BALCAO_CONFIG"):
        return Path(named)
    home = Path(os.environ.get("BALCAO_HOME", ".balcao"))
    for candidate in (home / "balcao.toml", Path("balcao.toml")):
        if candidate.is_file():
            return candidate
    return None
