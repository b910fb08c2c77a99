"""Reading a request for a federal certificate: one document, and how hard to look for it.

Specification, endpoint 4; decisions 2.5, 2.6, 2.8.
"""

import datetime
import re
from collections.abc import Callable

from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry, Question, Strategy
from balcao.errors import (
    BirthDateInFuture,
    BirthDateRequired,
    DocumentRequired,
    DocumentsConflict,
    InvalidBirthDate,
    InvalidParameter,
    ParametersConflict,
)
from balcao.operations.contract import Parameter
from balcao.operations.parameters import Parameters

STRATEGIES = (
    Strategy.CACHE_PREFERENCIAL,
    Strategy.CACHE_SE_EXISTIR,
    Strategy.SO_CACHE,
    Strategy.SO_ONLINE,
    Strategy.ONLINE_PREFERENCIAL,
)
_BIRTH = re.compile(r"[0-9]{8}", re.ASCII)


def parse(today: Callable[[], datetime.date], document: str, parameters: Parameters) -> Question:
    """Check and normalise a request. Raises `InvalidInput` of some kind, before any query."""
    inquired, birth = _who(parameters, today)
    strategy = parameters.strategy(STRATEGIES, Strategy.CACHE_PREFERENCIAL)
    preference = (parameters.text("preferencia_emissao") or "2via").lower()
    if preference not in ("2via", "nova"):
        raise InvalidParameter("O parâmetro preferencia_emissao deve ser 2via ou nova.")
    reissue = preference == "nova"
    refresh = parameters.boolean("atualizar_online")
    if strategy is Strategy.SO_CACHE and (reissue or refresh):
        raise ParametersConflict
    return Question(
        subject="federal_certificate",
        inquiries=(Inquiry("federal_certificate", inquired, birth=birth, reissue=reissue),),
        strategy=strategy,
        max_age_days=0,
        refresh=refresh,
    )


def _who(
    parameters: Parameters, today: Callable[[], datetime.date]
) -> tuple[Cnpj | Cpf, str | None]:
    """The one document of the request (decisions 2.8)."""
    cnpj, cpf = parameters.text("cnpj"), parameters.text("cpf")
    birth = parameters.text("data_nascimento")
    if cnpj and (cpf or birth):
        raise DocumentsConflict
    if cnpj:
        return Cnpj.parse(cnpj), None
    if not cpf:
        raise DocumentRequired
    person = Cpf.parse(cpf)
    if not birth:
        raise BirthDateRequired
    if not _BIRTH.fullmatch(birth):
        raise InvalidBirthDate
    try:
        born = datetime.date(int(birth[:4]), int(birth[4:6]), int(birth[6:]))
    except ValueError:
        raise InvalidBirthDate from None
    if born > today():
        raise BirthDateInFuture
    return person, born.isoformat()


NAMES = (
    "cnpj",
    "cpf",
    "data_nascimento",
    "cache_strategy",
    "preferencia_emissao",
    "atualizar_online",
)

PARAMETERS = (
    Parameter(
        "cnpj",
        "query",
        "CNPJ, com ou sem pontuação. Não se combina com cpf nem data_nascimento.",
        {"type": "string", "format": "cnpj", "minLength": 14, "maxLength": 64},
        example="90010001000100",
    ),
    Parameter(
        "cpf",
        "query",
        "CPF, com ou sem pontuação; exige data_nascimento.",
        {"type": "string", "format": "cpf", "minLength": 11, "maxLength": 64},
    ),
    Parameter(
        "data_nascimento",
        "query",
        "Data de nascimento, yyyyMMdd; obrigatória com cpf.",
        {"type": "string", "pattern": "^[0-9]{8}$"},
    ),
    Parameter(
        "cache_strategy",
        "query",
        "Cache ou fonte primeiro. Uma certidão vencida nunca é entregue como válida.",
        {
            "type": "string",
            "enum": [str(strategy) for strategy in STRATEGIES],
            "default": str(Strategy.CACHE_PREFERENCIAL),
        },
    ),
    Parameter(
        "preferencia_emissao",
        "query",
        "`2via` procura na fonte uma certidão ainda válida antes de emitir outra; `nova` pede uma"
        " emissão nova à fonte.",
        {"type": "string", "enum": ["2via", "nova"], "default": "2via"},
    ),
    Parameter(
        "atualizar_online",
        "query",
        "true: consulta a fonte mesmo que haja um resultado guardado.",
        {"type": "boolean", "default": False},
    ),
)
