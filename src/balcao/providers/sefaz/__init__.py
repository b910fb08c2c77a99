"""State registrations from the state treasuries, by "Consulta Cadastro" (SOAP).

`adapter.py` has the conversation, `message.py` writes and reads XML, `status.py` has the result
codes, `certificate.py` the client certificate and `certificate_checks.py` its checks.
"""

from balcao.providers.contract import Offer, Provider

PROVIDER = Provider(
    "sefaz",
    "Consulta Cadastro das secretarias da fazenda, com certificado A1.",
    (
        Offer(
            "sefaz",
            "SEFAZ (Consulta Cadastro)",
            ("state_registration", "rural_producer"),
            ("certificate", "password"),
            probe_cost="É uma consulta comum em cada UF, sobre a empresa do certificado. Conta no"
            " limite de uso do estado.",
        ),
    ),
    by_certificate=True,
)
