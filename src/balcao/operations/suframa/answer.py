"""The body of a result (specification, "Free-trade-zone registry record"), and an example."""

from balcao.core.described import described
from balcao.core.suframa import (
    STATUS_TEXTS,
    Incentive,
    NumberedText,
    ZoneActivity,
    ZoneAddress,
    ZoneCountry,
    ZoneEmail,
    ZonePhone,
    ZoneRecord,
)
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, RequestId


@described("RespostaSuframa", "Inscrição na Suframa. Campos sem informação na fonte são omitidos.")
class ZoneAnswer(ZoneRecord, frozen=True, kw_only=True):
    """The body of a result: the record's fields beside the envelope's."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse


# As the sandbox answers 90010002000154.
EXAMPLE = ZoneRecord(
    cnpj="90010002000154",
    inscricao="200000012",
    nome="INDUSTRIA DE MANAUS FICTICIA LTDA",
    matriz=True,
    aprovado=True,
    status=NumberedText(1, STATUS_TEXTS[1]),
    atualizado_em="2026-08-08T13:15:30.120Z",
    desde="2016-01-04",
    data_aprovacao="2016-02-10",
    natureza_juridica=NumberedText(2062, "Sociedade Empresária Limitada"),
    endereco=ZoneAddress(
        codigo_municipio=1302603,
        logradouro="RUA DAS ACACIAS FICTICIAS",
        numero="100",
        bairro="CENTRO",
        cidade="MANAUS",
        estado="AM",
        cep="69000100",
        pais=ZoneCountry("Brasil"),
    ),
    telefones=(ZonePhone("92", "10000001"),),
    emails=(ZoneEmail("contato@example.com", "example.com"),),
    atividade_principal=ZoneActivity(2610800, True, "Fabricação de componentes eletrônicos"),
    atividades_secundarias=(
        ZoneActivity(
            4652400,
            False,
            "Comércio atacadista de componentes eletrônicos e equipamentos de telefonia e"
            " comunicação",
        ),
    ),
    incentivos=(
        Incentive(
            fundamento_legal="Decreto 7.212 de 2010 (Art. 81)",
            beneficio="Isenção",
            finalidade="Consumo Interno, Industrialização e Utilização",
            tributo="IPI",
        ),
        Incentive(
            fundamento_legal="Convênio ICMS 65 de 1988",
            beneficio="Isenção",
            finalidade="Industrialização e Comercialização",
            tributo="ICMS",
        ),
    ),
)
