"""State registrations from the state treasuries themselves, by "Consulta Cadastro" (SOAP).

`adapter.py` holds the conversation, `message.py` writes and reads XML, `status.py` knows their
codes, `certificate.py` the client certificate they ask for, and
`examination.py` what may be wrong with that.
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
            probe_cost="É uma consulta comum em cada UF, sobre a empresa do certificado, e conta no"
            " limite de uso do estado.",
        ),
    ),
    by_certificate=True,
)
