"""Column names, and values of birth dates and UFs, as people write them in files."""

import re
from collections.abc import Callable, Mapping

from balcao.core.federation import UF_NAMES, UFS
from balcao.core.text import unaccented

_SEPARATORS = re.compile("[^0-9a-z]+")
_RESULT_PREFIX = "balcao_"  # columns of our own results, sent in again, are ignored


def _by_name(meanings: Mapping[str, str]) -> Mapping[str, str]:
    return {name: meaning for meaning, names in meanings.items() for name in names.split()}


# Roles: the parameters and the tags of a row.
ROLES = _by_name(
    {
        "cnpj": "cnpj cgc cnpj_mf cnpj_empresa cnpj_da_empresa cnpj_cliente cnpj_do_cliente"
        " cnpj_fornecedor cnpj_do_fornecedor cnpj_completo numero_cnpj numero_do_cnpj nr_cnpj"
        " num_cnpj n_cnpj no_cnpj",
        "cpf": "cpf cpf_mf cpf_cliente cpf_do_cliente cpf_produtor cpf_do_produtor cpf_titular"
        " cpf_do_titular numero_cpf numero_do_cpf nr_cpf num_cpf n_cpf no_cpf",
        "documento": "documento doc cpf_cnpj cnpj_cpf cpfcnpj cnpjcpf cpf_ou_cnpj cnpj_ou_cpf"
        " cpf_e_cnpj cnpj_e_cpf numero_documento numero_do_documento nr_documento num_documento"
        " documento_federal inscricao_federal document tax_id",
        "uf": "uf estado uf_sigla sigla_uf sigla_da_uf estado_uf uf_estado sigla_do_estado"
        " unidade_federativa unidade_da_federacao",
        "data_nascimento": "data_nascimento data_de_nascimento nascimento data_nasc dt_nascimento"
        " dt_nasc dtnasc dt_de_nascimento nascido_em",
        "ref": "ref referencia x_referencia reference custom_id codigo cod id codigo_cliente"
        " codigo_do_cliente cod_cliente id_cliente id_do_cliente codigo_interno codigo_fornecedor"
        " codigo_do_fornecedor matricula",
        "cliente": "cliente x_cliente",
    }
)
# Names that are explicit; other columns hold a tag only in the rows where it is valid.
EXPLICIT_TAG_NAMES = frozenset({"ref", "referencia", "x_referencia", "custom_id", "x_cliente"})

# Facts in the file, to be compared with the official ones of the answer.
FACTS = _by_name(
    {
        "razao_social": "razao_social razao nome_empresarial nome_razao_social razao_social_nome"
        " razao_social_da_empresa nome_da_empresa nome_empresa empresa denominacao"
        " denominacao_social nome",
        "nome_fantasia": "nome_fantasia fantasia nome_de_fantasia",
        "inscricao_estadual": "inscricao_estadual ie insc_estadual inscr_estadual insc_est"
        " inscricao_est",
        "uf": "uf estado uf_sigla sigla_uf sigla_da_uf estado_uf uf_estado sigla_do_estado"
        " unidade_federativa unidade_da_federacao",
        "municipio": "municipio cidade municipio_nome nome_municipio nome_do_municipio",
        "cep": "cep codigo_postal",
        "logradouro": "logradouro rua endereco",
        "situacao": "situacao situacao_cadastral situacao_na_receita situacao_cnpj",
        "cnae": "cnae cnae_principal cnae_fiscal codigo_cnae cnae_fiscal_principal",
    }
)
FACT_LABELS: Mapping[str, str] = {
    "razao_social": "razão social",
    "nome_fantasia": "nome fantasia",
    "inscricao_estadual": "inscrição estadual",
    "uf": "UF",
    "municipio": "município",
    "cep": "CEP",
    "logradouro": "logradouro",
    "situacao": "situação",
    "cnae": "CNAE",
}

DOCUMENTS = ("cnpj", "cpf", "documento")
_PARTS_OF_DOCUMENTS = {"basico", "raiz", "base", "dv", "digito", "ordem", "socio", "contador"}


def plain(header: str) -> str:
    """Return a name in lower case, without accents, words joined by `_`: `razao_social`.

    Not cached: a first row that is not a header may contain personal data.
    """
    return _SEPARATORS.sub("_", unaccented(header)).strip("_")


def role_of(header: str) -> str | None:
    """Return the role of a column with this name, None if it is unknown."""
    return ROLES.get(plain(header))


def guess_role(header: str) -> str | None:
    """Return the role of a name like `CNPJ (só números)`, None for `CNPJ básico`, `CPF sócio`."""
    name = plain(header)
    if name.startswith(_RESULT_PREFIX):
        return None
    words = set(name.split("_"))
    if words & _PARTS_OF_DOCUMENTS:
        return None
    found = [each for each in DOCUMENTS if each in words]
    if "cnpj" in found and "cpf" in found:
        return "documento"
    return found[0] if found else None


def is_known_name(header: str) -> bool:
    """Return whether this is a known name of a column."""
    name = plain(header)
    return name in ROLES or name in FACTS


def is_document_name(header: str) -> bool:
    """Return whether this is a known name of a column of documents."""
    return role_of(header) in DOCUMENTS


# Values.

_DAY = re.compile(r"([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]([0-9]{4})(?:[ T].*)?", re.ASCII)
_ISO_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T].*)?", re.ASCII)
# A cell that ends with a date: the text before it, and the date.
TRAILING_DAY = re.compile(
    r"(.*[^\s,;|])[\s,;|]+([0-9]{1,2}/[0-9]{1,2}/[0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2})", re.ASCII
)


def convert_day(text: str) -> str:
    """Return a date such as `31/12/1980` or `1980-12-31` as `19801231`, other texts unchanged."""
    if (found := _DAY.fullmatch(text)) is not None:
        return f"{found[3]}{found[2]:0>2}{found[1]:0>2}"
    if (found := _ISO_DAY.fullmatch(text)) is not None:
        return f"{found[1]}{found[2]}{found[3]}"
    return text


def is_day(text: str) -> bool:
    """Return whether a text has the form of a date, existing or not."""
    return (_DAY.fullmatch(text) or _ISO_DAY.fullmatch(text)) is not None


def _uf(text: str) -> str:
    return UF_NAMES.get(" ".join(unaccented(text).split()), text)


def _is_uf(text: str) -> bool:
    return text.upper() in UFS


# Conversions of parameters, from how people write them to how requests have them.
CONVERSIONS: Mapping[str, Callable[[str], str]] = {"uf": _uf, "data_nascimento": convert_day}

# Parameters that are recognised by the values of an unnamed column.
RECOGNISERS: Mapping[str, Callable[[str], bool]] = {"uf": _is_uf, "data_nascimento": is_day}
