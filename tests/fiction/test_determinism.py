"""A document has the same fictitious data on every machine, permanently.

The values below are written down, not computed: when one of them changes, everything that was
generated before disagrees with what is generated now. Change them only on purpose.
"""

import os
import subprocess
import sys
from datetime import date

from balcao.fiction import company_of, establishment_of, person_of
from balcao.fiction.dice import deck, draws
from balcao.fiction.month.mixing import mix_one, permute, salt
from balcao.fiction.records import CompanyFiction, Establishment, Simples


def test_draws_are_cut_from_the_digest_of_the_document() -> None:
    first = draws("11222333")

    assert first[:4] == (64134, 10125, 25307, 1248)
    assert len(first) == 32
    assert all(0 <= number < 65536 for number in first)
    assert draws("11222334") != first


def test_a_deck_holds_each_card_by_its_share() -> None:
    assert deck([("a", 3), ("b", 1)], 8) == ("a",) * 6 + ("b",) * 2
    assert deck([("a", 1), ("b", 1), ("c", 1)], 8) == ("a",) * 3 + ("b",) * 3 + ("c",) * 2


def test_a_head_office_that_closed() -> None:
    e = establishment_of("11222333000181")

    assert e.head_office
    assert e.trade_name == "INFORMATICA PONTO CERTO"
    assert (e.status, e.status_date, e.reason) == ("08", date(2023, 5, 6), "01")
    assert e.opened == date(2015, 9, 28)
    assert (e.activity, e.side_activities) == ("4751201", ())
    assert (e.address.street_type, e.address.street, e.address.number) == ("RUA", "BAHIA", "260")
    assert (e.address.cep, e.address.municipality.name) == ("04012415", "SAO PAULO")
    assert [(p.area_code, p.number) for p in e.phones] == [("11", "18249868")]
    assert e.email == "SANTARITA764@EXAMPLE.COM"


def test_its_company() -> None:
    assert company_of("11222333") == CompanyFiction(
        root="11222333",
        name="LUIS DA FICCAO RIBEIRO 98009288646",
        nature="2135",
        responsible="50",
        capital_cents=200_000,
        size="01",
        federative_entity="",
        partners=(),
        simples=Simples(
            opted=False,
            opted_on=date(2015, 9, 28),
            left_on=date(2023, 5, 6),  # the day it closed
            mei=False,
            mei_on=date(2015, 9, 28),
            mei_left_on=date(2023, 5, 6),
        ),
    )


def test_a_branch_with_letters() -> None:
    e = establishment_of("93ZB0VRYV6KA67")

    assert not e.head_office
    assert (e.status, e.status_date) == ("08", date(2009, 2, 11))
    assert e.address.municipality.tom == "0889"
    assert company_of("93ZB0VRY").name == "93.ZB0.VRY ADRIANA FATIMA DA FICCAO MOURA"


def test_partners() -> None:
    company = company_of("10000008")

    assert company.name == "SALAO DE BELEZA IPE AMARELO FICTICIA LTDA"
    assert [(p.name, p.document, p.qualification, p.entered) for p in company.partners] == [
        ("FABIO DA FICCAO COSTA", "79822586212", "05", date(2024, 8, 16)),
        ("ALICE DA FICCAO SOUZA", "92283274141", "22", date(2024, 8, 16)),
    ]


def test_a_person() -> None:
    person = person_of("52998224725")

    assert person.name == "FABIO DA FICCAO SILVA"
    assert person.born == date(1934, 10, 8)
    assert (person.home.uf, person.home.name) == ("TO", "PALMAS")


def test_the_hash_seed_of_the_process_plays_no_part() -> None:
    def said_with(hash_seed: str) -> str:
        script = (
            "from balcao.fiction import company_of, establishment_of;"
            "print(company_of('10000008'), establishment_of('33683111000280'))"
        )
        return subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout

    assert said_with("1") == said_with("2")


def test_asking_again_changes_nothing() -> None:
    first: Establishment = establishment_of("33683111000280")
    establishment_of("11222333000181")

    assert establishment_of("33683111000280") == first


def test_seeded_arithmetic_is_the_same_for_one_number_and_for_many() -> None:
    import numpy as np

    from balcao.fiction.month.mixing import mix

    values = np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64)
    key = salt(7, "roots")

    assert mix(values, key).tolist() == [mix_one(v, key) for v in (0, 1, 2**63, 2**64 - 1)]
    assert mix_one(0, 1) == 6238072747940578789  # SplitMix64's finaliser of 1


def test_permute_is_a_permutation() -> None:
    import numpy as np

    numbers = np.arange(100 * 100, dtype=np.int64)
    found = permute(numbers, 100, salt(1, "roots"))

    assert sorted(found.tolist()) == numbers.tolist()
    assert found.tolist() != numbers.tolist()
    assert permute(numbers, 100, salt(2, "roots")).tolist() != found.tolist()
