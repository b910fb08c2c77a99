"""What of a company's registry data stands in a table."""

from balcao.core.writing import cep, cnae, phone
from balcao.operations.sheets import InSheets, SheetFact, day_fact, fact, joined, one, within
from balcao.operations.views import Body, address


def _address(body: Body) -> str | None:
    company = within(body, "response")
    return address(company, company.get("tipo_logradouro")) if company else None


def _street(body: Body) -> tuple[str, ...] | None:
    kind, name = within(body, "response.tipo_logradouro"), within(body, "response.logradouro")
    street = joined(kind, name, by=" ")
    return (street,) if name and street else None


def _phone(body: Body) -> str | None:
    numbers = str(within(body, "response.telefone") or "").split(" / ")
    return joined(*(phone(number) for number in numbers if number))


def _cep(body: Body) -> str | None:
    code = within(body, "response.cep")
    return cep(code) if code else None


def _cnae(body: Body) -> str | None:
    code = within(body, "response.atividade_economica_principal.codigo")
    return cnae(code) if code else None


IN_SHEETS = InSheets(
    facts=(
        fact("razao_social", "response.nome_empresarial"),
        fact("nome_fantasia", "response.nome_fantasia"),
        fact("situacao", "response.situacao_cadastral"),
        day_fact("situacao_desde", "response.data_da_situacao_cadastral"),
        fact("situacao_especial", "response.situacao_especial"),
        fact("matriz_ou_filial", "response.identificador_matriz_filial"),
        day_fact("abertura", "response.data_de_abertura"),
        fact("natureza_juridica", "response.natureza_juridica.descricao"),
        fact("porte", "response.porte"),
        SheetFact("cnae", _cnae),
        fact("atividade", "response.atividade_economica_principal.descricao"),
        SheetFact("endereco", _address),
        fact("municipio", "response.municipio"),
        fact("uf", "response.uf"),
        SheetFact("cep", _cep),
        SheetFact("telefone", _phone),
        fact("email", "response.endereco_eletronico"),
        day_fact("dados_de", "data_base"),
    ),
    official={
        "razao_social": one("response.nome_empresarial"),
        "nome_fantasia": one("response.nome_fantasia"),
        "situacao": one("response.situacao_cadastral"),
        "cnae": one("response.atividade_economica_principal.codigo"),
        "logradouro": _street,
        "municipio": one("response.municipio"),
        "uf": one("response.uf"),
        "cep": one("response.cep"),
    },
)
