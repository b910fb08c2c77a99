"""The body of a result (specification, "Company registry data"), and an example."""

from typing import Annotated

import msgspec

from balcao.core.company import Coded, Company, Partner
from balcao.core.described import described, said
from balcao.operations.envelope import AlwaysFalse, AlwaysTrue, NoError, RequestId


@described("RespostaEmpresa", "Resposta da consulta de dados cadastrais.")
class CompanyAnswer(msgspec.Struct, frozen=True):
    """What `conclude` writes, as a type: for the OpenAPI document and for tests."""

    request_id: RequestId
    success: AlwaysTrue
    error: AlwaysFalse
    error_message: NoError
    data_base: Annotated[
        str | None,
        said(
            "Dia a que os dados se referem: o da extração, quando vêm de uma cópia do cadastro"
            " público; senão, o dia (horário de Brasília) em que a fonte foi consultada. Nulo"
            " quando a fonte tem uma cópia e não informa de que dia.",
            format="date",
        ),
    ]
    response: Annotated[Company, said("Os dados cadastrais.")]


# As the sandbox answers 90010001000100.
EXAMPLE = Company(
    cnpj="90010001000100",
    identificador_matriz_filial="MATRIZ",
    data_de_abertura="2015-03-02",
    nome_empresarial="EMPRESA ATIVA FICTICIA LTDA",
    nome_fantasia="SANDBOX FICTICIO",
    atividade_economica_principal=Coded(
        "6201501", "Desenvolvimento de programas de computador sob encomenda"
    ),
    atividades_economicas_secundarias=(
        Coded("6204000", "Consultoria em tecnologia da informação"),
        Coded(
            "6209100", "Suporte técnico, manutenção e outros serviços em tecnologia da informação"
        ),
    ),
    natureza_juridica=Coded("2062", "Sociedade Empresária Limitada"),
    tipo_logradouro="RUA",
    logradouro="DAS ACACIAS FICTICIAS",
    numero="100",
    complemento="SALA 2",
    bairro="CENTRO",
    municipio="SAO PAULO",
    cep="04000100",
    uf="SP",
    endereco_eletronico="contato@example.com",
    telefone="1110000001",
    situacao_cadastral="ATIVA",
    data_da_situacao_cadastral="2015-03-02",
    porte="DEMAIS",
    socios=(
        Partner(
            nome="FULANA DA FICCAO SILVA",
            cpf_cnpj_socio="***256481**",
            qualificacao_socio="Sócio-Administrador",
            faixa_etaria="Entre 41 a 50 anos",
            data_entrada_sociedade="2015-03-02 00:00:00",
        ),
        Partner(
            nome="REDE DE FILIAIS FICTICIA LTDA",
            cpf_cnpj_socio="90010007000187",
            qualificacao_socio="Sócio",
            documento_representante_legal="***100070**",
            nome_representante_legal="BELTRANO DA FICCAO SANTOS",
            faixa_etaria="Não se aplica",
            data_entrada_sociedade="2016-07-01 00:00:00",
        ),
        Partner(
            nome="FOREIGN FICTION HOLDINGS INC",
            qualificacao_socio="Sócio Pessoa Jurídica Domiciliado no Exterior",
            pais="ESTADOS UNIDOS",
            documento_representante_legal="***100071**",
            nome_representante_legal="SICRANA DA FICCAO SOUZA",
            faixa_etaria="Não se aplica",
            data_entrada_sociedade="2018-01-15 00:00:00",
        ),
    ),
)
