"""The portfolio of an account: its items, and what may be watched of them (contract 20.1, 20.2)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from balcao.core.described import described, doc
from balcao.core.documents import CPF_CHARACTERS, Cnpj, Cpf
from balcao.core.errors import BirthDateRequired, InvalidParameter, InvalidUf, TagWithCpf
from balcao.core.federation import UFS
from balcao.core.papers import BOUGHT_BY
from balcao.core.questions import Subject
from balcao.core.request_tags import CPF_IN_NAME, TAG_CHARACTERS, tag_problem

ITEMS_AT_ONCE: Final = 1_000  # in the list of one request
SYNCED_AT_ONCE: Final = 10_000
TAGS_MAX: Final = 10
USER_IDS_END: Final = 2**63  # the range of the databases

ROOT_CHARACTERS: Final = 8
_ROOT = re.compile(r"[0-9A-Za-z]{2}\.?[0-9A-Za-z]{3}\.?[0-9A-Za-z]{3}", re.ASCII)
_PUNCTUATION = str.maketrans("", "", "./-")

# Subjects that the comparison of months covers.
OF_MONTH: Final = ("cadastro", "socios", "simples", "filiais")
# Subjects that only lookups of the account's own answer. Those that end with `:` take a UF.
OF_LOOKUPS: Final = ("inscricoes:", "suframa", "produtor:")
PAPERS: Final = (
    "certidao_federal",
    "certidao_estadual:",
    "certidao_trabalhista",
    "regularidade_fgts",
)
OF_COMPANIES: Final = (*OF_MONTH, "inscricoes:", "suframa", *PAPERS)
OF_PEOPLE: Final = ("produtor:", "certidao_trabalhista", "certidao_federal")
WATCHED_USUALLY: Final = ("cadastro", "socios", "simples")

# The lookup that answers each.
ASKED_BY: Final[Mapping[str, Subject]] = {
    **dict.fromkeys(OF_MONTH, "company"),
    "inscricoes": "state_registration",
    "suframa": "suframa",
    "produtor": "rural_producer",
    **{str(kind): subject for kind, subject in BOUGHT_BY.items()},
}

_HOURS = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])", re.ASCII)


@described("Renovacao", "Quando as certidões são compradas de novo.")
class Renewal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """When certificates are bought again by themselves: `renovar`."""

    dias_antes: Annotated[int, doc("Dias antes do fim da validade.", minimum=1, maximum=60)] = 10
    janela: Annotated[str, doc("Entre que horas, no horário de Brasília.")] = "08:00-20:00"
    dias_uteis: Annotated[bool, doc("Só em dias úteis.")] = True


@described("Reconsulta", "De quanto em quanto tempo se consulta de novo.")
class Recheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """How often what only lookups answer is asked again: `reconsultar`."""

    a_cada_dias: Annotated[int, doc("Intervalo em dias.", minimum=1, maximum=90)]
    assuntos: Annotated[
        tuple[str, ...] | None, doc("Alguns de `vigiar`. Nulo: todos os que se consultam.")
    ] = None


@described("Avisos", "Os avisos a pessoas.")
class Notices(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The notices to people: `avisos`."""

    dias: Annotated[tuple[int, ...], doc("Dias restantes em que um vencimento é avisado.")] = (
        10,
        5,
        1,
    )
    resumo_as: Annotated[str | None, doc("Hora do resumo diário. Nulo: nenhum.")] = "08:00"
    imediatos: Annotated[
        Literal["nao", "de_dia", "sempre"], doc("Se avisos graves são enviados na hora.")
    ] = "de_dia"
    pessoas: Annotated[tuple[int, ...], doc("Os ids das pessoas avisadas.")] = ()


@described("CadastroDoItem", "A empresa como foi vista por último.")
class RegistryFacts(msgspec.Struct, frozen=True, gc=False):
    """The company of an item as last seen: `cadastro`."""

    nome_empresarial: Annotated[str | None, doc("Nome empresarial.")]
    situacao: Annotated[str | None, doc("Situação cadastral.")]
    data_situacao: Annotated[str | None, doc("Desde quando: AAAA-MM-DD.")]
    competencia: Annotated[str | None, doc("Mês dos dados: AAAA-MM. Nulo: uma consulta da conta.")]


# None: the portfolio's; False: never.
OwnRenewal: TypeAlias = Renewal | Literal[False] | None
OwnRecheck: TypeAlias = Recheck | Literal[False] | None


class WalletSettings(msgspec.Struct, frozen=True, gc=False):
    """The settings and standing of an account's portfolio; these are those of a new one."""

    account_id: int
    renew: Renewal | None = None
    recheck: Recheck | None = None
    notices: Notices = Notices()
    buyer_key_id: int | None = None
    buyer_user_id: int | None = None
    compared_month: str | None = None
    compared_ms: int | None = None
    compared: int = 0
    changed: int = 0
    unverified: int = 0
    stopped_reason: str | None = None
    stopped_ms: int | None = None
    resumes_ms: int | None = None
    clock_ms: int | None = None  # of a test account; None: real time
    clock_until_ms: int | None = None
    clock_run: int = 0


class WalletItem(msgspec.Struct, frozen=True, gc=False):
    """A watched subject. Its `repr` shows no CPF."""

    item_id: str
    account_id: int
    document: str  # a CNPJ, a root, or a masked CPF
    root: str | None  # None: of a person
    client: str | None
    reference: str | None
    tags: tuple[str, ...]
    watched: tuple[str, ...]
    renew: OwnRenewal
    recheck: OwnRecheck
    registry: RegistryFacts | None
    registrations: Sequence[Mapping[str, Any]]
    suframa: Mapping[str, Any] | None
    sequence: int
    verified_ms: int | None
    handled_ms: int | None
    recheck_ms: int | None
    created_ms: int
    ended_ms: int | None
    has_birth: bool  # the birth date of a person is known

    @property
    def is_person(self) -> bool:
        return self.root is None


class Watched(msgspec.Struct, frozen=True, gc=False):
    """The subject of an item: a company, a root, or a person. Its `repr` shows the CPF masked."""

    document: str  # a CNPJ, a root, or a masked CPF
    root: str | None
    cpf: Cpf | None

    @property
    def may_watch(self) -> Sequence[str]:
        """What may be watched of it; names that end with `:` take a UF."""
        if self.cpf is not None:
            return OF_PEOPLE
        return OF_MONTH if len(self.document) == ROOT_CHARACTERS else OF_COMPANIES


class ItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Everything that a request states about an item. `UNSET`: nothing. Not validated."""

    client: str | UnsetType | None = UNSET
    reference: str | UnsetType | None = UNSET
    tags: Sequence[str] | UnsetType = UNSET
    watched: Sequence[str] | UnsetType | None = UNSET
    renew: OwnRenewal | UnsetType = UNSET
    recheck: OwnRecheck | UnsetType = UNSET
    birth: str | UnsetType = UNSET  # YYYY-MM-DD

    @property
    def states_watched(self) -> bool:
        return isinstance(self.watched, Sequence)


class ItemTerms(msgspec.Struct, frozen=True, gc=False):
    """The part of an item that requests determine."""

    reference: str | None = None
    tags: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    renew: OwnRenewal = None
    recheck: OwnRecheck = None


def watched_of(document: str) -> Watched:
    """Return the subject of a document as the API takes it: a CNPJ, a CPF, or a root.

    Raises `InvalidCnpj`, `InvalidCpf`.
    """
    text = document.strip()
    bare = text.translate(_PUNCTUATION)
    if len(bare) == CPF_CHARACTERS:
        cpf = Cpf.parse(text)
        return Watched(cpf.masked, None, cpf)
    if len(bare) == ROOT_CHARACTERS and _ROOT.fullmatch(text):
        return Watched(bare.upper(), bare.upper(), None)
    cnpj = Cnpj.parse(text)
    return Watched(cnpj.text, cnpj.root, None)


def checked(subject: Watched, sent: ItemRequest) -> ItemRequest:
    """Return a request in normal form.

    Raises `InvalidParameter`, `TagWithCpf`, `InvalidUf`; each names the field.
    """
    changes: dict[str, Any] = {}
    for name, field in (("client", "cliente"), ("reference", "ref")):
        text = getattr(sent, name)
        if text is not UNSET:
            changes[name] = _label(text, field) if text else None
    if sent.tags is not UNSET:
        changes["tags"] = tags_of(sent.tags)
    if sent.watched is None:
        changes["watched"] = UNSET
    elif sent.watched is not UNSET:
        changes["watched"] = _watched(subject, sent.watched)
    if isinstance(sent.renew, Renewal):
        check_renewal(sent.renew, "renovar")
    if isinstance(sent.recheck, Recheck):
        check_recheck(sent.recheck, "reconsultar")
    return msgspec.structs.replace(sent, **changes) if changes else sent


def merged(
    subject: Watched, before: ItemTerms | None, sent: ItemRequest, *, has_birth: bool
) -> ItemTerms:
    """Return an item's terms after a checked request; what it does not state stays.

    `has_birth`: the birth date is known. Raises `InvalidParameter`, `BirthDateRequired`.
    """
    known = before or ItemTerms()
    watched = known.watched if sent.watched is UNSET else tuple(sent.watched or ())
    if not watched:
        if subject.cpf is not None:
            raise InvalidParameter("vigiar: de um CPF, diga o que acompanhar.")
        watched = WATCHED_USUALLY
    if subject.cpf is not None and "certidao_federal" in watched and not has_birth:
        raise BirthDateRequired
    recheck = known.recheck if sent.recheck is UNSET else sent.recheck
    if isinstance(recheck, Recheck) and sent.recheck is not UNSET:
        outside = set(recheck.assuntos or ()) - set(watched)
        if outside:
            raise InvalidParameter(f"reconsultar.assuntos: {min(outside)} não está em vigiar.")
    return ItemTerms(
        known.reference if sent.reference is UNSET else sent.reference,
        known.tags if sent.tags is UNSET else tuple(sent.tags),
        watched,
        known.renew if sent.renew is UNSET else sent.renew,
        recheck,
    )


def subjects_asked(watched: Sequence[str]) -> Iterator[tuple[Subject, str | None]]:
    """Yield the lookups that answer watched subjects, with their UFs."""
    for one in watched:
        name, _, uf = one.partition(":")
        yield ASKED_BY[name], uf or None


def tags_of(sent: Sequence[str]) -> tuple[str, ...]:
    """Return labels without repetitions. Raises `InvalidParameter`, `TagWithCpf`."""
    tags = tuple(dict.fromkeys(_label(tag, "etiquetas") for tag in sent))
    if len(tags) > TAGS_MAX:
        raise InvalidParameter(f"etiquetas: até {TAGS_MAX}.")
    return tags


def label_of(text: str, field: str) -> str:
    """Return a mark that `cliente` or `etiqueta` names. Raises `InvalidParameter`, `TagWithCpf`."""
    return _label(text, field)


def _label(text: str, field: str) -> str:
    match tag_problem(text):
        case "form":
            raise InvalidParameter(f"{field}: de 1 a 64 caracteres: {TAG_CHARACTERS}")
        case "cpf":
            raise TagWithCpf(f"{field}: {CPF_IN_NAME}")
    return text


def _watched(subject: Watched, sent: Sequence[str]) -> tuple[str, ...]:
    allowed = subject.may_watch
    found: dict[str, None] = {}
    for one in sent:
        name, colon, uf = one.partition(":")
        if name + colon not in allowed:
            raise InvalidParameter(f"vigiar: {_names_of(allowed)}.")
        if colon and uf.upper() not in UFS:
            raise InvalidUf(f"vigiar: {name}:UF, com a sigla de um estado.")
        found[name + colon + uf.upper()] = None
    if not found:
        raise InvalidParameter(f"vigiar: ao menos um de {_names_of(allowed)}.")
    order = {name: place for place, name in enumerate(allowed)}
    return tuple(sorted(found, key=lambda one: (order[_kind(one)], one)))


def _kind(watched: str) -> str:
    name, colon, _ = watched.partition(":")
    return name + colon


def _names_of(kinds: Sequence[str]) -> str:
    return ", ".join(f"{kind}UF" if kind.endswith(":") else kind for kind in kinds)


def check_renewal(sent: Renewal, field: str) -> None:
    """Raise `InvalidParameter` for an invalid member."""
    if not 1 <= sent.dias_antes <= 60:
        raise InvalidParameter(f"{field}.dias_antes: um número de 1 a 60.")
    start, _, end = sent.janela.partition("-")
    if not (_HOURS.fullmatch(start) and _HOURS.fullmatch(end) and start < end):
        raise InvalidParameter(f"{field}.janela: duas horas do dia, como 08:00-20:00.")


def check_recheck(sent: Recheck, field: str) -> None:
    """Raise `InvalidParameter` for an invalid member."""
    if not 1 <= sent.a_cada_dias <= 90:
        raise InvalidParameter(f"{field}.a_cada_dias: um número de 1 a 90.")
    if sent.assuntos is None:
        return
    known = (*OF_MONTH, *OF_LOOKUPS)
    for one in sent.assuntos:
        _, colon, uf = one.partition(":")
        if _kind(one) not in known or (colon and uf not in UFS):
            raise InvalidParameter(f"{field}.assuntos: alguns de {_names_of(known)}.")
    if not sent.assuntos:
        raise InvalidParameter(f"{field}.assuntos: ao menos um, ou nulo para todos.")


def check_notices(sent: Notices) -> None:
    """Raise `InvalidParameter` for an invalid member."""
    days = sent.dias
    if len(days) > 10 or len(set(days)) < len(days) or not all(1 <= day <= 60 for day in days):
        raise InvalidParameter("avisos.dias: até dez números diferentes, de 1 a 60.")
    if sent.resumo_as is not None and not _HOURS.fullmatch(sent.resumo_as):
        raise InvalidParameter("avisos.resumo_as: uma hora do dia, como 08:00, ou nulo.")
    if len(set(sent.pessoas)) < len(sent.pessoas):
        raise InvalidParameter("avisos.pessoas: cada pessoa uma vez.")
    if not all(0 <= person < USER_IDS_END for person in sent.pessoas):
        raise InvalidParameter("avisos.pessoas: ids de pessoas desta conta.")
