"""`balcao routes`: every address of the API and of the web application."""

from balcao.cli.output import AsJson, print_json, print_table, record, whole


def routes(as_json: AsJson = False) -> None:
    """Lista cada endereço da API e da aplicação, e a função do programa que o responde.

    A última coluna é o maior corpo que uma requisição pode trazer, em bytes; sem ela, nenhum.

    Exemplo:

      $ balcao routes
    """
    from balcao.service.listing import addresses

    found = list(addresses())
    if as_json:
        print_json(
            [
                {"methods": one.methods.split(", "), **record(one, "path handler body_bytes_max")}
                for one in found
            ]
        )
        return
    rows = [(one.methods, one.path, one.handler, _bytes(one.body_bytes_max)) for one in found]
    print_table(("Método", "Endereço", "Função", "Corpo"), rows, foldable=("Endereço", "Função"))


def _bytes(number: int) -> str:
    return whole(number) if number else "—"
