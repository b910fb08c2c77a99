"""`python -m bench [NAME ...]` measures what is named, or else all that is quick.

`python -m bench NAME WORDS` gives a bench words of its own: `--help` tells them.
"""

import signal
import sys
from importlib import import_module

QUICK = ("ledger", "desk", "http", "door", "import", "answers", "registrations", "source", "peer")
LONG = (
    "alternate", "memory", "nodes", "scaling", "crash", "storm", "clients", "backup", "fetch",
    "failover", "fuzz", "instructions", "budgets", "batches", "files", "full_month", "search",
    "hostile_files", "statement", "outgoing",
)  # fmt: skip
FILES = {"import": "import_month"}  # whose name is not the file's
WITH_A_WORD = (
    "batches",
    "hostile_files",
)  # what follows is always theirs: `batches memory` is not two benches


def main(words: list[str]) -> None:
    names = (*QUICK, *LONG)
    if words and words[0] not in names:
        raise SystemExit(f"bench: {words[0]}? Use: {', '.join(names)}")
    if words[1:] and (words[0] in WITH_A_WORD or words[1] not in names):
        words, own = words[:1], words[1:]
    else:
        own = []
    for name in words or QUICK:
        print(f"== {name}", flush=True)
        import_module(f"bench.{FILES.get(name, name)}").main(own)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends, too
    main(sys.argv[1:])
