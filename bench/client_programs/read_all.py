"""Reads the sandbox with a generated client (openapi-generator, python)."""

import os

from openapi_client import ApiClient, ApiException, Configuration, ConsultasApi, ContaApi

configuration = Configuration(
    host=os.environ["BALCAO_BASE"], api_key={"chave": os.environ["BALCAO_KEY"]}
)
with ApiClient(configuration) as client:
    lookups = ConsultasApi(client)

    zone = lookups.suframa("90010002000154")
    print("suframa 200", zone.status.descricao)

    found = lookups.sintegra("90010001000100", uf="SP", endereco=True)
    (one,) = found.inscricoes_estaduais
    print("sintegra 200", one.tipo_ie, one.endereco.municipio)

    producer = lookups.produtor_rural("90010000100", uf="SP")
    print("produtor-rural 200", producer.cpf, len(producer.inscricoes_estaduais))

    federal = lookups.certidao_negativa_de_debitos_federal(cnpj="90010001000100")
    print("federal 200", federal.certificate_type)
    try:
        lookups.certidao_negativa_de_debitos_federal(cnpj="90010003000107")
    except ApiException as refused:
        print(
            "federal",
            refused.status,
            refused.data.certificate_type,
            str(refused.data.error).lower(),
        )

    state = lookups.certidao_negativa_de_debitos_estadual("90010001000100", "SP")
    print("estadual 200", str(state.certidao_negativa).lower())

    company = lookups.cnpj_receita_federal("90010001000100").response
    print("empresa 200", company.nome_empresarial, len(company.socios))
    try:
        lookups.cnpj_receita_federal("99999999000191")
    except ApiException as refused:
        print("empresa", refused.status, refused.data.error_message.code)

    spent = ContaApi(client).consumo(de="2026-01-01", ate="2026-01-31")
    print("consumo 200", spent.de, len(spent.linhas))
