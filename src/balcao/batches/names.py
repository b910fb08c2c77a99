"""Spellings in files: names of columns, birth dates and states, as people write them."""

import re
from collections.abc import Callable, Mapping

from balcao.core.federation import UF_NAMES, UFS
from balcao.core.text import unaccented

_APART = re.compile("[^0-9a-z]+")
_OWN = "balcao_"  # columns of a result that is sent in again mean nothing


def _by_name(meanings: Mapping[str, str]) -> Mapping[str, str]:
    return {name: meaning for meaning, names in meanings.items() for name in names.split()}


# Roles: what a row asks, and what it is remembered by.
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
# These say it themselves; what others hold is a reference only where it fits.
SURE_MARKS = frozenset({"ref", "referencia", "x_referencia", "custom_id", "x_cliente"})

# What the file says of whom it asks about, and an answer may say otherwise.
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
FACT_WORDS: Mapping[str, str] = {
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
    """`Razão Social` → `razao_social`: lower case, no accents, one `_` between words.

    Remembers nothing: a first row that is no header may say who somebody is.
    """
    return _APART.sub("_", unaccented(header)).strip("_")


def role_of(header: str) -> str | None:
    """Return the role of a column with this name, None: it is not known."""
    return ROLES.get(plain(header))


def loosely_document(header: str) -> str | None:
    """`CNPJ (só números)` → `cnpj`; but the root or a partner's is not whom a row is about."""
    name = plain(header)
    if name.startswith(_OWN):
        return None
    words = set(name.split("_"))
    if words & _PARTS_OF_DOCUMENTS:
        return None
    found = [each for each in DOCUMENTS if each in words]
    if "cnpj" in found and "cpf" in found:
        return "documento"
    return found[0] if found else None


def is_known(header: str) -> bool:
    """Return whether this is the name of a column."""
    name = plain(header)
    return name in ROLES or name in FACTS


def names_document(header: str) -> bool:
    """Return whether this is the name of a column of documents."""
    return role_of(header) in DOCUMENTS


# Values.

_DAY = re.compile(r"([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]([0-9]{4})(?:[ T].*)?", re.ASCII)
_ISO_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T].*)?", re.ASCII)
# A cell that ends with a date: what comes before it, and the date.
BEFORE_DAY = re.compile(
    r"(.*[^\s,;|])[\s,;|]+([0-9]{1,2}/[0-9]{1,2}/[0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2})", re.ASCII
)


def day_written(text: str) -> str:
    """Return `31/12/1980`, `1980-12-31` and their kind as `19801231`; others as they are."""
    if (found := _DAY.fullmatch(text)) is not None:
        return f"{found[3]}{found[2]:0>2}{found[1]:0>2}"
    if (found := _ISO_DAY.fullmatch(text)) is not None:
        return f"{found[1]}{found[2]}{found[3]}"
    return text


def is_day(text: str) -> bool:
    """Return whether a text is a date, also one that does not exist."""
    return (_DAY.fullmatch(text) or _ISO_DAY.fullmatch(text)) is not None


def _uf(text: str) -> str:
    return UF_NAMES.get(" ".join(unaccented(text).split()), text)


def _is_uf(text: str) -> bool:
    return text.upper() in UFS


# How people write parameters in files, and what requests call them.
WRITTEN: Mapping[str, Callable[[str], str]] = {"uf": _uf, "data_nascimento": day_written}

# Parameters that are recognised by the values of a column without a name.
LOOKS_LIKE: Mapping[str, Callable[[str], bool]] = {"uf": _is_uf, "data_nascimento": is_day}
