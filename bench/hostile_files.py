"""Hostile files: delay of another account's files, and use of a small disk.

    .venv/bin/python -m bench hostile_files turns [--files 12]
    .venv/bin/python -m bench hostile_files disk --folder FOLDER_ON_A_SMALL_DISK

`turns`: so many spreadsheets with two distant cells, from a free and a paying plan, and next to
each a list of one row from another account: the seconds until it is quoted, and the readers'
memory. `disk`: a free and a paying account send files until none is accepted; then another
account's lookups are answered and charged, and its stored results are read. The folder has to be on
a disk of some 400 MB, such as a tmpfs.
"""

import argparse
import io
import json
import os
import resource
import shutil
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx2

from bench.batches import COMPANY, Batches, table
from bench.crash import server
from bench.serving import account_by_words, balcao, companies_elsewhere, free_port, settings

SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ENDED = ("cotado", "recusado")
LOOKUPS = 200
TRIES = 40

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
    'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package'
    '.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" Type="{_OFFICE}/'
    'officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1"'
    f' Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def two_cells(last: str) -> bytes:
    """Return a spreadsheet with `A1` and this cell."""
    row = last.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    sheet = (
        f'<worksheet xmlns="{_MAIN}"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>cnpj</t>'
        f'</is></c></row><row r="{row}"><c r="{last}"><v>1</v></c></row></sheetData></worksheet>'
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in {**_PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            archive.writestr(name, part)
    return made.getvalue()


def send(client: Batches, content: bytes, media_type: str = "text/csv") -> httpx2.Response:
    headers = {"content-type": media_type, "idempotency-key": f"bench-{time.time_ns()}"}
    return client.http.post(f"/lotes/v1?operacao={COMPANY}", content=content, headers=headers)


def free_of_charge(env: Mapping[str, str]) -> str:
    """Create an account of the free plan; return its key."""
    balcao(env, "account", "create", "gratis", "--plan", "gratuito", "--test")
    return str(json.loads(balcao(env, "key", "create", "gratis", "--json"))["key"])


def turns(files: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder, port = Path(temporary), free_port()
        env = dict(os.environ) | settings(folder / "home", port, log_level="error")
        with server(env, port, folder):
            other = Batches(port, account_by_words(env, "outra"))
            keys = {"gratuito": free_of_charge(env), "pre_pago": account_by_words(env, "hostil")}
            one_row = table(companies_elsewhere(1))
            print(f"alone: {_seconds(other, one_row):.1f} s")
            for plan, key in keys.items():
                hostile = Batches(port, key)
                content = two_cells("Z1048576")
                taken = Counter(
                    send(hostile, content, SHEET_TYPE).status_code for _ in range(files)
                )
                seconds = _seconds(other, one_row)
                print(
                    f"{plan}: {files} files of {len(content)} bytes, {dict(taken)}: {seconds:.1f} s"
                )


def _seconds(client: Batches, content: bytes) -> float:
    began = time.monotonic()
    answer = send(client, content)
    assert answer.status_code == 201, answer.text
    client.until(answer.json()["id"], *ENDED, pause=0.02)
    return time.monotonic() - began


def disk(folder: Path) -> None:
    port = free_port()
    home = folder / "home"
    env = dict(os.environ) | settings(home, port, log_level="error")
    with tempfile.TemporaryDirectory() as elsewhere, server(env, port, Path(elsewhere)):
        other = Batches(port, account_by_words(env, "outra"))
        senders = {"gratuito": free_of_charge(env), "pre_pago": account_by_words(env, "hostil")}
        _print_figures("at first", folder, other)
        for plan, key in senders.items():
            sizes = {"gratuito": 9_000_000, "pre_pago": 40_000_000}
            answers = _fill(Batches(port, key), sizes[plan])
            print(f"{plan}: {answers}")
            _print_figures(f"after {plan}", folder, other)
        time.sleep(60)
        _print_figures("a minute later", folder, other)
        answer = send(other, table(companies_elsewhere(1)))
        print(f"a list of one row by another account: {answer.status_code} {answer.text[:120]}")


def _fill(client: Batches, size_bytes: int) -> Mapping[str, int]:
    """Send incompressible files until three in a row are refused."""
    outcomes: Counter[str] = Counter()
    refused = 0
    for _ in range(TRIES):
        content = b"cnpj;x\n" + b"".join(
            b"90010001000100;%s\n" % os.urandom(400).hex().encode()
            for _ in range(size_bytes // 820)
        )
        try:
            answer = send(client, content)
        except httpx2.TransportError as error:
            outcomes[type(error).__name__] += 1
            refused += 1
        else:
            body = answer.json()
            code = "" if answer.status_code == 201 else f" {body['error_message']['code']}"
            outcomes[f"{answer.status_code}{code}"] += 1
            if answer.status_code != 429:  # at 429, wait until earlier files are read
                refused = 0 if answer.status_code == 201 else refused + 1
        if refused == 3:
            break
        time.sleep(1)
    return outcomes


def _print_figures(when: str, folder: Path, client: Batches) -> None:
    statuses = Counter(
        client.http.get(f"/consultas/v2/{COMPANY}/{cnpj}").status_code
        for cnpj in companies_elsewhere(LOOKUPS)
    )
    free = shutil.disk_usage(folder).free / 1_000_000
    print(f"{when}: {free:.0f} MB are free, {LOOKUPS} lookups of another account: {dict(statuses)}")


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench hostile_files")
    which = parser.add_subparsers(dest="which", required=True)
    which.add_parser("turns").add_argument("--files", type=int, default=12)
    which.add_parser("disk").add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args(words)
    if arguments.which == "turns":
        turns(arguments.files)
    else:
        disk(arguments.folder)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"the largest process took {most:.0f} MB", file=sys.stderr)
