"""What of a state's certificate stands in a table."""

from balcao.operations.sheets import InSheets, SheetFact, day_fact, fact, joined
from balcao.operations.state_certificate.page import words_of
from balcao.operations.views import Body


def _verdict(body: Body) -> str | None:
    return words_of(body) if body.get("error") is False else None


def _said(body: Body) -> str | None:
    return joined(body.get("certidao_mensagem"), body.get("mensagem"), by=" · ")


IN_SHEETS = InSheets(
    facts=(
        SheetFact("certidao", _verdict),
        day_fact("valida_ate", "validade"),
        fact("codigo_de_controle", "codigo"),
        fact("numero", "numero"),
        SheetFact("situacao", _said),
        day_fact("consultada_em", "datahora"),
        fact("comprovante", "print"),
    ),
)
