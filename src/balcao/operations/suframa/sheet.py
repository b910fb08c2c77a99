"""What of a registration with the free-trade-zone authority stands in a table."""

from collections.abc import Sequence

from balcao.core.writing import cnae
from balcao.operations.sheets import InSheets, SheetFact, day_fact, fact, joined, one, within
from balcao.operations.views import Body


def _cnae_code(body: Body) -> str:
    """A number here: it may have lost a zero."""
    code = within(body, "atividade_principal.codigo")
    return f"{code:07}" if code else ""


def _cnae(body: Body) -> str | None:
    code = _cnae_code(body)
    return cnae(code) if code else None


def _official_cnae(body: Body) -> Sequence[str] | None:
    code = _cnae_code(body)
    return (code,) if code else None


def _incentives(body: Body) -> str | None:
    found = body.get("incentivos") or ()
    return joined(*dict.fromkeys(f"{each['tributo']}: {each['beneficio']}" for each in found))


IN_SHEETS = InSheets(
    facts=(
        fact("inscricao", "inscricao"),
        fact("nome", "nome"),
        fact("situacao", "status.descricao"),
        fact("aprovada", "aprovado"),
        day_fact("aprovada_em", "data_aprovacao"),
        day_fact("inscrita_desde", "desde"),
        SheetFact("incentivos", _incentives),
        SheetFact("cnae", _cnae),
        fact("municipio", "endereco.cidade"),
        fact("uf", "endereco.estado"),
    ),
    official={
        "razao_social": one("nome"),
        "situacao": one("status.descricao"),
        "cnae": _official_cnae,
        "logradouro": one("endereco.logradouro"),
        "municipio": one("endereco.cidade"),
        "uf": one("endereco.estado"),
        "cep": one("endereco.cep"),
    },
)
