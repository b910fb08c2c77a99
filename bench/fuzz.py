"""Coverage-guided fuzzing of the readers of sources' answers.

    .venv/bin/python -m bench fuzz --seconds 600            all five readers, two minutes each
    .venv/bin/python -m bench fuzz --seconds 600 sefaz      one of them

Readers: sefaz, infosimples, cnpja, serpro, minha_receita. An input is an answer with HTTP status
200; its first byte selects the reader's operation. For any answer the reader either fails like a
source may, or returns a record about the requested document, within its limits, with clean texts,
that can be concluded and sent. Ends with status 1 otherwise; the input is then among the findings,
and `python -m bench.fuzz READER FILE` reproduces it.

Findings become cases of `tests/sources/hostile.py`.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

NAMES = ("sefaz", "infosimples", "cnpja", "serpro", "minha_receita")
ANSWER_BYTES_MAX = 16_384  # longer inputs are in the corpus of hostile answers
SLOW_SECONDS = 5  # under instrumentation, on a busy machine
MEMORY_MB = 2_048

_ROOT = Path(__file__).parent.parent


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench fuzz")
    parser.add_argument("--seconds", type=int, default=300, help="of all readers together")
    parser.add_argument("--findings", type=Path, default=None, help="folder of what was found")
    parser.add_argument("readers", nargs="*", metavar="reader", help=", ".join(NAMES))
    asked = parser.parse_args(arguments)
    readers = asked.readers or NAMES
    if unknown := set(readers) - set(NAMES):
        parser.error(f"no such reader: {', '.join(sorted(unknown))}")
    findings = asked.findings or Path(tempfile.mkdtemp(prefix="balcao-fuzz-"))
    findings.mkdir(parents=True, exist_ok=True)
    failed = [
        name for name in readers if not _ran(name, asked.seconds // len(readers) or 1, findings)
    ]
    if failed:
        raise SystemExit(f"fuzz: {', '.join(failed)} did not survive an answer; see {findings}")
    print(f"{len(readers)} readers survived every answer")


def _ran(name: str, seconds: int, findings: Path) -> bool:
    """Run one reader in a separate process, as the fuzzer requires."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, words = Path(folder, "corpus"), Path(folder, "words")
        corpus.mkdir()
        for number, seed in enumerate(seeds(name)):
            Path(corpus, f"{number:04}").write_bytes(seed)
        words.write_text("\n".join(dictionary(name)), "utf-8")
        done = subprocess.run(
            [
                sys.executable, "-m", "bench.fuzz", name, f"--findings={findings}",
                str(corpus), f"-dict={words}",
                f"-max_total_time={seconds}", f"-max_len={ANSWER_BYTES_MAX}",
                f"-timeout={SLOW_SECONDS}", f"-rss_limit_mb={MEMORY_MB}",
                f"-artifact_prefix={findings}/{name}-", "-print_final_stats=1", "-verbosity=0",
            ],
            cwd=_ROOT,
            check=False,
            capture_output=True,
            text=True,
        )  # fmt: skip
    ran = re.search(r"number_of_executed_units: *(\d+)", done.stderr)
    print(f"{name}: {ran[1] if ran else '?'} answers in {seconds} s", flush=True)
    if done.returncode:
        print(done.stdout[-2_000:], done.stderr[-4_000:], sep="\n", flush=True)
    return done.returncode == 0


def seeds(name: str) -> Iterator[bytes]:
    """Yield good answers and short hostile ones, each with the byte of its operation."""
    from tests.sources import hostile  # noqa: PLC0415

    for number, reader in enumerate(readers_of(name)):
        yield bytes([number]) + hostile.good(reader).body
        yield bytes([number]) + hostile.unclean(reader).body
        for case in hostile.CORPUS:
            if case.reader is reader:
                answer = case.make()
                if len(answer.body) < ANSWER_BYTES_MAX and not answer.headers:
                    yield bytes([number]) + answer.body


def dictionary(name: str) -> Iterator[str]:
    """Yield names of fields, and texts that are hard to read."""
    words = {r"\\u0000", r"\\ud800", "null", "true", "[]", "{}", "1e400", "-1", "99999999999999"}
    for seed in seeds(name):
        text = seed[1:].decode("utf-8", "replace")
        words |= set(re.findall(r'"[A-Za-z_0-9]+"', text)) | set(re.findall(r"</?\w+>", text))
    for word in sorted(words):
        plain = word.replace('"', '\\"') if '"' in word else word
        if plain.isascii():
            yield f'"{plain}"'


def readers_of(name: str) -> Sequence[Any]:
    """Return the reader's operations, in the order of their bytes."""
    from tests.sources.hostile import READERS  # noqa: PLC0415

    return [each for each in READERS.values() if each.provider == name]


def _fuzz(name: str, arguments: Sequence[str]) -> None:
    folders = [each.partition("=")[2] for each in arguments if each.startswith("--findings=")]
    import atheris  # noqa: PLC0415

    with atheris.instrument_imports(include=["balcao.sources", "balcao.core", "balcao.operations"]):
        from bench import fuzz_one  # noqa: PLC0415

    check = fuzz_one.harness(readers_of(name))

    def read(data: bytes) -> None:
        try:
            check(data)
        except BaseException:
            for (
                folder
            ) in folders:  # the fuzzer itself keeps only inputs that hung or exhausted the memory
                digest = hashlib.sha256(data).hexdigest()[:16]
                Path(folder, f"{name}-{digest}").write_bytes(data)
            raise

    theirs = [each for each in arguments if not each.startswith("--findings=")]
    atheris.Setup([sys.argv[0], *theirs], read)
    atheris.Fuzz()


if __name__ == "__main__":
    _fuzz(sys.argv[1], sys.argv[2:])
