"""Clients of Balcão: `Balcao`, and `BalcaoAsync` with the same methods as coroutines.

with Balcao("https://balcao.example", key) as balcao:
    answer = balcao.cnpj_receita_federal("12.ABC.345/01DE-35")
    print(answer.body["response"]["nome_empresarial"], answer.credits)
"""

from balcao_client import types
from balcao_client.client import Balcao, BalcaoAsync
from balcao_client.runtime import Answer, BalcaoError

__all__ = ["Answer", "Balcao", "BalcaoAsync", "BalcaoError", "types"]
