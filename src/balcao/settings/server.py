"""The settings of the process: data, addresses, logs, limits of the server, and sources' times."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from balcao.providers.fields import File
from balcao.settings.groups import Group
from balcao.settings.values import Origin


class ServerSettings(BaseSettings):
    """The first part of the settings; `docs/settings.md` has the same order."""

    model_config = SettingsConfigDict(
        env_prefix="BALCAO_",
        env_nested_delimiter="__",
        nested_model_default_partial_update=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
    )

    home: Annotated[Path, Group.DATA] = Field(
        Path(".balcao"), description="Pasta de dados: bancos de dados e meses importados."
    )
    database: Annotated[SecretStr, Group.DATA] = Field(
        SecretStr(""),
        description="Endereço de um PostgreSQL (`postgresql://usuário:senha@host/banco`), que"
        " pode ser compartilhado por vários nós. Com uma réplica, informe os dois hosts"
        " (`host1,host2`). Vazio: SQLite, na pasta de dados. Todos os nós precisam do mesmo"
        " arquivo `secret.key`.",
    )
    host: Annotated[str, Group.SERVER] = Field(
        "127.0.0.1", min_length=1, description="Endereço de rede do serviço."
    )
    port: Annotated[int, Group.SERVER] = Field(
        8000, ge=1, le=65535, description="Porta onde ouvir."
    )
    public_url: Annotated[Origin, Group.SERVER] = Field(
        "", description="Endereço público, usado em links e exemplos. Vazio: o de `host` e `port`."
    )
    log_format: Annotated[Literal["auto", "json", "console"], Group.MONITORING] = Field(
        "auto",
        description="Formato do log: JSON, com um evento por linha, ou texto para leitura"
        " (`console`). `auto`: `console` em um terminal e JSON nos demais casos.",
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], Group.MONITORING] = Field(
        "info", description="Gravidade mínima dos eventos do log."
    )
    otel: Annotated[bool, Group.MONITORING] = Field(
        False,
        description="Envia o trace de cada requisição (OpenTelemetry, OTLP sobre HTTP). O destino"
        " e a amostragem são definidos pelas variáveis padrão `OTEL_…`, lidas só do ambiente."
        " Precisa do extra `otel`.",
    )
    tls_certificate: Annotated[File, Group.SERVER] = Field(
        None, description="Arquivo PEM do certificado. Com `tls_key`, ativa o HTTPS."
    )
    tls_key: Annotated[File, Group.SERVER] = Field(
        None, description="Arquivo PEM da chave do certificado (PKCS#8, sem senha)."
    )
    fast_path: Annotated[bool, Group.SERVER] = Field(
        True,
        description="Responde consultas com resultado já disponível por um caminho mais curto,"
        " com as mesmas respostas. Desativado com `otel`.",
    )
    workers: Annotated[int, Group.SERVER] = Field(
        1,
        ge=1,
        le=64,
        description="Processos que atendem na mesma porta, no máximo um por núcleo. Mais de um"
        " processo exige PostgreSQL (`database`).",
    )
    connections_per_address_max: Annotated[int, Group.SERVER] = Field(
        1024,
        ge=1,
        description="Máximo de conexões simultâneas de um endereço de rede (em IPv6, de um /64)."
        " As demais são recusadas. As dos `trusted_proxies` não contam.",
    )
    keep_alive_seconds: Annotated[float, Group.SERVER] = Field(
        75.0,
        ge=1,
        description="Segundos que uma conexão fica aberta na fila da próxima requisição. O proxy"
        " deve fechar antes (no nginx, 60 s).",
    )
    unread_bytes_max: Annotated[int, Group.SERVER] = Field(
        64_000_000,
        ge=1_000_000,
        description="Máximo, em bytes, de respostas ainda não lidas pelos clientes. Acima dele, é"
        " fechada a conexão que retém mais bytes há mais tempo.",
    )
    large_answers_max: Annotated[int, Group.SERVER] = Field(
        64,
        ge=1,
        description="Respostas com mais de 256 KB, como comprovantes, enviadas ao mesmo tempo. As"
        " demais aguardam.",
    )
    requests_max: Annotated[int, Group.SERVER] = Field(
        1024,
        ge=128,
        description="Consultas que aguardam uma fonte ao mesmo tempo. As demais recebem 503. Uma"
        " conta ocupa no máximo um quarto. Resultados já disponíveis são sempre respondidos.",
    )
    header_bytes_max: Annotated[int, Group.SERVER] = Field(
        16_384,
        ge=1024,
        description="Tamanho máximo, em bytes, da linha e dos cabeçalhos da requisição.",
    )
    source_deadline_seconds: Annotated[float, Group.SOURCES] = Field(
        25.0,
        gt=0,
        description="Prazo de todas as fontes juntas, em segundos. Depois disso, a consulta falha.",
    )
    source_timeout_seconds: Annotated[float, Group.SOURCES] = Field(
        10.0,
        gt=0,
        description="Prazo de uma fonte, em segundos, quando ainda há outra a consultar.",
    )
    batch_certificate_seconds: Annotated[float, Group.SOURCES] = Field(
        90.0,
        ge=60,
        le=120,
        description="Prazo de todas as fontes juntas, em segundos, para uma certidão de um lote."
        " Nunca menor que `source_deadline_seconds`, porque a emissão pode demorar.",
    )
    source_answer_bytes_max: Annotated[int, Group.SOURCES] = Field(
        10_000_000,
        ge=1024,
        description="Tamanho máximo, em bytes, da resposta de uma fonte. Acima dele, conta como"
        " falha. Nunca são lidos mais de 4 MB de dados de empresa nem 1 MB de inscrições ou"
        " Suframa.",
    )
    breaker_failures: Annotated[int, Group.SOURCES] = Field(
        5,
        ge=1,
        description="Falhas seguidas para que uma fonte entre em pausa.",
    )
    breaker_seconds: Annotated[float, Group.SOURCES] = Field(
        15.0, gt=0, description="Duração da pausa de uma fonte, em segundos."
    )
