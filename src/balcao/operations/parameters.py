"""Parameters of requests (contract 2): each reads and describes itself. Complaints name it."""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar
from urllib.parse import parse_qsl

from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import (
    BirthDateInFuture,
    InvalidBirthDate,
    InvalidParameter,
    InvalidStrategy,
    InvalidUf,
    MarkWithCpf,
    RepeatedParameter,
)
from balcao.core.federation import ALL
from balcao.core.ledger import NO_MARKS, Marks
from balcao.core.marks import FORM, FORM_TOLD, mark_flaw
from balcao.core.questions import Strategy

# More fields than this is no request of ours; parse_qsl refuses to go on.
_FIELDS_MAX = 100


def split(query: bytes) -> Sequence[tuple[str, str]]:
    """Names and values as `parse_qsl` reads them, blank ones too. Raises `InvalidParameter`.

    Nothing is remembered: a query may hold a person's data. What has nothing to decode, as nearly
    all, is cut up in place, in a quarter of the time.
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
    """Upper case; but what is not ASCII stays as it is, since `upper` makes an S of a long s."""
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
        """What a query with these parameters says; for requests that never were one."""
        made = cls(b"", {}, ())
        made._query.update((name, value.strip()) for name, value in values.items())
        return made

    def text(self, name: str) -> str | None:
        """The value in the query string, or None."""
        return self._query.get(name)

    def header(self, name: bytes) -> str | None:
        """The value of a header (lower-case name), or None."""
        value = self._headers.get(name)
        # HTTP's white space only: a no-break space is a character, and no visible one.
        return None if value is None else value.decode("latin-1").strip(" \t")


class Parameter:
    """One parameter of the contract. `field` is the form's field that fills it in, if any does."""

    def __init__(
        self,
        name: str,
        description: str,
        schema: Mapping[str, object],
        *,
        place: str = "query",  # path, query, header
        required: bool = False,
        example: object = None,
        deprecated: bool = False,
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
        """The document. Raises `InvalidCnpj` or `InvalidCpf`."""
        document: Kind = self._kind.parse(text)
        return document


def cnpj_in_path(example: str) -> DocumentParameter[Cnpj]:
    """The document of an operation about a company."""
    return DocumentParameter(
        Cnpj,
        "CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou não). Letras"
        " são aceitas nas doze primeiras posições.",
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
        """The day as `YYYY-MM-DD`. Raises `InvalidBirthDate`, `BirthDateInFuture`."""
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
    """`cache`: how many days old a kept result may be; a header too, which the query outdoes."""

    FORM = re.compile(r"[0-9]{1,4}", re.ASCII)

    def __init__(self, description: str, *, default: int, largest: int) -> None:
        schema = {"type": "integer", "minimum": 0, "maximum": largest}
        super().__init__("cache", description, schema | {"default": default}, field="onde")
        self.default, self.largest = default, largest

    def in_header(self, description: str, *, deprecated: bool = False) -> Parameter:
        """The same as a header (contract 2.4)."""
        schema = dict(self.schema)
        if deprecated:
            del schema["default"]
        return Parameter(self.name, description, schema, place="header", deprecated=deprecated)

    def read(self, sent: Parameters) -> tuple[int, bool]:
        """A number of days, and whether it came as a header. The query wins (contract 2.4)."""
        text, from_header = sent.text(self.name), False
        if text is None:
            text = sent.header(b"cache")
            from_header = text is not None
        if text is None:
            return self.default, False
        if not self.FORM.fullmatch(text) or int(text) > self.largest:
            raise InvalidParameter(
                f"O parâmetro {self.name} deve ser um número inteiro de dias, de 0 a"
                f" {self.largest}."
            )
        return int(text), from_header


class CreditsMax(Parameter):
    """`creditos_maximos`: what a lookup may cost at the most (contract 10.2).

    Usually a header, `X-Creditos-Maximos`, which the query outdoes. It is no part of what is
    asked: neither of the question nor of its fingerprint.
    """

    HEADER = "X-Creditos-Maximos"
    LARGEST = 9_999

    def __init__(self) -> None:
        super().__init__(
            "creditos_maximos",
            f"O mesmo que o cabeçalho `{self.HEADER}`, e prevalece sobre ele.",
            {"type": "integer", "minimum": 0, "maximum": self.LARGEST},
        )

    def in_header(self) -> Parameter:
        """The header."""
        return Parameter(
            self.HEADER,
            "O máximo que esta consulta pode custar, em créditos. Se ela pode custar mais, a"
            " resposta é 402 `TETO_DA_REQUISICAO`: nada é consultado nem cobrado, e a"
            " Idempotency-Key fica livre. 0 pede só o que é de graça.",
            self.schema,
            place="header",
        )

    def read(self, sent: Parameters) -> int | None:
        """Credits; None: as many as it costs."""
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


class MarkHeader(Parameter):
    """`X-Cliente` or `X-Referencia`: the caller's own word for a request (contract 11.1)."""

    def __init__(self, name: str, description: str, example: str) -> None:
        schema = {"type": "string", "pattern": f"^{FORM.pattern}$", "maxLength": 64}
        super().__init__(name, description, schema, place="header", example=example)
        self._header = name.lower().encode()

    def read(self, sent: Parameters) -> str | None:
        """The mark. Raises `InvalidParameter`, `MarkWithCpf`."""
        text = sent.header(self._header)
        if text is None:
            return None
        match mark_flaw(text):
            case None:
                return text
            case "cpf":
                raise MarkWithCpf
            case "form":
                raise InvalidParameter(
                    f"O cabeçalho {self.name} deve ter de 1 a 64 caracteres: {FORM_TOLD}"
                )


class Flag(Parameter):
    """`true`, `false`, `1`, `0` in any case; false unless it is sent (contract 2.6)."""

    _VALUES: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}

    def __init__(self, name: str, description: str, *, field: str = "") -> None:
        super().__init__(name, description, {"type": "boolean", "default": False}, field=field)

    def read(self, sent: Parameters) -> bool:
        """Its value."""
        text = sent.text(self.name)
        if text is None:
            return False
        value = self._VALUES.get(text.lower())
        if value is None:
            raise InvalidParameter(f"O parâmetro {self.name} deve ser true ou false.")
        return value


class WordChoice(Parameter):
    """One of two words in any case, the first unless it is sent; or, if so said, also if empty."""

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
        self._left_out = (None, "") if empty_is_first else (None,)

    def read(self, sent: Parameters) -> str:
        """The word."""
        text = sent.text(self.name)
        if text in self._left_out:
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
        """The UF, BR, or None. Raises `InvalidUf`."""
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
        """The strategy. Raises `InvalidStrategy`."""
        text = sent.text(self.name)
        if text is None:
            return self._default
        for strategy in self._allowed:
            if strategy == _upper(text):
                return strategy
        raise InvalidStrategy(f"cache_strategy deve ser uma destas: {', '.join(self._allowed)}.")


# What companies and registrations have in common (contract 2.4, 2.5).
BY_AGE = (
    Strategy.CACHE_SE_EXISTIR,
    Strategy.CACHE_PREFERENCIAL,
    Strategy.SO_ONLINE,
    Strategy.ONLINE_PREFERENCIAL,
)
CACHE = Days(
    "Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por idade.",
    default=7,
    largest=365,
)
CACHE_HEADER = CACHE.in_header(
    "Forma antiga do parâmetro de consulta `cache`, que prevalece quando os dois são"
    " enviados. A resposta traz então o cabeçalho Deprecation.",
    deprecated=True,
)

CREDITS_MAX = CreditsMax()
CREDITS_MAX_HEADER = CREDITS_MAX.in_header()

CLIENT = MarkHeader(
    "X-Cliente",
    "Para quem é a consulta, num código seu: volta na resposta, no extrato e no consumo. Não é"
    " parte do que torna duas requisições a mesma. Um CPF é recusado (`MARCA_COM_CPF`).",
    "loja-7",
)
REFERENCE = MarkHeader(
    "X-Referencia",
    "A que a consulta pertence, num código seu, como o número de um pedido: por ela se acha a"
    " requisição em `/conta/v1/operacoes`. Um CPF é recusado (`MARCA_COM_CPF`).",
    "pedido:2026/1017",
)
MARK_HEADERS = frozenset({b"x-cliente", b"x-referencia"})


def read_marks(headers: Mapping[bytes, bytes]) -> Marks:
    """What the caller marks a request with. Raises `InvalidParameter`, `MarkWithCpf`."""
    if MARK_HEADERS.isdisjoint(headers):
        return NO_MARKS
    sent = Parameters(b"", headers, ())
    return Marks(CLIENT.read(sent), REFERENCE.read(sent))
