"""Helpers for tests of the state treasuries: fictitious replies in their format."""

from collections.abc import Mapping

from balcao.core.documents import Cnpj, Cpf
from balcao.core.questions import Inquiry
from balcao.core.registration import RegisteredAddress, Registration, Registrations
from balcao.providers.sefaz.adapter import SefazAdapter
from balcao.providers.sefaz.settings import UFS_SERVED
from balcao.sources.contract import Exchange, HttpReply, T
from tests.sefaz import schemas

CNPJ = "11222333000181"
OTHER_CNPJ = "90010001000100"
LETTERS = "12ABC34501DE35"
CPF = "11122233396"

NFE, SERVICE, SOAP = schemas.NFE, schemas.SERVICE, schemas.SOAP

SEFAZ = SefazAdapter(UFS_SERVED)


def an_inquiry(document: str = CNPJ, uf: str = "SC") -> Inquiry:
    if len(document) == 11:
        return Inquiry("rural_producer", Cpf.parse(document), uf)
    return Inquiry("state_registration", Cnpj.parse(document), uf)


ADDRESS: Mapping[str, str] = {
    "xLgr": "RUA DAS ACÁCIAS",
    "nro": "100",
    "xCpl": "SALA 2",
    "xBairro": "CENTRO",
    "cMun": "4205407",
    "xMun": "FLORIANÓPOLIS",
    "CEP": "88010000",
}
ENTRY: Mapping[str, str] = {
    "IE": "250000008",
    "CNPJ": CNPJ,
    "UF": "SC",
    "cSit": "1",
    "indCredNFe": "1",
    "indCredCTe": "4",
    "xNome": "EMPRESA FICTICIA DE TESTES LTDA",
    "xFant": "FICTICIA",
    "xRegApur": "NORMAL",
    "CNAE": "4651601",
    "dIniAtiv": "2010-03-01",
    "dUltSit": "2021-06-15",
}


def elements(given: Mapping[str, str | None]) -> str:
    """Write elements; a value of None omits one."""
    return "".join(f"<{name}>{text}</{name}>" for name, text in given.items() if text is not None)


def an_entry(
    changes: Mapping[str, str | None] | None = None,
    address: Mapping[str, str | None] | None = ADDRESS,
) -> str:
    inner = "" if address is None else f"<ender>{elements(address)}</ender>"
    return f"<infCad>{elements({**ENTRY, **(changes or {})})}{inner}</infCad>"


def an_answer(
    code: str = "111",
    entries: str = "",
    *,
    changes: Mapping[str, str | None] | None = None,
    reason: str = "Consulta cadastro com uma ocorrencia",
) -> str:
    """Return a `retConsCad`, without an envelope."""
    result = {
        "verAplic": "SVRS202601010000",
        "cStat": code,
        "xMotivo": reason,
        "UF": "SC",
        "CNPJ": CNPJ,
        "dhCons": "2026-08-05T10:15:30-03:00",
        "cUF": "42",
    } | dict(changes or {})
    return (
        f'<retConsCad xmlns="{NFE}" versao="2.00"><infCons>{elements(result)}{entries}</infCons>'
        "</retConsCad>"
    )


FOUND = an_answer("111", an_entry())
# Its content, field by field.
REGISTRATIONS = Registrations(
    documento=CNPJ,
    uf="SC",
    nome="EMPRESA FICTICIA DE TESTES LTDA",
    com_endereco=True,
    inscricoes=(
        Registration(
            inscricao_estadual="250000008",
            uf="SC",
            ativa=True,
            data_status="2021-06-15",
            updated_at="2026-08-05 10:15:30",
            endereco=RegisteredAddress(
                logradouro="RUA DAS ACÁCIAS",
                numero="100",
                complemento="SALA 2",
                bairro="CENTRO",
                municipio="FLORIANÓPOLIS",
                codigo_municipio_ibge="4205407",
                uf="SC",
                cep="88010000",
            ),
        ),
    ),
)
NONE = an_answer("259")


def enveloped(inner: str, wrapper: str = "nfeResultMsg") -> bytes:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><soap:Envelope xmlns:soap="{SOAP}"><soap:Body>'
        f'<{wrapper} xmlns="{SERVICE}">{inner}</{wrapper}></soap:Body></soap:Envelope>'
    ).encode()


def a_reply(inner: str | bytes, status: int = 200) -> HttpReply:
    return HttpReply(status, {}, inner if isinstance(inner, bytes) else enveloped(inner))


def run(conversation: Exchange[T], reply: HttpReply) -> T:
    """Run a conversation of one round, and return its result."""
    next(conversation)
    try:
        conversation.send(reply)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the conversation has more rounds")


def ask(
    inner: str | bytes, inquiry: Inquiry | None = None, *, adapter: SefazAdapter = SEFAZ
) -> Registrations:
    found = run(adapter.converse(inquiry or an_inquiry()), a_reply(inner))
    assert isinstance(found, Registrations)
    return found
