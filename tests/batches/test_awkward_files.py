"""Files as spreadsheets, programs and people write them, and the outcome of each row."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from balcao.batches.tables.contract import BOUNDS
from balcao.batches.tables.opening import open_table
from balcao.core.errors import FileUnreadable
from tests.batches.files import (
    COMPANY,
    FEDERAL,
    JSON,
    JSONL,
    RURAL,
    STATE,
    bomb,
    outcomes,
    refused,
    saved,
    sheet,
    text_cell,
    workbook,
    written_by_hand,
)

A, B, ZERO, TWO_ZEROS = "90010001000100", "90010002000154", "09001000000180", "00900100000174"
LETTERS = "12ABC345000188"
CPF = "90010000100"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def test_a_spreadsheet_that_lost_zeros(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["CNPJ", "Nome"],
        [9001000000180, "Um"],
        [900100000174, "Dois"],
        [9001000000181, "?"],
    ]
    expected = [f"2 {ZERO} +zeros", f"3 {TWO_ZEROS} +zeros", "4 tamanho_errado"]
    assert outcomes(sheet(tmp_path, rows)) == expected


def test_a_csv_with_numbers_in_scientific_notation(tmp_path: Path) -> None:
    path = saved(tmp_path, f"CNPJ;Nome\n3,3683E+13;Um\n9.001e13;Dois\n{A};Três\n")
    cut = "numero_cortado_pela_planilha"
    assert outcomes(path) == [f"2 {cut}", f"3 {cut}", f"4 {A}"]


def test_a_number_that_a_spreadsheet_only_shows_in_scientific_notation(tmp_path: Path) -> None:
    assert outcomes(sheet(tmp_path, [["CNPJ"], [float(A)]])) == [f"2 {A}"]


def test_dashes_that_are_no_rule_are_read_in_linear_time(tmp_path: Path) -> None:
    dashes = "-" * (BOUNDS.cell_characters - 1)
    path = saved(tmp_path, f"|CNPJ|Nome|\n|--|--|\n|{A}|Um|\n" + f"|{dashes}x|Dois|\n" * 20)
    begun = time.process_time()
    assert outcomes(path)[:2] == [f"3 {A}", "4 nao_e_documento"]
    assert time.process_time() - begun < 10


def test_a_line_of_dashes_beyond_the_bounds_of_a_cell_is_refused(tmp_path: Path) -> None:
    dashes = "-" * (BOUNDS.cell_characters + 1)
    path = saved(tmp_path, f"|CNPJ|Nome|\n|{A}|Um|\n|{dashes}|Dois|\n")
    assert refused(path) == "aspas_abertas"


def test_windows_1252(tmp_path: Path) -> None:
    path = saved(tmp_path, f"Razão Social;CNPJ\nPadaria São João;{A}\n", "windows-1252")
    with open_table(path) as table:
        assert table.header == ("Razão Social", "CNPJ")
        assert next(table.rows).cells[0] == "Padaria São João"
        assert table.description == "CSV, separado por ponto e vírgula, Windows-1252"


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-8"])
def test_byte_order_marks(tmp_path: Path, coding: str) -> None:
    path = saved(tmp_path, f"CNPJ\tMunicípio\r\n{A}\tSão Paulo\r\n", coding)
    with open_table(path) as table:
        assert table.header == ("CNPJ", "Município")
        assert [row.cells for row in table.rows] == [(A, "São Paulo")]


def test_commas_and_a_title_with_a_semicolon(tmp_path: Path) -> None:
    text = f'Clientes; novembro\n\nCNPJ,Razão Social,UF\n{A},"Um, Dois e Cia",SP\n'
    assert outcomes(saved(tmp_path, text), STATE) == [f"4 {A} SP"]


@pytest.mark.parametrize("title", ["Relatório", "Relação de CNPJ", ";Relatório;;"])
def test_a_title_above_data_without_names_is_skipped(tmp_path: Path, title: str) -> None:
    text = f"{title}\nFULANA;Rua Um;SP;{A}\nSICRANA;Rua Dois;RJ;{B}\n"
    assert outcomes(saved(tmp_path, text)) == [f"2 {A}", f"3 {B}"]
    text = f"{title}\n{A};FULANA;Rua Um;SP\n{B};SICRANA;Rua Dois;RJ\n"
    assert outcomes(saved(tmp_path, text)) == [f"2 {A}", f"3 {B}"]


def test_a_title_above_names_is_skipped(tmp_path: Path) -> None:
    text = f"Relação de CNPJ\nEmpresa;CNPJ (só números)\nFULANA;{A}\n"
    assert outcomes(saved(tmp_path, text)) == [f"3 {A}"]


def test_a_header_may_be_narrower_than_a_row(tmp_path: Path) -> None:
    path = saved(tmp_path, f"Empresa;Número\nFULANA;{A};\nSICRANA;{B};x\n")
    with open_table(path) as table:
        assert table.header == ("Empresa", "Número")
    assert outcomes(path) == [f"2 {A}", "3 celulas_demais"]


def test_an_extract_of_records_of_several_widths(tmp_path: Path) -> None:
    lines = [
        "|0000|017|0|",
        f"|0150|X1|FULANA|01058|{A}|",
        f"|0150|X2|SICRANA|01058|{B}|",
    ]
    assert outcomes(saved(tmp_path, "\n".join(lines) + "\n")) == [f"2 {A}", f"3 {B}"]


def test_documents_beyond_the_names_are_no_column(tmp_path: Path) -> None:
    text = f"Empresa;Número\n123456;x\nFULANA;y;{A}\nSICRANA;z;{B}\n"
    with pytest.raises(FileUnreadable) as caught:
        outcomes(saved(tmp_path, text))
    assert caught.value.reason == "sem_coluna_de_documento"


def test_separator_declared_in_the_first_line(tmp_path: Path) -> None:
    assert outcomes(saved(tmp_path, f"sep=|\nCNPJ|UF\n{A}|SP\n"), STATE) == [f"3 {A} SP"]


def test_separators_and_line_ends_in_quotation_marks(tmp_path: Path) -> None:
    text = f'Nome;CNPJ\n"Um; ""dois""\nRua 3";{A}\nOutro;{B}\n'
    path = saved(tmp_path, text)
    with open_table(path) as table:
        assert next(table.rows).cells == ('Um; "dois"\nRua 3', A)
    assert outcomes(path) == [f"2 {A}", f"3 {B}"]  # numbered like rows of a spreadsheet


def test_an_unclosed_quotation_is_refused(tmp_path: Path) -> None:
    rows = f"Outro;{B}\n" * 3
    assert refused(saved(tmp_path, f'Nome;CNPJ\n"Um;{A}\n{rows}')) == "aspas_abertas"
    many = f"Outro;{B}\n" * 100
    assert refused(saved(tmp_path, f'Nome;CNPJ\n"Um;{A}\n{many}"Dois";{A}\n')) == "aspas_abertas"


def test_letters_in_cnpjs_are_kept(tmp_path: Path) -> None:
    text = f"CNPJ\n12.abc.345/0001-88\n{LETTERS}\n2ABC345000188\n"
    expected = [f"2 {LETTERS}", f"3 {LETTERS}", "4 tamanho_errado"]
    assert outcomes(saved(tmp_path, text)) == expected


def test_punctuation_and_texts_around_documents(tmp_path: Path) -> None:
    texts = [
        "90.010.001/0001-00",
        " 90 010 001 / 0001‑00 ",
        "'90010001000100",
        f"{A}.0",
        f"CNPJ: {A}",
    ]
    path = saved(tmp_path, "documento\n" + "\n".join(texts) + "\n")
    assert outcomes(path) == [f"{line} {A}" for line in range(2, 7)]


def test_a_million_empty_rows(tmp_path: Path) -> None:
    head = f'<row r="1">{text_cell("A1", "CNPJ")}</row><row r="2">{text_cell("A2", A)}</row>'
    empty = "".join(f'<row r="{at}" s="1"><c r="B{at}" s="1"/></row>' for at in range(3, 100_000))
    last = f'<row r="1000000">{text_cell("A1000000", B)}</row><row r="1048576" ht="30"/>'
    assert outcomes(written_by_hand(tmp_path, head + empty + last)) == [f"2 {A}", f"1000000 {B}"]


def test_blank_lines_and_separators_alone(tmp_path: Path) -> None:
    assert outcomes(saved(tmp_path, f"CNPJ;UF\n\n;;\n ; \n{A};SP\n\n")) == [f"5 {A}"]


def test_a_bomb(tmp_path: Path) -> None:
    assert refused(bomb(tmp_path, 30), XLSX) == "planilha_bomba"  # 30 MB in 30 kB


def test_a_cell_far_from_the_others(tmp_path: Path) -> None:
    """A reader that stores sheets as rectangles would need a terabyte."""
    first = f'<row r="1">{text_cell("A1", "CNPJ")}</row><row r="2">{text_cell("A2", A)}</row>'
    last = f'<row r="1048576">{text_cell("XFD1048576", "x")}</row>'
    assert refused(written_by_hand(tmp_path, first + last)) == "planilha_pesada_demais"


def test_formulas_are_not_evaluated(tmp_path: Path) -> None:
    def write(page: Any, book: Any) -> None:
        page.write_row(0, 0, ["CNPJ", "Nome"])
        page.write_formula(1, 0, '=CONCATENATE("9001000","1000100")', None, A)  # as last computed
        page.write_formula(2, 0, '=HYPERLINK("http://example.com")', None, "")  # never computed
        page.write_string(2, 1, "Dois")
        page.write_formula(3, 0, "=1/0", None, "#DIV/0!")
        page.write_string(3, 1, "Três")

    expected = [f"2 {A}", "3 sem_documento", "4 sem_documento"]
    assert outcomes(workbook(tmp_path, write)) == expected


def test_two_lines_of_header(tmp_path: Path) -> None:
    groups = f"Empresa;;Endereço;\nCNPJ;Razão Social;UF;CEP\n{A};Um;SP;04000-100\n"
    assert outcomes(saved(tmp_path, groups), STATE) == [f"3 {A} SP"]
    below = f"CNPJ;Endereço;\n;UF;CEP\n{A};SP;04000-100\n"
    with open_table(saved(tmp_path, below)) as table:
        assert (table.header, table.header_line) == (("CNPJ", "UF", "CEP"), 2)
    assert outcomes(saved(tmp_path, below), STATE) == [f"3 {A} SP"]


def test_one_pasted_column_without_a_header(tmp_path: Path) -> None:
    path = saved(tmp_path, f"{A}\n90.010.002/0001-54\nnão sei\n")
    assert outcomes(path) == [f"1 {A}", f"2 {B}", "3 nao_e_documento"]
    with open_table(path) as table:
        assert (table.header, table.header_line) == (("Coluna A",), None)


def test_several_columns_without_a_header(tmp_path: Path) -> None:
    path = saved(tmp_path, f"1;Padaria, Um;11 98765-4321;{A}\n2;Dois;11 91234-5678;{B}\n")
    assert outcomes(path) == [f"1 {A}", f"2 {B}"]


def test_a_column_of_documents_with_another_name(tmp_path: Path) -> None:
    assert outcomes(saved(tmp_path, f"Nome;Número\nUm;{A}\nDois;{B}\n")) == [f"2 {A}", f"3 {B}"]


def test_people_and_companies_and_missing_birth_dates(tmp_path: Path) -> None:
    text = (
        "CPF/CNPJ;Data de Nascimento\n"
        f"{A};\n900.100.001-00;01/02/1980\n{CPF};\n{CPF};31/02/1980\n{CPF};1980-02-01\n"
        f"{CPF};01/02/2999\n{B};01/02/1980\n{CPF};1/2/80\n"
    )
    assert outcomes(saved(tmp_path, text), FEDERAL) == [
        f"2 {A}",
        f"3 {CPF} 1980-02-01",
        "4 data_ausente",
        "5 data_invalida",
        f"6 {CPF} 1980-02-01",
        "7 data_futura",
        f"8 {B}",
        "9 data_invalida",
    ]


def test_dates_that_are_dates_of_the_spreadsheet(tmp_path: Path) -> None:
    def write(page: Any, book: Any) -> None:
        page.write_row(0, 0, ["CPF", "Nascimento"])
        page.write_string(1, 0, CPF)
        page.write_number(1, 1, 29_252, book.add_format({"num_format": "dd/mm/yyyy"}))

    assert outcomes(workbook(tmp_path, write), FEDERAL) == [f"2 {CPF} 1980-02-01"]


def test_zeros_that_would_make_two_documents(tmp_path: Path) -> None:
    path = saved(tmp_path, "documento\n1000136\n")  # 00001000136 and 00000001000136
    assert outcomes(path, FEDERAL) == ["2 documento_ambiguo"]
    path = saved(tmp_path, "cnpj\n1000136\n")
    assert outcomes(path, FEDERAL) == ["2 00000001000136 +zeros"]


def test_a_persons_number_where_companies_are_asked_about(tmp_path: Path) -> None:
    path = saved(tmp_path, f"documento\n{CPF}\n{A}\n")
    assert outcomes(path) == ["2 documento_de_outro_tipo", f"3 {A}"]


def test_a_document_in_the_column_of_the_other_kind(tmp_path: Path) -> None:
    path = saved(tmp_path, f"CNPJ\n{A}\n900.100.001-00\n")
    assert outcomes(path, FEDERAL) == [f"2 {A}", "3 cpf_em_coluna_de_cnpj"]
    path = saved(tmp_path, f"CPF\n{A}\n")
    assert outcomes(path, FEDERAL) == ["2 cnpj_em_coluna_de_cpf"]


def test_a_separator_too_many(tmp_path: Path) -> None:
    path = saved(tmp_path, f"CNPJ;Nome\n{A};Um; Dois\n{B};Três\n")
    assert outcomes(path) == ["2 celulas_demais", f"3 {B}"]


def test_one_object_per_line(tmp_path: Path) -> None:
    text = (
        f'{{"cnpj": "{A}", "ref": "A-1"}}\n\n'
        f'{{"ref": "A-2", "cnpj": 9001000000180, "nome": null}}\n{{"cnpj": 3.3683E+13}}\n'
    )
    cut = "numero_cortado_pela_planilha"
    path = saved(tmp_path, text)
    assert outcomes(path, COMPANY, JSONL) == [f"1 {A} A-1", f"3 {ZERO} A-2 +zeros", f"4 {cut}"]


def test_lists_in_json(tmp_path: Path) -> None:
    objects = f'[{{"cnpj": "{A}"}}, {{"cnpj": "x"}}]\n'
    expected = [f"1 {A}", "2 nao_e_documento"]
    assert outcomes(saved(tmp_path, objects), COMPANY, JSON) == expected
    assert outcomes(saved(tmp_path, f' ["{A}",{B}]'), COMPANY, JSON) == [f"1 {A}", f"2 {B}"]


@pytest.mark.parametrize(
    ("content", "media_type", "code"),
    [
        (b"", "text/csv", "sem_linhas"),
        (b"CNPJ;UF\n", "text/csv", "sem_linhas"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), XLSX, "planilha_antiga"),
        (b"%PDF-1.7\n", XLSX, "arquivo_pdf"),
        (b"\x1f\x8b\x08\x00", "text/csv", "arquivo_compactado"),
        (b"  <html><table>", XLSX, "arquivo_html"),
        (b"PK\x03\x04 and no more", XLSX, "planilha_danificada"),
        (b"cnpj\n\x00\x01\x02\n", "text/csv", "texto_ilegivel"),
        (b"cnpj\n\x81\x8d\xff\n", "text/csv", "texto_ilegivel"),  # in none of the encodings
        (b"cnpj\n" + b"9" * 300_000, "text/csv", "linha_longa_demais"),
        (b"cnpj" + b";" * 300 + b"\n1\n", "text/csv", "colunas_demais"),
        (b'{"cnpj": 1}\n{"cnpj": \n', JSONL, "json_ilegivel"),
        (b'{"cnpj": NaN}\n', JSONL, "json_ilegivel"),
        (b'{"cnpj": 1} {"cnpj": 2}\n', JSONL, "json_ilegivel"),
        (b"[" * 100_000, JSON, "json_ilegivel"),
        (b'{"cnpj": "1"}', JSON, "json_sem_lista"),
        (b'["1" "2"]', JSON, "json_ilegivel"),
        (b'["1"] x', JSON, "json_ilegivel"),
        (b"[[1]]", JSON, "json_ilegivel"),
        (b'["1",', JSON, "json_ilegivel"),
        (b"[]", JSON, "sem_linhas"),
        (b'["\xff"]', JSON, "texto_ilegivel"),
    ],
)
def test_other_formats_are_refused(
    tmp_path: Path, content: bytes, media_type: str, code: str
) -> None:
    assert refused(saved(tmp_path, content), media_type) == code


def test_more_than_a_file_may_have(tmp_path: Path) -> None:
    few = msgspec.structs.replace(BOUNDS, rows=30)
    for rows, taken in ((30, True), (31, False)):
        text = "cnpj\n" + f"{A}\n" * rows
        csv = saved(tmp_path, text)
        assert (len(outcomes(csv, bounds=few)) == 30) if taken else refused(csv, bounds=few)
        xlsx = sheet(tmp_path, [[cell] for cell in text.split()])
        assert (len(outcomes(xlsx, bounds=few)) == 30) if taken else refused(xlsx, bounds=few)
        jsonl = saved(tmp_path, f'"{A}"\n' * rows)
        if taken:
            assert len(outcomes(jsonl, COMPANY, JSONL, bounds=few)) == 30
        else:
            assert refused(jsonl, JSONL, few) == "linhas_demais"
    small = msgspec.structs.replace(BOUNDS, file_bytes=10)
    assert refused(saved(tmp_path, f"cnpj\n{A}\n"), bounds=small) == "arquivo_grande_demais"


def test_spreadsheets_are_recognised_with_a_wrong_media_type(tmp_path: Path) -> None:
    """Browsers send `application/vnd.ms-excel` for CSV."""
    path = saved(tmp_path, f"cnpj\n{A}\n")
    for name in ("application/vnd.ms-excel", XLSX, "application/octet-stream", ""):
        assert outcomes(path, COMPANY, name) == [f"2 {A}"]
    book = sheet(tmp_path, [["cnpj"], [A]])
    for name in ("planilha.xls", "planilha.csv", "planilha"):
        assert outcomes(book.rename(tmp_path / name), COMPANY, "text/csv") == [f"2 {A}"]
        book = tmp_path / name


def test_closing_a_table_early_ends_its_process(tmp_path: Path) -> None:
    path = sheet(tmp_path, [["cnpj"], *[[A]] * 5_000])
    table = open_table(path)
    table.close()
    assert list(table.rows)[: len(table.sample)] == list(table.sample)
    assert len(list(open_table(path).rows)) == 5_000


# Formats of other programs


def test_texts_written_as_formulas_in_every_column(tmp_path: Path) -> None:
    text = (
        '="CPF";="Nascimento";="UF";="Ref"\r\n'
        f'="{CPF}";="01/02/1980";="SP";="A-1"\r\n'
        '"=""900.100.001-00""";"=""01/02/1980""";"=""São Paulo""";"=""A-2"""\r\n'
    )
    path = saved(tmp_path, text)
    rows = [f"2 {CPF} SP 1980-02-01 A-1", f"3 {CPF} SP 1980-02-01 A-2"]
    assert outcomes(path, RURAL, common={}) == [f"2 {CPF} SP A-1", f"3 {CPF} SP A-2"]
    assert [each.replace(" SP", "") for each in rows] == outcomes(path, FEDERAL)
    with open_table(path) as table:
        assert table.header == ("CPF", "Nascimento", "UF", "Ref")
        assert next(table.rows).cells == (CPF, "01/02/1980", "SP", "A-1")
    other = saved(tmp_path, f'CNPJ;Nome\n{A};="A"&"B"\n{B};=1+1\n')
    with open_table(other) as table:  # no other formula is evaluated
        assert [row.cells[1] for row in table.rows] == ['="A"&"B"', "=1+1"]


def test_texts_written_as_formulas_in_spreadsheets_and_json(tmp_path: Path) -> None:
    def write(page: Any, book: Any) -> None:
        page.write_row(0, 0, ["CNPJ", "Ref"])
        page.write_string(1, 0, f'="{A}"')
        page.write_string(1, 1, "'A-1")

    assert outcomes(workbook(tmp_path, write)) == [f"2 {A} A-1"]
    lines = saved(tmp_path, f'{{"cnpj": "=\\"{A}\\"", "ref": "A-1"}}\n')
    assert outcomes(lines, COMPANY, JSONL) == [f"1 {A} A-1"]


@pytest.mark.parametrize(
    "text",
    [
        f"CNPJ|Nome|UF\n{A}|Um|SP\n{B}|Dois, e Cia; Três|AM\n",
        f"|CNPJ|Nome|UF|\n|{A}|Um|SP|\n|{B}|Dois|AM|\n",
        f"| CNPJ | Nome | UF |\n|------|:----:|---:|\n| {A} | Um | SP |\n| {B} | Dois | AM |\n",
        f'"CNPJ"|"Nome"|"UF"|\n"{A}"|"Um | Dois"|"SP"|\n"{B}"||"AM"|\n',
        f"|UF|CNPJ|\n|SP|{A}|\n||90010003000107|\n|AM|{B}|\n",
    ],
)
def test_bars_between_cells_and_around_lines(tmp_path: Path, text: str) -> None:
    found = [row_text.split(" ", 1)[1] for row_text in outcomes(saved(tmp_path, text), STATE)]
    assert found[0] == f"{A} SP"
    assert found[-1] == f"{B} AM"
    with open_table(saved(tmp_path, text)) as table:
        assert table.description == "CSV, separado por barra vertical, UTF-8"
        assert set(map(str.strip, table.header)) >= {"CNPJ", "UF"}
        assert "Coluna A" not in table.header


def test_bars_around_lines_without_a_header(tmp_path: Path) -> None:
    path = saved(tmp_path, f"|0150|C1|Padaria|1058|{A}|\n|0150|C2|Bar|1058|{B}|\n")
    assert outcomes(path) == [f"1 {A}", f"2 {B}"]


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_byte_order_mark(tmp_path: Path, coding: str) -> None:
    path = saved(tmp_path, f"CNPJ\tNome\r\n{A}\tSão\r\n", coding)
    assert outcomes(path) == [f"2 {A}"]


def test_line_ends_of_old_macs_and_end_of_file_of_dos(tmp_path: Path) -> None:
    text = f"CNPJ;Razão Social\r{A};Um\r{B};Dois\r"
    assert outcomes(saved(tmp_path, text, "windows-1252")) == [f"2 {A}", f"3 {B}"]
    assert outcomes(saved(tmp_path, f"CNPJ\r\n{A}\r\n\x1a")) == [f"2 {A}"]


def test_names_next_to_documents(tmp_path: Path) -> None:
    text = (
        "90.010.001/0001-00 - Padaria, Bar e Cia\nPadaria São João (90.010.002/0001-54)\n"
        "CGC 90.010.003/0001-07\n90.010.001/0001-00 / 90.010.002/0001-54\n90010001\nabc\n"
        "Padaria 90.010.001/0001-01\n"
    )
    expected = [
        f"1 {A}",
        f"2 {B}",
        "3 90010003000107",
        "4 varios_documentos",
        "5 raiz_de_cnpj",
        "6 nao_e_documento",
        "7 documento_invalido",
    ]
    path = saved(tmp_path, text)
    assert outcomes(path, chosen={"documento": 0}) == expected
    named = [f"{int(each[0]) + 1}{each[1:]}" for each in expected]
    assert outcomes(saved(tmp_path, f"CNPJ\n{text.replace(',', '')}")) == named


def test_a_title_with_a_document_is_no_row(tmp_path: Path) -> None:
    title = "Relatório da Padaria São João, CNPJ 90.010.002/0001-54"
    for header in ("CNPJ", "CNPJ (só números)"):
        assert outcomes(saved(tmp_path, f"{title}\n{header};Nome\n{A};Um\n")) == [f"3 {A}"]


def test_numbers_padded_with_zeros(tmp_path: Path) -> None:
    text = "CPF/CNPJ;Nascimento\n00090010000100;01/02/1980\n000090010000100;01/02/1980\n"
    path = saved(tmp_path, f"{text}0{A};\n00000000000000;\n")
    assert outcomes(path, FEDERAL) == [
        f"2 {CPF} 1980-02-01",
        f"3 {CPF} 1980-02-01",
        f"4 {A}",
        "5 sem_documento",
    ]


def test_letters_that_look_like_exponents(tmp_path: Path) -> None:
    texts = ["7700003400E139", "77000034000E49", "77.000.034/00E1-39", "7700003400E138", "7.7E13"]
    assert outcomes(saved(tmp_path, "CNPJ\n" + "\n".join(texts) + "\n")) == [
        "2 7700003400E139",
        "3 77000034000E49",
        "4 7700003400E139",
        "5 documento_invalido",
        "6 numero_cortado_pela_planilha",
    ]
