"""Tables on terminals of any width, without broken words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.cli import output
from balcao.cli.output import fit, folded, print_table
from tests.cli.shell import Shell

COLUMNS = ("Nº", "Nome", "E-mail", "Criada em", "Créditos")
ROWS = [
    ("1", "Contabilidade Exemplo do Sul Ltda", "financeiro@exemplo.com.br", "22/11/2026", "9.973"),
    ("2", "Acme", "—", "01/02/2026", "12"),
]
LONG = "a" * 70
WORDS = {word for row in [COLUMNS, *ROWS] for cell in row for word in cell.split()}


@pytest.mark.parametrize("width", [200, 90, 80, 60, 20])
def test_no_word_is_broken_on_narrow_terminals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    monkeypatch.setattr(output, "WIDTH_WITHOUT_TERMINAL", width)
    print_table(COLUMNS, ROWS, numbers=("Nº", "Créditos"), total=("", "Total", "", "", "9.985"))
    result = capsys.readouterr().out
    assert set(result.replace(":", " ").split()) >= WORDS | {"Total", "9.985"}
    assert "…" not in result
    if width >= 60:
        assert max(map(len, result.splitlines())) <= width


def test_rows_are_lists_on_terminals_too_narrow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "WIDTH_WITHOUT_TERMINAL", 40)
    print_table(COLUMNS, ROWS[:1])
    assert capsys.readouterr().out.splitlines() == [
        "Nº:         1",
        "Nome:       Contabilidade Exemplo do Sul",
        "            Ltda",
        "E-mail:     financeiro@exemplo.com.br",
        "Criada em:  22/11/2026",
        "Créditos:   9.973",
        "",
    ]


columns = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda pair: (max(pair), min(pair))),
    min_size=1,
    max_size=8,
)


@given(columns, st.integers(0, 200))
def test_columns_share_the_width(wanted: list[tuple[int, int]], room: int) -> None:
    natural, least = [most for most, _ in wanted], [few for _, few in wanted]
    widths = fit(natural, least, room)
    if widths is None:
        assert sum(least) > room
        return
    assert sum(widths) <= room
    assert all(
        few <= width <= most for few, width, most in zip(least, widths, natural, strict=True)
    )
    # No column is shortened while space is left.
    assert widths == natural or room - sum(widths) < len(widths)


def test_addresses_break_after_punctuation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, name = "/app/operador/contas/{account_id:int}/chaves", "balcao.web.operator.keys:show"
    assert folded(path, 20) == "/app/operador/\ncontas/{account_id:\nint}/chaves"
    for width, lines in ((80, 3), (60, 5)):
        monkeypatch.setattr(output, "WIDTH_WITHOUT_TERMINAL", width)
        print_table(("Endereço", "Função"), [(path, name)], foldable=("Endereço", "Função"))
        result = capsys.readouterr().out.splitlines()
        assert max(map(len, result)) <= width
        assert len(list(filter(str.strip, result))) <= lines
        assert not any(line.endswith(" ") for line in result)


def test_a_long_word_is_broken_only_where_it_may_be_folded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert folded(f"x-{LONG[:30]}-y", 12) == "x-\n" + "\n".join(
        ["a" * 12, "a" * 12, "a" * 6 + "-y"]
    )
    monkeypatch.setattr(output, "WIDTH_WITHOUT_TERMINAL", 50)
    print_table(("Nome", "Saldo"), [(LONG, "12")], foldable=("Nome",))
    rows = capsys.readouterr().out.split()
    assert (rows[:2], rows.count("12"), sum(map(len, rows[3:])) - 2) == (["Nome", "Saldo"], 1, 70)
    print_table(("Nome", "Saldo"), [(LONG, "12")])
    assert "Saldo:" in capsys.readouterr().out


def test_a_row_is_one_line_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    long = "palavra " * 100
    print_table(COLUMNS, [("1", long.strip(), "x", "y", "2")], numbers=("Nº",))
    assert sum("palavra" in line for line in capsys.readouterr().out.splitlines()) == 1


def test_tables_of_commands_fit_a_terminal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables with long values fit with their titles, and do not become lists."""
    name = "Contabilidade-Exemplo-do-Sul"
    shell(f"account create {LONG} --plan pos_pago")
    shell(f"account create {name} --plan pre_pago --test")
    shell(
        f"key create {name} --ip 203.0.113.0/24 --ip 2001:db8::/32 --per-minute 10000"
        " --operation certidao-negativa-de-debitos-federal --admin --require-client"
    )
    shell(
        "user create departamento.financeiro@contabilidade.exemplo.com.br --name 'Ana de Souza'"
        f" --account {name} --role gestor"
    )
    monkeypatch.setenv("BALCAO_MINHA_RECEITA__URL", "https://minha-receita.rede.exemplo.com.br")
    shell(f"user create ana@exemplo.com.br --name {LONG} --account {LONG} --role gestor")
    monkeypatch.setattr(output, "WIDTH_WITHOUT_TERMINAL", 80)
    for line, head in (
        ("account list", "Reservados"),
        (f"key list {name}", "Regras"),
        ("user list", "Papel"),
        ("config show", "Origem"),
        ("source list", "Ativa"),
    ):
        result = shell(line).out.splitlines()
        assert max(map(len, result)) <= 80, line
        assert any(head in each and "Nome:" not in each for each in result), line
        assert not any(each.startswith(f"{head}:") for each in result), line
