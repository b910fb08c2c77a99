"""Reads the sandbox: each operation, a negative result, an error and the account's consumption.

BALCAO_BASE=http://127.0.0.1:8000 BALCAO_KEY=balcao_test_… python read_sandbox.py
"""

import os

from balcao_client import Balcao, BalcaoError


def main() -> None:
    """Print a line for each answer."""
    with Balcao(os.environ["BALCAO_BASE"], os.environ["BALCAO_KEY"]) as balcao:
        zone = balcao.suframa("90010002000154")
        print("suframa", zone.status, zone.body["status"]["descricao"])

        registrations = balcao.sintegra("90010001000100", uf="SP", endereco=True)
        (one,) = registrations.body["inscricoes_estaduais"]
        print("sintegra", registrations.status, one["tipo_ie"], one["endereco"]["municipio"])

        producer = balcao.produtor_rural("90010000100", uf="SP")
        found = producer.body["inscricoes_estaduais"]
        print("produtor-rural", producer.status, producer.body["cpf"], len(found))

        federal = balcao.certidao_negativa_de_debitos_federal(cnpj="90010001000100")
        print("federal", federal.status, federal.body["certificate_type"])
        federal = balcao.certidao_negativa_de_debitos_federal(cnpj="90010003000107")
        error = str(federal.body["error"]).lower()
        print("federal", federal.status, federal.body["certificate_type"], error)

        state = balcao.certidao_negativa_de_debitos_estadual("90010001000100", uf="SP")
        print("estadual", state.status, str(state.body["certidao_negativa"]).lower())

        company = balcao.cnpj_receita_federal("90010001000100")
        known = company.body["response"]
        print("empresa", company.status, known["nome_empresarial"], len(known["socios"]))
        try:
            balcao.cnpj_receita_federal("99999999000191")
        except BalcaoError as refused:
            print("empresa", refused.status, refused.code)

        spent = balcao.consumo(de="2026-01-01", ate="2026-01-31")
        print("consumo", spent.status, spent.body["de"], len(spent.body["linhas"]))


if __name__ == "__main__":
    main()
