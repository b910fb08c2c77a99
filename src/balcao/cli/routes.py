"""`balcao routes`: every address of the API and of the web application."""

from balcao.cli.output import AsJson, TextTable, record, show


def routes(as_json: AsJson = False) -> None:
    """Lista os endereços da API e da aplicação e a função que responde cada um.

    A última coluna é o tamanho máximo do corpo da requisição, em bytes. Em branco: sem corpo.

    Exemplo:

      $ balcao routes
    """
    from balcao.service.route_list import list_routes

    found = list(list_routes())
    table = TextTable(
        found,
        {
            "Método": "methods",
            "Endereço": "path",
            "Função": "handler",
            "Corpo": lambda one: one.body_bytes_max or None,
        },
        foldable=("Endereço", "Função"),
    )
    data = [
        {"methods": one.methods.split(", "), **record(one, "path handler body_bytes_max")}
        for one in found
    ]
    show(as_json, data, table)
