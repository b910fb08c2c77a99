"""Consulta uma empresa e a certidão federal dela. Python 3.9 ou mais novo, sem pacotes.

python consulta.py 90010001000100
"""

import json
import sys
import time
import uuid
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

ENDERECO = "http://127.0.0.1:8000"
CHAVE = "SUA_CHAVE"

PRAZO = 60  # segundos; mais que o das fontes, para que a resposta paga sempre chegue
TENTATIVAS = 4
ESPERA_MAXIMA = 60
# A tentativa pode ter sido executada e cobrada.
EM_DUVIDA = {"SEM_RESPOSTA", "HTTP_503", "COBRANCA_INCERTA"}


class ErroDaConsulta(Exception):
    """A consulta não foi respondida, e não custou nada. Decida pelo código, nunca pelo texto."""

    def __init__(self, codigo, mensagem):
        super().__init__(mensagem)
        self.codigo = codigo


def enviar(caminho, idempotencia):
    """Uma tentativa: status, cabeçalhos e o corpo, que é None se não for do serviço."""
    cabecalhos = {"x-api-key": CHAVE, "Idempotency-Key": idempotencia}
    pedido = Request(f"{ENDERECO}/consultas/v2/{caminho}", headers=cabecalhos)
    try:
        resposta = urlopen(pedido, timeout=PRAZO)
    except HTTPError as erro:
        resposta = erro
    with resposta:
        texto = resposta.read()
        try:
            corpo = json.loads(texto)
        except ValueError:
            corpo = None
        return resposta.status, resposta.headers, corpo if isinstance(corpo, dict) else None


def consultar(caminho):
    """Os dados da resposta. Repete o que pode ser repetido; levanta ErroDaConsulta."""
    idempotencia = str(uuid.uuid4())  # uma por consulta: repetir com a mesma não cobra de novo
    duvida = False  # uma tentativa pode ter sido cobrada: a chave fica
    for tentativa in range(TENTATIVAS):
        espera = 2**tentativa
        try:
            status, cabecalhos, corpo = enviar(caminho, idempotencia)
        except (OSError, HTTPException) as erro:
            falha = ErroDaConsulta(
                "SEM_RESPOSTA", str(erro)
            )  # pode ter sido executada: mesma chave
        else:
            if corpo and not corpo["error"]:
                return corpo
            detalhe = corpo["error_message"] if corpo else {}
            falha = ErroDaConsulta(
                detalhe.get("code", f"HTTP_{status}"), detalhe.get("message", "resposta ilegível")
            )
            pedida = cabecalhos.get("Retry-After", "")
            # Um 409 sem Retry-After não tem mais o que repetir.
            if status not in (409, 429, 503) or (status == 409 and not pedida):
                raise falha
            if pedida.isdigit():
                espera = int(pedida)
            # Um 503 do serviço encerrou a tentativa, sem custo: a próxima é outra. Menos depois de
            # uma que pode ter sido cobrada.
            if status == 503 and not duvida and falha.codigo not in EM_DUVIDA:
                idempotencia = str(uuid.uuid4())
        duvida = duvida or falha.codigo in EM_DUVIDA
        if tentativa + 1 == TENTATIVAS or espera > ESPERA_MAXIMA:
            raise falha
        time.sleep(espera)
    raise AssertionError("TENTATIVAS deve ser ao menos 1")


def main():
    cnpj = quote(sys.argv[1] if len(sys.argv) > 1 else "90010001000100", safe="")  # letras ficam
    try:
        empresa = consultar(f"cnpj-receita-federal/{cnpj}")["response"]
        print(f"empresa: {empresa['nome_empresarial']} ({empresa['situacao_cadastral']})")
    except ErroDaConsulta as erro:
        if erro.codigo == "CNPJ_NAO_ENCONTRADO":
            print("empresa: o CNPJ não existe")
        else:
            print(f"empresa: erro {erro.codigo}: {erro}")
    try:
        certidao = consultar(f"certidao-negativa-de-debitos-federal?cnpj={cnpj}")
        if certidao["success"]:
            validade = certidao["effective_validity"]
            print(f"certidão federal: {certidao['certificate_type']}, válida até {validade}")
        else:
            motivo = certidao["certificate_type"] or certidao["status"]
            print(f"certidão federal: não emitida ({motivo})")
    except ErroDaConsulta as erro:
        print(f"certidão federal: erro {erro.codigo}: {erro}")


if __name__ == "__main__":
    main()
