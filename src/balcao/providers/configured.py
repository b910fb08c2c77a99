"""The providers that the settings name: how each is spoken to, where, and for what.

`compose` opens the connections to them; `balcao source` and `balcao doctor` show them.
"""

import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import structlog

from balcao.core.federation import UFS
from balcao.core.questions import Inquiry, Subject
from balcao.operations import ALL_OPERATIONS
from balcao.settings import Settings
from balcao.settings.providers import Sefaz
from balcao.sources import cnpja, infosimples, minha_receita, serpro, serpro_cnd
from balcao.sources.oauth import ClientCredentials
from balcao.sources.online import Adapter
from balcao.sources.remembering import Remembering
from balcao.sources.sefaz import adapter as sefaz
from balcao.sources.sefaz.certificate import Certificate, client_context, read_certificate
from balcao.sources.sefaz.endpoints import endpoint
from balcao.sources.upstream import Layer

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider: its adapter, and what stands between that and the network."""

    name: str
    adapter: Adapter
    address_for: Callable[[Inquiry], str]
    layer: Layer | None = None
    tls: ssl.SSLContext | None = None  # with our certificate; None: the usual one
    by_uf: bool = False  # whether each UF has a service of its own


def order(settings: Settings) -> Mapping[Subject, Sequence[str]]:
    """Names of the sources of each subject, in the order of asking."""
    return {each.subject: settings.sources_of(each.subject) for each in ALL_OPERATIONS}


def ufs(settings: Settings) -> Mapping[Subject, Sequence[str]]:
    """The UFs of those subjects that are asked by UF, where that is a setting."""
    return {
        each.subject: settings.ufs_of(each.subject) for each in ALL_OPERATIONS if each.usual_ufs
    }


def configured(settings: Settings, now: datetime) -> Sequence[Provider]:
    """Every provider that is switched on. Raises `CertificateUnusable`; `now` is aware."""
    found: list[Provider] = []
    if (mr := settings.minha_receita) is not None and mr.is_on:
        found.append(
            Provider(
                "minha_receita",
                minha_receita.MinhaReceita(flavour=mr.flavour),
                _always(mr.url),
                Remembering(
                    minha_receita.UPDATED,
                    usable=lambda reply: minha_receita.day_of_data(reply) is not None,
                    clock=time.monotonic,
                ),
            )
        )
    if (cj := settings.cnpja) is not None and cj.is_on:
        adapter = cnpja.Cnpja(
            cj.key.get_secret_value(), cj.accepts_alphanumeric, all_ufs=cj.all_ufs
        )
        found.append(Provider("cnpja", adapter, _always(cj.url)))
    if (sp := settings.serpro) is not None and sp.is_on:
        layer = ClientCredentials(
            "serpro",
            key=sp.consumer_key.get_secret_value(),
            secret=sp.consumer_secret.get_secret_value(),
            clock=time.monotonic,
        )
        by_contract = serpro.Serpro(sp.product, sp.full_partners, sp.accepts_alphanumeric)
        found.append(Provider("serpro", by_contract, _always(sp.url), layer))
        if sp.cnd:
            issuer = serpro_cnd.SerproCnd(sp.cnd_product, sp.accepts_alphanumeric)
            found.append(Provider("serpro_cnd", issuer, _always(sp.url), layer))
    if (sf := settings.sefaz) is not None and sf.is_on:
        found.extend(_treasuries(sf, now))
    if (info := settings.infosimples) is not None and info.is_on:
        states = infosimples.Infosimples(
            info.token.get_secret_value(),
            ufs=None if info.ufs is None else frozenset(info.ufs),
            certificate_ufs=(
                None if info.certificate_ufs is None else frozenset(info.certificate_ufs)
            ),
            accepts_alphanumeric=info.accepts_alphanumeric,
        )
        found.append(Provider("infosimples", states, _always(info.url)))
    return found


def certificate_of(settings: Sefaz) -> Certificate | None:
    """The A1 certificate, if one is named. Raises `CertificateUnusable`."""
    if settings.certificate is None:
        return None
    return read_certificate(settings.certificate, settings.password.get_secret_value())


def treasury_addresses(settings: Sefaz) -> Mapping[str, str]:
    """Whole address by UF, of those that have one."""
    known = {uf: endpoint(settings.environment, uf) for uf in UFS} | dict(settings.endpoints)
    return {uf: _moved(url, settings.url) for uf, url in known.items() if url}


def _treasuries(settings: Sefaz, now: datetime) -> Sequence[Provider]:
    certificate = certificate_of(settings)
    tls = None
    if certificate is not None:
        if certificate.expired(now):
            # The service goes on without it: the other sources are as good as they were.
            log.warning(
                "sefaz.certificate_expired",
                not_after=certificate.not_after.isoformat(),
                detail="o certificado A1 venceu, e as SEFAZ não são consultadas: indique o novo em"
                " BALCAO_SEFAZ__CERTIFICATE e reinicie o serviço",
            )
            return ()
        tls = client_context(certificate, settings.ca_file)
    addresses = treasury_addresses(settings)
    states = sefaz.Sefaz(
        ufs=frozenset(addresses),
        cpf_ufs=None if settings.cpf_ufs is None else frozenset(settings.cpf_ufs),
        header_ufs=frozenset(settings.header_ufs),
        mt_wrapper=settings.mt_wrapper,
        requester_cnpj=certificate.subject_cnpj if certificate else None,
    )
    return (
        Provider("sefaz", states, lambda inquiry: addresses[inquiry.uf or ""], tls=tls, by_uf=True),
    )


def _moved(url: str, base: str) -> str:
    """The same service at another place, such as the simulator's."""
    return base.rstrip("/") + urlsplit(url).path if base else url


def _always(url: str) -> Callable[[Inquiry], str]:
    return lambda inquiry: url
