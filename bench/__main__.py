"""`python -m bench [NAME ...]` runs the named benchmarks, by default all quick ones.

`python -m bench NAME ARGUMENTS` passes arguments to a benchmark; see its `--help`.
"""

import signal
import sys
from importlib import import_module

QUICK = ("ledger", "desk", "http", "door", "import", "answers", "registrations", "source", "peer")
LONG = (
    "alternate", "memory", "nodes", "scaling", "crash", "storm", "clients", "backup", "fetch",
    "failover", "fuzz", "instructions", "budgets", "batches", "files", "full_month", "search",
    "hostile_files", "statement", "outgoing", "figures", "rolling", "watching",
    "months", "month_kills", "feed", "webhooks", "privacy", "year",
)  # fmt: skip
FILES = {"import": "import_month"}  # names that differ from the module's
WITH_A_WORD = (
    "batches",
    "hostile_files",
)  # they take arguments: `batches memory` is not two benchmarks


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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that child processes end, too
    main(sys.argv[1:])
