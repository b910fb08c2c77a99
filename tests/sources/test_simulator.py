"""All adapters against the sandbox's providers: `sandbox.md`, row by row."""

import asyncio
import time

import pytest

from balcao.core.company import Coded, Company, TaxOption, has_masked_partner, normalized
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.providers.cnpja.adapter import CnpjaAdapter
from balcao.providers.minha_receita.adapter import MinhaReceitaAdapter
from balcao.providers.serpro.adapter import SerproAdapter
from balcao.providers.simulation.app import simulated_providers
from balcao.providers.simulation.transport import SimulatorTransport
from balcao.sources.contract import Absent, Answer, Found
from balcao.sources.oauth import ClientCredentials
from balcao.sources.online import Adapter, AdapterSource
from balcao.sources.router import SourceRouter
from balcao.sources.upstream import Upstream
from tests.sources.adapters import LETTERS, NOW, an_inquiry

NAMES = ("minha_receita", "brasilapi", "cnpja", "serpro")

MAINTENANCE = "90020001000190"
NEVER = "90020002000135"
ERROR = "90020003000180"
HTML = "90020004000124"
ANOTHER = "90020005000179"
SLOW = "90020006000113"
ONCE = "90020007000168"
SOME_UFS = "90020008000102"
INCOMPLETE = "90020009000157"
CUT = "90020010000181"
ABSENT = "99999999000191"


class Sandbox:
    """All adapters, each with its simulated provider, in this process."""

    def __init__(
        self,
        *,
        timeout_seconds: float = 20.0,
        slow_seconds: float = 0.01,
        cnpja_key: str = "sandbox",
        serpro_key: str = "sandbox",
    ) -> None:
        self._transport = SimulatorTransport(simulated_providers(slow_seconds=slow_seconds))
        self._timeout_seconds = timeout_seconds
        token = ClientCredentials("serpro", key=serpro_key, secret="sandbox", clock=time.monotonic)
        self.sources = {
            "minha_receita": self._online("minha-receita", MinhaReceitaAdapter()),
            "brasilapi": self._online("brasilapi", MinhaReceitaAdapter("brasilapi", "brasilapi")),
            "cnpja": self._online("cnpja", CnpjaAdapter(cnpja_key, accepts_alphanumeric=True)),
            "serpro": self._online("serpro", SerproAdapter(full_partners=True), token),
        }

    def _online(
        self, prefix: str, adapter: Adapter, layer: ClientCredentials | None = None
    ) -> AdapterSource:
        upstream = Upstream(
            prefix,
            f"http://sandbox.test/{prefix}",
            timeout_seconds=self._timeout_seconds,
            answer_bytes_max=10_000_000,
            transport=self._transport,
        )
        name = prefix.replace("-", "_")
        return AdapterSource(name, adapter, lambda _: upstream, now=lambda: NOW, layer=layer)

    def ask(self, name: str, cnpj: str, *, full_partners: bool = False) -> Answer:
        inquiry = an_inquiry(cnpj, full_partners=full_partners)
        return asyncio.run(self.sources[name].ask(inquiry))

    def company(self, name: str, cnpj: str, *, full_partners: bool = False) -> Company:
        answer = self.ask(name, cnpj, full_partners=full_partners)
        assert isinstance(answer, Found)
        assert isinstance(answer.record, Company)
        assert answer.record.cnpj == cnpj
        return normalized(answer.record)


EXISTING = [
    ("90010001000100", "ATIVA", "MATRIZ", "SP"),
    ("90010002000154", "ATIVA", "MATRIZ", "AM"),
    ("90010003000107", "BAIXADA", "MATRIZ", "SP"),
    ("90010004000143", "SUSPENSA", "MATRIZ", "SP"),
    ("90010005000198", "INAPTA", "MATRIZ", "SP"),
    ("90010006000132", "NULA", "MATRIZ", "SP"),
    ("90010007000187", "ATIVA", "MATRIZ", "SP"),
    ("90010007000268", "ATIVA", "FILIAL", "SP"),
    ("90010012000190", "ATIVA", "MATRIZ", "SP"),
    (LETTERS, "ATIVA", "MATRIZ", "SP"),
    ("00000000E08G12", "ATIVA", "FILIAL", "SP"),
    (SLOW, "ATIVA", "MATRIZ", "SP"),
    (SOME_UFS, "ATIVA", "MATRIZ", "SP"),
]


@pytest.mark.parametrize(("cnpj", "status", "identifier", "uf"), EXISTING)
def test_all_providers_agree(cnpj: str, status: str, identifier: str, uf: str) -> None:
    sandbox = Sandbox()
    for name in NAMES:
        company = sandbox.company(name, cnpj)
        assert company.situacao_cadastral == status, name
        assert company.identificador_matriz_filial == identifier, name
        assert company.uf == uf, name
        assert company.porte in ("MICRO EMPRESA", "EMPRESA DE PEQUENO PORTE", "DEMAIS"), name
        assert company.natureza_juridica is not None, name
        assert not any("000000**" in (p.cpf_cnpj_socio or "") for p in company.socios), name


# Values of a source that gives less than the others.
ONLY_THEIRS = {
    ("cnpja", "motivo_situacao_cadastral"): None,
    ("cnpja", "regime_tributario"): None,
    ("serpro", "regime_tributario"): None,
    ("serpro", "motivo_situacao_cadastral"): Coded("00", None),
    ("serpro", "simples"): TaxOption(optante=False),
    ("serpro", "mei"): TaxOption(optante=False),
    ("serpro", "codigo_municipio_ibge"): None,
}


def test_the_richest_company_field_by_field() -> None:
    sandbox = Sandbox()
    first, *others = (sandbox.company(name, "90010001000100") for name in NAMES)
    assert [partner.cpf_cnpj_socio is not None for partner in first.socios] == [True, True, False]
    assert len(first.atividades_economicas_secundarias) == 2
    assert first.telefone is not None
    assert first.data_de_abertura == "2015-03-02"
    for name, other in zip(NAMES[1:], others, strict=True):
        for field in Company.__struct_fields__:
            mine, theirs = getattr(first, field), getattr(other, field)
            if name == "cnpja" and field in ("tipo_logradouro", "logradouro"):
                assert other.logradouro == f"{first.tipo_logradouro} {first.logradouro}"
            elif field == "socios":
                for here, there in zip(mine, theirs, strict=True):
                    assert here.nome == there.nome
                    assert here.cpf_cnpj_socio == there.cpf_cnpj_socio
                    assert here.qualificacao_socio == there.qualificacao_socio
                    assert here.data_entrada_sociedade == there.data_entrada_sociedade
                    assert here.nome_representante_legal == there.nome_representante_legal
                    assert here.documento_representante_legal == there.documento_representante_legal
                    if name != "serpro":  # has no age bands
                        assert here.faixa_etaria == there.faixa_etaria or there.faixa_etaria is None
            elif (name, field) in ONLY_THEIRS:
                assert theirs == ONLY_THEIRS[name, field]
            else:
                assert mine == theirs, (name, field)


def test_a_sole_trader_s_name_ends_in_a_masked_cpf() -> None:
    sandbox = Sandbox()
    for name in NAMES:
        legal_name = sandbox.company(name, "90010012000190").nome_empresarial
        assert legal_name is not None
        assert legal_name[-11:-8] == "***", name
        assert legal_name.endswith("**"), name


def test_a_company_of_no_partners_no_trade_name_and_no_number() -> None:
    sandbox = Sandbox()
    for name in NAMES:
        company = sandbox.company(name, "90010006000132")
        assert (company.socios, company.nome_fantasia, company.numero) == ((), None, None), name
        assert company.atividades_economicas_secundarias == (), name


def test_full_partners_come_from_serpro() -> None:
    sandbox = Sandbox()
    inquiry = an_inquiry("90010001000100", full_partners=True)
    assert [name for name in NAMES if sandbox.sources[name].serves(inquiry)] == ["serpro"]
    full = sandbox.company("serpro", "90010001000100", full_partners=True)
    assert not has_masked_partner(full)
    masked = sandbox.company("serpro", "90010001000100")
    assert has_masked_partner(masked)
    assert full.socios[0].cpf_cnpj_socio is not None
    assert masked.socios[0].cpf_cnpj_socio == f"***{full.socios[0].cpf_cnpj_socio[3:9]}**"


@pytest.mark.parametrize("name", NAMES)
def test_absent_companies(name: str) -> None:
    answer = Sandbox().ask(name, ABSENT)
    assert answer == Absent(name, conclusive=True, so_far=name in ("minha_receita", "brasilapi"))


MISBEHAVING: list[tuple[str, type[SourceError]]] = [
    (MAINTENANCE, SourceUnavailable),
    (ERROR, SourceFailed),
    (HTML, SourceFailed),
    (ANOTHER, SourceFailed),
    (INCOMPLETE, SourceFailed),
    (CUT, SourceFailed),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("cnpj", "kind"), MISBEHAVING)
def test_misbehaviour(name: str, cnpj: str, kind: type[SourceError]) -> None:
    with pytest.raises(SourceError) as caught:
        Sandbox().ask(name, cnpj)
    assert type(caught.value) is kind
    assert cnpj not in caught.value.detail


@pytest.mark.parametrize("name", NAMES)
def test_never_answers(name: str) -> None:
    with pytest.raises(SourceFailed, match="tempo esgotado"):
        Sandbox(timeout_seconds=0.2).ask(name, NEVER)


@pytest.mark.parametrize("name", NAMES)
def test_first_request_only(name: str) -> None:
    sandbox = Sandbox()
    assert sandbox.company(name, ONCE).situacao_cadastral == "ATIVA"
    with pytest.raises(SourceFailed):
        sandbox.ask(name, ONCE)


@pytest.mark.parametrize(
    ("name", "settings", "loud"),
    [
        ("cnpja", {"cnpja_key": "invalid"}, True),
        ("cnpja", {"cnpja_key": "without-credits"}, True),
        ("cnpja", {"cnpja_key": "rate-limited"}, False),
        ("serpro", {"serpro_key": "invalid"}, True),
    ],
)
def test_refused_by_the_provider(name: str, settings: dict[str, str], loud: bool) -> None:
    with pytest.raises(SourceUnavailable) as caught:
        Sandbox(**settings).ask(name, "90010001000100")  # type: ignore[arg-type]
    assert ("VERIFIQUE A CONFIGURAÇÃO" in caught.value.detail) is loud


def test_a_contract_without_full_partners() -> None:
    with pytest.raises(SourceUnavailable, match="empresa não contratado"):
        Sandbox(serpro_key="without-empresa").ask("serpro", "90010001000100", full_partners=True)


def test_all_sources_in_order() -> None:
    async def scenario() -> None:
        sources = SourceRouter({"company": list(Sandbox().sources.values())})

        async def source_of(cnpj: str, *, full_partners: bool = False) -> str:
            answer = await sources.ask(an_inquiry(cnpj, full_partners=full_partners))
            assert isinstance(answer, Found)
            return answer.source

        assert await source_of("90010001000100") == "minha_receita"
        assert await source_of("90010001000100", full_partners=True) == "serpro"
        assert await sources.ask(an_inquiry(ABSENT)) == Absent("cnpja", conclusive=True)

        # the first request for a subject counts for all providers: later ones fail
        assert await source_of(ONCE) == "minha_receita"
        with pytest.raises(SourceFailed):
            await sources.ask(an_inquiry(ONCE))

        # only SERPRO sends Retry-After (60 s)
        with pytest.raises(SourceUnavailable) as caught:
            await sources.ask(an_inquiry(MAINTENANCE))
        assert caught.value.retry_in_seconds == 30

    asyncio.run(scenario())
