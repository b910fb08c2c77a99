"""State registrations from the state treasuries themselves, by "Consulta Cadastro" (SOAP).

`adapter.py` holds the conversation, `message.py` writes and reads XML, `status.py` knows their
codes, `endpoints.py` their addresses, `certificate.py` the client certificate they ask for.
"""
