"""Look up a sample in the finished snapshot before it is published."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from balcao.core.documents import Cnpj
from balcao.opendata.snapshot import Snapshot
from balcao.opendata.tally import ABROAD, ALPHANUMERIC, MANY_ACTIVITIES, MEI
from balcao.opendata.verify import FULL_ROWS, ProbeResult, Verification
from balcao.opendata.worker_pool import Report

_NOT_INFORMED = "8888888"  # an activity code without a text in some months
_FIRST_ALPHANUMERIC = "00000000E08G12"  # Banco do Brasil, July 2026


@dataclass(frozen=True, slots=True)
class ProbeTask:
    """CNPJs to look up in a snapshot."""

    snapshot: Path
    cnpjs: tuple[str, ...]


def probe(task: ProbeTask, report: Report) -> ProbeResult:
    """Look the sample up and count missing data. Runs in a worker."""
    snapshot = Snapshot.open(task.snapshot)
    missing = []
    without_company = without_city = without_activity = 0
    for text in task.cnpjs:
        company = snapshot.find(Cnpj(text))
        if company is None:
            missing.append(text)
            continue
        without_company += company.nome_empresarial is None
        without_city += company.municipio is None
        activity = company.atividade_economica_principal
        without_activity += activity is None or (
            activity.descricao is None and activity.codigo != _NOT_INFORMED
        )
    snapshot.close()
    report("amostra", len(task.cnpjs), len(task.cnpjs))
    return ProbeResult(
        len(task.cnpjs), tuple(missing), without_company, without_city, without_activity
    )


def check_witnesses(
    snapshot: Snapshot,
    witnesses: Mapping[str, str],
    most_partners: tuple[int, str],
) -> Verification:
    """Check that special cases met while reading are found unchanged.

    `rfb-open-data.md`, section 10.4.
    """
    verdict = Verification()
    for kind, key in witnesses.items():
        if kind == MEI:
            fields = snapshot.simples(key)
            right = fields is not None and fields[4] == "S"
        else:
            company = snapshot.find(Cnpj(key))
            right = company is not None and (
                kind == ALPHANUMERIC
                or (kind == ABROAD and company.uf == "EX")
                or (
                    kind == MANY_ACTIVITIES and len(company.atividades_economicas_secundarias) >= 50
                )
            )
        if not right:
            verdict.problems.append(f"{key}, lido como caso de {kind}, não volta assim")
    partners, root = most_partners
    if partners and snapshot.partner_count(root) != partners:
        verdict.problems.append(f"{root} não volta com os seus {partners} sócios")
    if snapshot.info().rows["Estabelecimentos"] >= FULL_ROWS:
        _check_known_companies(snapshot, verdict)
        unseen = {MEI, ABROAD, MANY_ACTIVITIES, ALPHANUMERIC} - set(witnesses)
        verdict.warnings.extend(
            f"nenhum caso de {kind} em um mês inteiro" for kind in sorted(unseen)
        )
    return verdict


def _check_known_companies(snapshot: Snapshot, verdict: Verification) -> None:
    bank = snapshot.find(Cnpj("00000000000191"))
    if (
        bank is None
        or bank.nome_empresarial != "BANCO DO BRASIL SA"
        or bank.natureza_juridica is None
        or bank.natureza_juridica.codigo != "2038"
    ):
        verdict.problems.append("00000000000191 não é BANCO DO BRASIL SA, natureza 2038")
    for cnpj in ("33683111000280", "19131243000197"):
        company = snapshot.find(Cnpj(cnpj))
        if company is None or company.nome_empresarial is None:
            verdict.problems.append(f"{cnpj} não é encontrado com o seu nome")
    if snapshot.find(Cnpj(_FIRST_ALPHANUMERIC)) is None:
        verdict.warnings.append(f"falta {_FIRST_ALPHANUMERIC}, o primeiro CNPJ alfanumérico")
