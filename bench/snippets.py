"""The snippets of `balcao.web.kit.snippets` as runnable programs, and their expected output.

The test suite runs those whose interpreter it has, `python -m bench clients` all whose tools are
installed.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from balcao.web.kit.snippets import SNIPPETS, written

PATIENCE_SECONDS = 300  # the first build of a compiler fills its caches

# `docs/sandbox.md`: documents with their outcomes; each second line is cut before its dates.
OUTCOMES: Mapping[str, tuple[str, str]] = {
    "90010001000100": ("EMPRESA ATIVA FICTICIA LTDA (ATIVA)", "CND, válida até "),
    "90010002000154": ("(ATIVA)", "CPEND, válida até "),
    "90.010.003/0001-07": ("(BAIXADA)", "não emitida (CPD)"),
    "12.abc.345/01DE-35": ("(ATIVA)", "CND, válida até "),
    "99999999000191": ("o CNPJ não existe", "não emitida ("),
    "90020003000180": ("erro ERRO_INTERNO: ", "erro FALHA_TECNICA: "),
    "90010001000101": ("erro CNPJ_INVALIDO: ", "erro CNPJ_INVALIDO: "),
}

_DRIVER = Path(__file__).parent / "client_programs" / "apps_script.mjs"


def _as_it_is(*command: str) -> Callable[[Path], Sequence[str]]:
    return lambda file: (*command, str(file))


def _go(file: Path) -> Sequence[str]:
    program = file.parent / "consulta"
    _built("go", "vet", str(file))
    _built("go", "build", "-o", str(program), str(file))
    return (str(program),)


def _java(file: Path) -> Sequence[str]:
    _built("javac", "-Xlint:all,-serial", "-Werror", "-d", str(file.parent), str(file))
    return "java", "-XX:TieredStopAtLevel=1", "-cp", str(file.parent), "Consulta"


def _csharp(file: Path) -> Sequence[str]:
    project = file.parent / "consulta"
    _built("dotnet", "new", "console", "-o", str(project))
    shutil.copy(file, project / "Program.cs")
    _built("dotnet", "build", str(project), "-o", str(project / "out"))
    return (str(project / "out" / "consulta"),)


def _built(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# Program, and function from a file to a command. Delphi, TLPP and Power Query have no tools for
# build machines: people review them.
RUN: Mapping[str, tuple[str, Callable[[Path], Sequence[str]]]] = {
    "curl": ("curl", _as_it_is("sh")),
    "python": ("python3", _as_it_is("python3")),
    "node": ("node", _as_it_is("node")),
    "php": ("php", _as_it_is("php")),
    "apps-script": ("node", _as_it_is("node", str(_DRIVER))),
    "go": ("go", _go),
    "java": ("javac", _java),
    "csharp": ("dotnet", _csharp),
}


def prepared(name: str, folder: Path, address: str, key: str) -> Sequence[str]:
    """Write the snippet with this address and key below `folder`; return its command."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / SNIPPETS[name].file
    file.write_text(written(name, address, key), "utf-8")
    return RUN[name][1](file)


def output_of(
    command: Sequence[str], cnpj: str, env: Mapping[str, str] | None = None
) -> Sequence[str]:
    """Run a snippet for one company; return its lines. AssertionError where it fails."""
    done = subprocess.run(
        [*command, cnpj],
        env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert (done.returncode, err) == (0, ""), f"{command}: {done.returncode}\n{out}{err}"
    return out.splitlines()


def complaints(command: Sequence[str], env: Mapping[str, str] | None = None) -> Sequence[str]:
    """Return the differences between a snippet's output and the documented outcomes."""
    found = []
    for cnpj, (company, certificate) in OUTCOMES.items():
        lines = output_of(command, cnpj, env)
        if not (
            len(lines) == 2
            and lines[0].startswith("empresa: ")
            and company in lines[0]
            and lines[1].startswith(f"certidão federal: {certificate}")
        ):
            found.append(f"{cnpj}: {lines}")
    return found
