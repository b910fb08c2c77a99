"""What of a federal certificate stands in a table."""

from balcao.operations.sheets import InSheets, day_fact, fact, one

IN_SHEETS = InSheets(
    facts=(
        fact("certidao", "certificate_type"),
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
