"""Parameters of requests (contract 2). Each reads and describes itself; its errors name it."""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar
from urllib.parse import parse_qsl

from balcao.core import deprecations
from balcao.core.deprecations import DeprecatedFeature
from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import (
    BirthDateInFuture,
    InvalidBirthDate,
    InvalidParameter,
    InvalidStrategy,
    InvalidUf,
    RepeatedParameter,
    TagWithCpf,
)
from balcao.core.federation import ALL
from balcao.core.ledger import NO_TAGS, RequestTags
from balcao.core.questions import Strategy
from balcao.core.request_tags import TAG_CHARACTERS, TAG_PATTERN, tag_problem

# A request with more fields is refused; parse_qsl stops.
_FIELDS_MAX = 100


def split(query: bytes) -> Sequence[tuple[str, str]]:
    """Split a query like `parse_qsl`, with blank values. Raises `InvalidParameter`.

    Nothing is memoized: a query may contain a person's data. Queries without anything to decode,
    which most are, are split directly, in a quarter of the time.
    """
    text = query.decode("latin-1")
    if "%" in text or "+" in text:
        try:
            return parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS_MAX)
        except ValueError:
            raise _too_many() from None
    fields = text.split("&")
    if len(fields) > _FIELDS_MAX:
        raise _too_many()
    return [field.partition("=")[::2] for field in fields if field]


def _too_many() -> InvalidParameter:
    return InvalidParameter("A consulta tem parâmetros demais.")


def _upper(text: str) -> str:
    """Return ASCII text in upper case, other text as it is: `upper` turns a long s into an S."""
    return text.upper() if text.isascii() else text


class Parameters:
    """The query string and the headers of one request. Unknown parameters are ignored."""

    __slots__ = ("_headers", "_query")

    def __init__(self, query: bytes, headers: Mapping[bytes, bytes], names: Sequence[str]) -> None:
        self._headers = headers
        self._query: dict[str, str] = {}
        if not query:
            return
        for name, value in split(query):
            if name in names:
                if name in self._query:
                    raise RepeatedParameter(f"O parâmetro {name} foi informado mais de uma vez.")
                self._query[name] = value.strip()

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Parameters":
        """Return parameters with these values, for requests without a query string."""
        made = cls(b"", {}, ())
        made._query.update((name, value.strip()) for name, value in values.items())
        return made

    def text(self, name: str) -> str | None:
        """Return the value in the query string, or None."""
        return self._query.get(name)

    def header(self, name: bytes) -> str | None:
        """Return the value of a header (lower-case name), or None."""
        value = self._headers.get(name)
        # HTTP's white space only: a no-break space must be refused as an invisible character.
        return None if value is None else value.decode("latin-1").strip(" \t")


class Parameter:
    """A parameter of the contract. `field`: the form's field for it, if there is one."""

    def __init__(
        self,
        name: str,
        description: str,
        schema: Mapping[str, object],
        *,
        place: str = "query",  # path, query, header
        required: bool = False,
        example: object = None,
        deprecated: DeprecatedFeature | None = None,
        field: str = "",
    ) -> None:
        self.name = name
        self.description = description
        self.schema = schema
        self.place = place
        self.required = required
        self.example = example
        self.deprecated = deprecated
        self.field = field


Kind = TypeVar("Kind", Cnpj, Cpf)


class DocumentParameter(Parameter, Generic[Kind]):
    """A CNPJ or CPF."""

    def __init__(
        self, kind: type[Kind], description: str, *, place: str, example: str | None = None
    ) -> None:
        name, characters = ("cnpj", 14) if kind is Cnpj else ("cpf", 11)
        super().__init__(
            name,
            description,
            {"type": "string", "format": name, "minLength": characters, "maxLength": 64},
            place=place,
            required=place == "path",
            example=example,
            field=name if place == "path" else "quem",
        )
        self._kind: type[Kind] = kind

    def read(self, text: str) -> Kind:
        """Return the document. Raises `InvalidCnpj` or `InvalidCpf`."""
        document: Kind = self._kind.parse(text)
        return document


def cnpj_in_path(example: str) -> DocumentParameter[Cnpj]:
    """Return the path parameter of an operation about a company."""
    return DocumentParameter(
        Cnpj,
        "CNPJ completo, com ou sem pontuação (a barra pode ser codificada como %2F). Letras são"
        " aceitas nas doze primeiras posições.",
        place="path",
        example=example,
    )


class BirthDate(Parameter):
    """`data_nascimento`: yyyyMMdd (contract 2.8)."""

    _FORM = re.compile(r"[0-9]{8}", re.ASCII)

    def __init__(self, description: str) -> None:
        schema = {"type": "string", "pattern": "^[0-9]{8}$"}
        super().__init__("data_nascimento", description, schema, field="quem")

    def read(self, text: str, today: datetime.date) -> str:
        """Return the day as `YYYY-MM-DD`. Raises `InvalidBirthDate`, `BirthDateInFuture`."""
        if not self._FORM.fullmatch(text):
            raise InvalidBirthDate
        try:
            born = datetime.date(int(text[:4]), int(text[4:6]), int(text[6:]))
        except ValueError:
            raise InvalidBirthDate from None
        if born > today:
            raise BirthDateInFuture
        return born.isoformat()


class Days(Parameter):
    """`cache`: the maximum age of a cached result in days; the query overrides the header."""

    FORM = re.compile(r"[0-9]{1,4}", re.ASCII)

    def __init__(
        self,
        description: str,
        *,
        default: int,
        largest: int,
        header_deprecated: DeprecatedFeature | None = None,
    ) -> None:
        schema = {"type": "integer", "minimum": 0, "maximum": largest}
        super().__init__("cache", description, schema | {"default": default}, field="onde")
        self.default, self.largest = default, largest
        self.header_deprecated = header_deprecated

    def in_header(self, description: str) -> Parameter:
        """Return this parameter as a header (contract 2.4)."""
        schema, deprecated = dict(self.schema), self.header_deprecated
        if deprecated is not None:
            del schema["default"]
            description = f"{description} {deprecated.notice}"
        return Parameter(self.name, description, schema, place="header", deprecated=deprecated)

    def read(self, sent: Parameters) -> tuple[int, DeprecatedFeature | None]:
        """Return the number of days, and the deprecated form that was used (contract 2.4)."""
        text, deprecated = sent.text(self.name), None
        if text is None:
            text = sent.header(b"cache")
            if text is None:
                return self.default, None
            deprecated = self.header_deprecated
        if not self.FORM.fullmatch(text) or int(text) > self.largest:
            raise InvalidParameter(
                f"O parâmetro {self.name} deve ser um número inteiro de dias, de 0 a"
                f" {self.largest}."
            )
        return int(text), deprecated


class CreditsMax(Parameter):
    """`creditos_maximos`: the highest price that a lookup may have (contract 10.2).

    Usually a header, `X-Creditos-Maximos`, which the query overrides. It is part of neither the
    question nor its fingerprint.
    """

    HEADER = "X-Creditos-Maximos"
    LARGEST = 9_999

    def __init__(self) -> None:
        super().__init__(
            "creditos_maximos",
            f"O mesmo que o cabeçalho `{self.HEADER}`. Prevalece sobre ele.",
            {"type": "integer", "minimum": 0, "maximum": self.LARGEST},
        )

    def in_header(self) -> Parameter:
        """Return this parameter as a header."""
        return Parameter(
            self.HEADER,
            "O máximo que esta consulta pode custar, em créditos. Se o preço puder passar desse"
            " valor, a resposta é 402 `TETO_DA_REQUISICAO`: nada é consultado nem cobrado, e a"
            " Idempotency-Key continua livre. Com 0, só vêm respostas grátis.",
            self.schema,
            place="header",
        )

    def read(self, sent: Parameters) -> int | None:
        """Return the credits; None: no maximum."""
        text = sent.text(self.name)
        if text is None:
            text = sent.header(self.HEADER.lower().encode())
        if text is None:
            return None
        if not Days.FORM.fullmatch(text):
            raise InvalidParameter(
                f"{self.HEADER} (ou creditos_maximos) deve ser um número inteiro, de 0 a"
                f" {self.LARGEST}."
            )
        return int(text)


class TagHeader(Parameter):
    """`X-Cliente` or `X-Referencia`: the caller's own label of a request (contract 11.1)."""

    def __init__(self, name: str, description: str, example: str) -> None:
        schema = {"type": "string", "pattern": f"^{TAG_PATTERN.pattern}$", "maxLength": 64}
        super().__init__(name, description, schema, place="header", example=example)
        self._header = name.lower().encode()

    def read(self, sent: Parameters) -> str | None:
        """Return the tag. Raises `InvalidParameter`, `TagWithCpf`."""
        text = sent.header(self._header)
        if text is None:
            return None
        match tag_problem(text):
            case None:
                return text
            case "cpf":
                raise TagWithCpf
            case "form":
                raise InvalidParameter(
                    f"O cabeçalho {self.name} deve ter de 1 a 64 caracteres: {TAG_CHARACTERS}"
                )


class Flag(Parameter):
    """A flag: `true`, `false`, `1`, `0` in any case; false unless it is sent (contract 2.6)."""

    _VALUES: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}

    def __init__(self, name: str, description: str, *, field: str = "") -> None:
        super().__init__(name, description, {"type": "boolean", "default": False}, field=field)

    def read(self, sent: Parameters) -> bool:
        text = sent.text(self.name)
        if text is None:
            return False
        value = self._VALUES.get(text.lower())
        if value is None:
            raise InvalidParameter(f"O parâmetro {self.name} deve ser true ou false.")
        return value


class WordChoice(Parameter):
    """One of two words in any case. The first is the default, optionally for an empty value too."""

    def __init__(
        self,
        name: str,
        description: str,
        words: tuple[str, str],
        *,
        field: str = "",
        empty_is_first: bool = False,
    ) -> None:
        schema = {"type": "string", "enum": [*words], "default": words[0]}
        super().__init__(name, description, schema, field=field)
        self._words = words
        self._absent = (None, "") if empty_is_first else (None,)

    def read(self, sent: Parameters) -> str:
        text = sent.text(self.name)
        if text in self._absent:
            return self._words[0]
        if text is None or text.lower() not in self._words:
            first, second = self._words
            raise InvalidParameter(f"O parâmetro {self.name} deve ser {first} ou {second}.")
        return text.lower()


class UfChoice(Parameter):
    """`uf`: trimmed, any case; empty counts as omitted (contract 2.3)."""

    def __init__(
        self,
        description: str,
        ufs: Sequence[str],
        *,
        all_at_once: bool = False,  # BR
        required: bool = False,
    ) -> None:
        self.allowed = (ALL, *ufs) if all_at_once else tuple(ufs)
        super().__init__(
            "uf",
            description,
            {"type": "string", "enum": [*self.allowed] if required else ["", *self.allowed]},
            required=required,
            example=("SP" if "SP" in ufs else ufs[0]) if required else None,
            field="uf",
        )

    def read(self, sent: Parameters) -> str | None:
        """Return the UF, BR, or None. Raises `InvalidUf`."""
        text = sent.text("uf")
        if not text:
            return None
        uf = _upper(text)
        if uf not in self.allowed:
            raise InvalidUf(f"O parâmetro uf deve ser um destes: {', '.join(self.allowed)}.")
        return uf


class StrategyChoice(Parameter):
    """`cache_strategy`: exact names, any case (contract 2.5)."""

    def __init__(
        self,
        description: str,
        allowed: Sequence[Strategy],
        *,
        default: Strategy,
        field: str = "onde",
    ) -> None:
        schema = {"type": "string", "enum": [*map(str, allowed)], "default": str(default)}
        super().__init__("cache_strategy", description, schema, field=field)
        self._allowed, self._default = allowed, default

    def read(self, sent: Parameters) -> Strategy:
        """Return the strategy. Raises `InvalidStrategy`."""
        text = sent.text(self.name)
        if text is None:
            return self._default
        for strategy in self._allowed:
            if strategy == _upper(text):
                return strategy
        raise InvalidStrategy(f"cache_strategy deve ser uma destas: {', '.join(self._allowed)}.")


# Shared by companies and registrations (contract 2.4, 2.5).
BY_AGE = (
    Strategy.CACHE_SE_EXISTIR,
    Strategy.CACHE_PREFERENCIAL,
    Strategy.SO_ONLINE,
    Strategy.ONLINE_PREFERENCIAL,
)
CACHE = Days(
    "Idade máxima, em dias, de um resultado guardado. Com 0, nenhum resultado é aceito pela idade.",
    default=7,
    largest=365,
    header_deprecated=deprecations.CACHE_HEADER,
)
CACHE_HEADER = CACHE.in_header(
    "Forma antiga do parâmetro `cache`, que prevalece se os dois forem enviados."
)

CREDITS_MAX = CreditsMax()
CREDITS_MAX_HEADER = CREDITS_MAX.in_header()

CLIENT = TagHeader(
    "X-Cliente",
    "O seu código do cliente da consulta. Volta na resposta, no extrato e no consumo. Não"
    " diferencia duas requisições com a mesma Idempotency-Key. Um CPF é recusado"
    " (`MARCA_COM_CPF`).",
    "loja-7",
)
REFERENCE = TagHeader(
    "X-Referencia",
    "Um código seu para a consulta, como o número de um pedido. Use em `/conta/v1/operacoes` para"
    " encontrar a requisição. Um CPF é recusado (`MARCA_COM_CPF`).",
    "pedido:2026/1017",
)
TAG_HEADERS = frozenset({b"x-cliente", b"x-referencia"})


def read_tags(headers: Mapping[bytes, bytes]) -> RequestTags:
    """Return the tags of a request. Raises `InvalidParameter`, `TagWithCpf`."""
    if TAG_HEADERS.isdisjoint(headers):
        return NO_TAGS
    sent = Parameters(b"", headers, ())
    return RequestTags(CLIENT.read(sent), REFERENCE.read(sent))
