"""What of a federal certificate stands in a table."""

from balcao.operations.federal_certificate.page import words_of
from balcao.operations.sheets import InSheets, SheetFact, day_fact, fact, one
from balcao.operations.views import Body


def _verdict(body: Body) -> str | None:
    return words_of(body) if body.get("error") is False else None


IN_SHEETS = InSheets(
    facts=(
        SheetFact("certidao", _verdict),
        day_fact("valida_ate", "effective_validity"),
        fact("codigo_de_controle", "certificate_code"),
        day_fact("emitida_em", "issued_at"),
        fact("cnpj_da_certidao", "certificate_cnpj"),
        fact("nome", "corporate_name"),
        fact("situacao", "status"),
        fact("debitos_rfb", "rfb_debts"),
        fact("debitos_pgfn", "pgfn_debts"),
        fact("comprovante", "print"),
    ),
    official={"razao_social": one("corporate_name")},
)
