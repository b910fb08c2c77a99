"""A seventh operation is a folder and one line. (Its source is another folder and line.)

Tested on a copy of the program: no other file is changed, and `checks_of_simples.py`, run in the
copy, finds the operation wherever operations appear.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from balcao.examination.inventory import SNAPSHOT, SWITCHES
from balcao.operations import ALL_OPERATIONS

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "balcao"
PATIENCE_SECONDS = 600  # for slow machines


def test_a_folder_and_one_line(tmp_path: Path) -> None:
    program = tmp_path / "src" / "balcao"
    shutil.copytree(SOURCE, program)
    for kind, name, last in (
        ("operations", "simples", "state_certificate"),
        ("providers", "registro", "infosimples"),
    ):
        shutil.copytree(HERE / name, program / kind / name)
        listed = program / kind / "__init__.py"
        text, before = listed.read_text("utf-8"), f'    "{last}",\n'
        assert text.count(before) == 1
        listed.write_text(text.replace(before, f'{before}    "{name}",\n'), "utf-8")

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            HERE / "checks_of_simples.py",
        ],
        env={**os.environ, "PYTHONPATH": str(program.parent)},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_a_folder_is_named_by_its_subject() -> None:
    """The subject is part of cache keys, settings and metric labels."""
    for each in ALL_OPERATIONS:
        assert each.__module__ == f"balcao.operations.{each.subject}.operation"
        assert re.fullmatch("[a-z_]+", each.subject)


def test_operations_are_unique() -> None:
    for names in zip(
        *((each.subject, each.path, each.form.slug) for each in ALL_OPERATIONS),
        strict=True,
    ):
        assert len(set(names)) == len(ALL_OPERATIONS)


def test_sources_of_operations_exist() -> None:
    for each in ALL_OPERATIONS:
        assert set(each.sources) <= {SNAPSHOT, *SWITCHES}
