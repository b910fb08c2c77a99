# Recebe webhooks e confere a assinatura. Python 3.9 ou mais novo, sem pacotes.
#
#     WEBHOOK_SECRET=whsec_... python3 receber.py
import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORTA = int(os.environ.get("PORT", "8080"))
SEGREDO = base64.b64decode(os.environ["WEBHOOK_SECRET"][len("whsec_") :])
VISTOS = set()  # em produção: uma tabela com índice único


def confere(cabecalhos, corpo):
    numero = cabecalhos.get("webhook-id", "")
    instante = cabecalhos.get("webhook-timestamp", "")
    if not instante.isdigit() or abs(time.time() - int(instante)) > 300:
        return False
    assinado = f"{numero}.{instante}.".encode() + corpo
    digest = hmac.new(SEGREDO, assinado, hashlib.sha256).digest()
    esperada = b"v1," + base64.b64encode(digest)
    recebidas = cabecalhos.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(esperada, uma) for uma in recebidas)


class Receptor(BaseHTTPRequestHandler):
    def do_POST(self):
        corpo = self.rfile.read(int(self.headers.get("content-length", "0")))
        if not confere(self.headers, corpo):
            self.send_response(401)
            self.end_headers()
            return
        numero = self.headers["webhook-id"]
        if numero not in VISTOS:  # uma entrega pode vir mais de uma vez
            VISTOS.add(numero)
            evento = json.loads(corpo)
            # Guarde o evento aqui e trate-o depois de responder.
            print(numero, evento["type"], flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("", PORTA), Receptor).serve_forever()
