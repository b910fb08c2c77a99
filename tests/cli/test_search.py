"""`balcao search`: the service's search, free and without a running service."""

from pathlib import Path

from balcao.core import writing
from tests.cli.shell import Shell


def test_search_at_the_terminal(shell: Shell, tmp_path: Path) -> None:
    assert "opendata fetch" in (nothing := shell("search --uf SP", code=1).err)
    assert "acrescente --sandbox" in nothing
    assert "opendata build" in shell("search --uf SP --sandbox", code=1).err
    shell(f"opendata sample {tmp_path / 'mes'} --establishments 300 --seed 7")
    shell(f"opendata build {tmp_path / 'mes'} --sandbox --force")
    assert "opendata search --sandbox" in shell("search --uf SP --sandbox", code=1).err
    shell("opendata search --sandbox")
    assert shell("opendata status --json").json["search"]["test"] is True

    page = shell("search --uf SP --sandbox --limit 2 --json").json
    assert [item["uf"] for item in page["itens"]] == ["SP", "SP"]
    assert all(isinstance(item["capital_social"], float) for item in page["itens"])
    assert page["data_base"].startswith(f"{page['competencia']}-")
    table = shell("search --uf SP --sandbox --limit 2").out
    assert writing.cnpj(page["itens"][0]["cnpj"]) in table
    assert page["cursor"] in table
    whole = shell("search --uf SP --sandbox").out  # without a terminal nothing is wrapped
    names = [
        item["nome_empresarial"] for item in shell("search --uf SP --sandbox --json").json["itens"]
    ]
    assert max(map(len, names)) > 31
    assert [name for name in names if f" {name} " not in whole] == []
    counted = shell("search --filter uf=SP --sandbox --count")
    assert int(counted.out) > 2
    assert "Sem empresários individuais nem MEI" in counted.err
    everybody = shell("search --filter uf=SP --sandbox --count --people")
    assert (int(everybody.out) > int(counted.out), everybody.err) == (True, "")
    assert "aberta_desde" in shell("search --sandbox --filter nada=1", code=1).err
