"""`/carteira/v1/mudancas`: the events about the items of a portfolio (contract 20.2)."""

import re
from dataclasses import dataclass

from balcao.core import errors
from balcao.http.contents import Json
from balcao.http.event_pages import AFTER, CLIENT, ITEM, KINDS, LIMIT, EventPages, example_events
from balcao.http.read import Request
from balcao.http.routes import Answer, Route
from balcao.http.texts import TAG_WALLET
from balcao.operations.parameters import Parameter, Parameters

_A_MONTH = "[0-9]{4}-(0[1-9]|1[0-2])"
_MONTH = Parameter(
    "competencia",
    "Só os eventos sobre os dados deste mês da base: AAAA-MM.",
    {"type": "string", "pattern": f"^{_A_MONTH}$"},
)


@dataclass(frozen=True, slots=True)
class WalletChangeRoutes:
    """The feed of a portfolio."""

    pages: EventPages

    @Route(
        "/carteira/v1/mudancas",
        "carteira_mudancas",
        needs_key=True,
        id="mudancas_da_carteira",
        tag=TAG_WALLET,
        summary="Listar mudanças",
        text=(
            "Os eventos dos itens da carteira, do mais antigo ao mais recente, com o mesmo `cursor`"
            " de `/eventos/v1`: envie em `depois` o da resposta anterior."
        ),
        parameters=(AFTER, _MONTH, CLIENT, KINDS, ITEM, LIMIT),
        gives=[Json(example_events("empresa.situacao", "empresa.nome"), envelope=True)],
        problems=(
            errors.InvalidParameter,
            errors.RepeatedParameter,
            errors.InvalidCursor,
            errors.CursorExpired,
            errors.ClientRequired,
            errors.TagWithCpf,
            errors.StorageFailed,
        ),
    )
    async def changes(self, request: Request) -> Answer:
        """Return a page of the events about items."""
        month = Parameters(request.query, request.headers, (_MONTH.name,)).text(_MONTH.name)
        if month is not None and re.fullmatch(_A_MONTH, month) is None:
            raise errors.InvalidParameter("O parâmetro competencia deve ser um mês: AAAA-MM.")
        return await self.pages.answer(request, items_only=True, month=month)
