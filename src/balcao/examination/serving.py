"""Checks whether a service can start with these settings: port, TLS and workers."""

import errno
import os
import socket
import ssl

from balcao.examination.failures import BadSettings
from balcao.examination.wording import on_home, program
from balcao.settings import Settings
from balcao.storage.places import DataPlace


def check_port(host: str, port: int) -> None:
    """Check that we may listen there. Raises `BadSettings`."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError):
        raise BadSettings(
            f"O endereço {host} não existe nesta máquina. Use 127.0.0.1 (só daqui) ou 0.0.0.0"
            " (de toda a rede) em BALCAO_HOST."
        ) from None
    with socket.socket(family, kind, protocol) as probe:
        # Ignore recently closed connections, but not a listener.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(place)
        except OSError as error:
            raise BadSettings(_no_port(error, host, port)) from None


def _no_port(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else port - 1
        return (
            f"A porta {port} já está em uso em {host}. Encerre o programa que a usa ou escolha"
            f" outra: {on_home(f'make serve PORT={other}')} (ou {program()} serve --port"
            f" {other})."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return (
            f"Sem permissão para a porta {port}. Escolha uma acima de 1023:"
            f" {on_home('make serve PORT=8000')}."
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"O endereço {host} não é desta máquina. Corrija BALCAO_HOST."
    return f"Não é possível abrir {host}, porta {port}: {error.strerror}."


def check_tls(settings: Settings) -> None:
    """Check that there are two readable files that form a pair, or none.

    Raises `BadSettings`.
    """
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        raise BadSettings(
            "HTTPS precisa dos dois arquivos: BALCAO_TLS_CERTIFICATE e BALCAO_TLS_KEY."
        )
    for path in (certificate, key):
        if not os.access(path, os.R_OK) or not path.is_file():
            raise BadSettings(f"O arquivo de TLS {path} não existe ou não pode ser lido.")
    try:
        # With an empty password an encrypted key is an error instead of a prompt.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError):
        raise BadSettings(
            f"Os arquivos de TLS {certificate} e {key} não formam um par em PEM, com a chave sem"
            " senha."
        ) from None


def check_workers(settings: Settings, place: DataPlace) -> None:
    """Raise `BadSettings` if the engine serves one process only, or the workers lack ports."""
    if settings.workers > 1 and not place.serves_many:
        raise BadSettings(
            f"Com SQLite, só um processo pode atender. {settings.workers} processos precisam de"
            " PostgreSQL (BALCAO_DATABASE). Deixe BALCAO_WORKERS em 1 ou mova os dados com"
            f" {program()} storage move."
        )
    if settings.workers > 1 and settings.worker_port(settings.workers - 1) > 65_535:
        raise BadSettings(
            f"Com {settings.workers} processos, BALCAO_PORT pode ser no máximo"
            f" {65_535 - settings.workers}: cada processo usa também uma porta própria, logo acima"
            " dela."
        )
