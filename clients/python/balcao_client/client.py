"""Both clients. Written by tools/generate_clients.py of the OpenAPI document: do not edit."""

from typing import Literal

from balcao_client import types
from balcao_client.runtime import Answer, Awaited, Call, Waiting, as_json

Uf = Literal[
    "",
    "BR",
    "AC",
    "AL",
    "AM",
    "AP",
    "BA",
    "CE",
    "DF",
    "ES",
    "GO",
    "MA",
    "MG",
    "MS",
    "MT",
    "PA",
    "PB",
    "PE",
    "PI",
    "PR",
    "RJ",
    "RN",
    "RO",
    "RR",
    "RS",
    "SC",
    "SE",
    "SP",
    "TO",
]
Uf2 = Literal[
    "BR",
    "AC",
    "AL",
    "AM",
    "AP",
    "BA",
    "CE",
    "DF",
    "ES",
    "GO",
    "MA",
    "MG",
    "MS",
    "MT",
    "PA",
    "PB",
    "PE",
    "PI",
    "RJ",
    "RN",
    "RO",
    "RR",
    "RS",
    "SC",
    "SE",
    "SP",
    "TO",
]
Uf3 = Literal[
    "AC",
    "AL",
    "AM",
    "AP",
    "BA",
    "CE",
    "DF",
    "ES",
    "GO",
    "MA",
    "MG",
    "MS",
    "MT",
    "PA",
    "PB",
    "PE",
    "PI",
    "PR",
    "RJ",
    "RN",
    "RO",
    "RR",
    "RS",
    "SC",
    "SE",
    "SP",
    "TO",
]
Estado = Literal[
    "invalida",
    "repetida",
    "pendente",
    "em_andamento",
    "concluida",
    "falha",
    "recusada",
    "cancelada",
]


class Balcao(Waiting):
    """Asks, and waits for the answer."""

    def suframa(
        self,
        cnpj: str,
        *,
        cache: int | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaSuframa]:
        """Inscrição na Suframa.

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        cache: Idade máxima, em dias, de um resultado guardado, que então é usado sem
        consultar a fonte. 0 força uma consulta nova. Prevalece sobre o cabeçalho.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/consultas/v2/suframa/{}",
                documents=(cnpj,),
                query={"cache": cache, "creditos_maximos": creditos_maximos},
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    def sintegra(
        self,
        cnpj: str,
        *,
        uf: Uf | None = None,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        error_fallback: bool | None = None,
        endereco: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaInscricoes]:
        """Inscrições estaduais da empresa (Sintegra).

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        uf: UF consultada; `BR` consulta todas. Sem ela, a UF da própria empresa.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha;
        decidido por UF.
        error_fallback: true: se a fonte falhar, aceita um resultado guardado de qualquer
        idade.
        endereco: true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por
        requisição.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/consultas/v2/sintegra/{}",
                documents=(cnpj,),
                query={
                    "uf": uf,
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "error_fallback": error_fallback,
                    "endereco": endereco,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    def produtor_rural(
        self,
        cpf: str,
        *,
        uf: Uf2,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        error_fallback: bool | None = None,
        endereco: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaProdutorRural]:
        """Inscrições estaduais do produtor rural.

        cpf: CPF completo, com ou sem pontuação.
        uf: UF consultada; `BR` consulta todas.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha;
        decidido por UF.
        error_fallback: true: se a fonte falhar, aceita um resultado guardado de qualquer
        idade.
        endereco: true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por
        requisição.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/consultas/v2/produtor-rural/{}",
                documents=(cpf,),
                query={
                    "uf": uf,
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "error_fallback": error_fallback,
                    "endereco": endereco,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    def certidao_negativa_de_debitos_federal(
        self,
        *,
        cnpj: str | None = None,
        cpf: str | None = None,
        data_nascimento: str | None = None,
        cache_strategy: Literal[
            "CACHE_PREFERENCIAL", "CACHE_SE_EXISTIR", "SO_CACHE", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        preferencia_emissao: Literal["2via", "nova"] | None = None,
        atualizar_online: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaCertidaoFederal]:
        """Certidão de débitos federais (CND).

        cnpj: CNPJ, com ou sem pontuação. Não se combina com cpf nem data_nascimento.
        cpf: CPF, com ou sem pontuação; exige data_nascimento.
        data_nascimento: Data de nascimento, yyyyMMdd; obrigatória com cpf.
        cache_strategy: Cache ou fonte primeiro. Uma certidão vencida nunca é entregue como
        válida.
        preferencia_emissao: `2via` procura na fonte uma certidão ainda válida antes de
        emitir outra; `nova` pede uma emissão nova à fonte.
        atualizar_online: true: consulta a fonte mesmo que haja um resultado guardado.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/consultas/v2/certidao-negativa-de-debitos-federal",
                query={
                    "cnpj": cnpj,
                    "cpf": cpf,
                    "data_nascimento": data_nascimento,
                    "cache_strategy": cache_strategy,
                    "preferencia_emissao": preferencia_emissao,
                    "atualizar_online": atualizar_online,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    def certidao_negativa_de_debitos_estadual(
        self,
        cnpj: str,
        *,
        uf: Uf3,
        atualizar_online: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaCertidaoEstadual]:
        """Certidão de débitos estaduais.

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        uf: UF cuja certidão se pede; uma por requisição.
        atualizar_online: true: consulta a fonte mesmo que haja uma certidão guardada.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/consultas/v2/certidao-negativa-de-debitos-estadual/{}",
                documents=(cnpj,),
                query={
                    "uf": uf,
                    "atualizar_online": atualizar_online,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    def cnpj_receita_federal(
        self,
        cnpj: str,
        *,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        optin: Literal["0", "1"] | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaEmpresa]:
        """Dados cadastrais da empresa (Receita Federal).

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha.
        optin: 1 pede o CPF dos sócios; precisa estar habilitado na conta.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/consultas/v2/cnpj-receita-federal/{}",
                documents=(cnpj,),
                query={
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "optin": optin,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    def cotacao_suframa(
        self,
        cnpj: str,
        *,
        cache: int | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Inscrição na Suframa.

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        cache: Idade máxima, em dias, de um resultado guardado, que então é usado sem
        consultar a fonte. 0 força uma consulta nova. Prevalece sobre o cabeçalho.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/cotacoes/v2/suframa/{}",
                documents=(cnpj,),
                query={"cache": cache, "creditos_maximos": creditos_maximos},
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    def cotacao_sintegra(
        self,
        cnpj: str,
        *,
        uf: Uf | None = None,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        error_fallback: bool | None = None,
        endereco: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Inscrições estaduais da empresa (Sintegra).

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        uf: UF consultada; `BR` consulta todas. Sem ela, a UF da própria empresa.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha;
        decidido por UF.
        error_fallback: true: se a fonte falhar, aceita um resultado guardado de qualquer
        idade.
        endereco: true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por
        requisição.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/cotacoes/v2/sintegra/{}",
                documents=(cnpj,),
                query={
                    "uf": uf,
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "error_fallback": error_fallback,
                    "endereco": endereco,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    def cotacao_produtor_rural(
        self,
        cpf: str,
        *,
        uf: Uf2,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        error_fallback: bool | None = None,
        endereco: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Inscrições estaduais do produtor rural.

        cpf: CPF completo, com ou sem pontuação.
        uf: UF consultada; `BR` consulta todas.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha;
        decidido por UF.
        error_fallback: true: se a fonte falhar, aceita um resultado guardado de qualquer
        idade.
        endereco: true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por
        requisição.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/cotacoes/v2/produtor-rural/{}",
                documents=(cpf,),
                query={
                    "uf": uf,
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "error_fallback": error_fallback,
                    "endereco": endereco,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    def cotacao_certidao_negativa_de_debitos_federal(
        self,
        *,
        cnpj: str | None = None,
        cpf: str | None = None,
        data_nascimento: str | None = None,
        cache_strategy: Literal[
            "CACHE_PREFERENCIAL", "CACHE_SE_EXISTIR", "SO_CACHE", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        preferencia_emissao: Literal["2via", "nova"] | None = None,
        atualizar_online: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Certidão de débitos federais (CND).

        cnpj: CNPJ, com ou sem pontuação. Não se combina com cpf nem data_nascimento.
        cpf: CPF, com ou sem pontuação; exige data_nascimento.
        data_nascimento: Data de nascimento, yyyyMMdd; obrigatória com cpf.
        cache_strategy: Cache ou fonte primeiro. Uma certidão vencida nunca é entregue como
        válida.
        preferencia_emissao: `2via` procura na fonte uma certidão ainda válida antes de
        emitir outra; `nova` pede uma emissão nova à fonte.
        atualizar_online: true: consulta a fonte mesmo que haja um resultado guardado.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/cotacoes/v2/certidao-negativa-de-debitos-federal",
                query={
                    "cnpj": cnpj,
                    "cpf": cpf,
                    "data_nascimento": data_nascimento,
                    "cache_strategy": cache_strategy,
                    "preferencia_emissao": preferencia_emissao,
                    "atualizar_online": atualizar_online,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    def cotacao_certidao_negativa_de_debitos_estadual(
        self,
        cnpj: str,
        *,
        uf: Uf3,
        atualizar_online: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Certidão de débitos estaduais.

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        uf: UF cuja certidão se pede; uma por requisição.
        atualizar_online: true: consulta a fonte mesmo que haja uma certidão guardada.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/cotacoes/v2/certidao-negativa-de-debitos-estadual/{}",
                documents=(cnpj,),
                query={
                    "uf": uf,
                    "atualizar_online": atualizar_online,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    def cotacao_cnpj_receita_federal(
        self,
        cnpj: str,
        *,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        optin: Literal["0", "1"] | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Dados cadastrais da empresa (Receita Federal).

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha.
        optin: 1 pede o CPF dos sócios; precisa estar habilitado na conta.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return self._ask(
            Call(
                "GET",
                "/cotacoes/v2/cnpj-receita-federal/{}",
                documents=(cnpj,),
                query={
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "optin": optin,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    def busca_de_empresas(
        self,
        *,
        q: str | None = None,
        uf: str | None = None,
        municipio: str | None = None,
        cnae: str | None = None,
        cnae_principal: str | None = None,
        divisao: str | None = None,
        natureza: str | None = None,
        situacao: str | None = None,
        motivo: str | None = None,
        porte: str | None = None,
        matriz: bool | None = None,
        simples: bool | None = None,
        mei: bool | None = None,
        ddd: str | None = None,
        dominio: str | None = None,
        aberta_desde: str | None = None,
        aberta_ate: str | None = None,
        situacao_desde: str | None = None,
        situacao_ate: str | None = None,
        capital_min: float | None = None,
        capital_max: float | None = None,
        cep: str | None = None,
        raiz: str | None = None,
        pessoas: bool | None = None,
        limite: int | None = None,
        cursor: str | None = None,
        creditos_maximos: int | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaBuscaEmpresas]:
        """Busca de empresas.

        q: Palavras do nome empresarial ou do nome fantasia, sem distinguir acentos; a
        última pode terminar em `*`, depois de ao menos três letras.
        uf: Siglas de UF; `EX`, exterior.
        municipio: Nomes (com `uf`), códigos da Receita Federal (4 dígitos) ou do IBGE (7
        dígitos).
        cnae: Atividades principais ou secundárias, 7 dígitos.
        cnae_principal: Atividades principais, 7 dígitos.
        divisao: Divisões da atividade principal, 2 dígitos.
        natureza: Naturezas jurídicas, 4 dígitos.
        situacao: `ATIVA`, `BAIXADA`, `INAPTA`, `SUSPENSA`, `NULA`.
        motivo: Motivos da situação, 2 dígitos.
        porte: `ME`, `EPP`, `DEMAIS`.
        matriz: `true`: só matrizes; `false`: só filiais.
        simples: Optante pelo Simples Nacional.
        mei: Optante pelo MEI. `true`, só para contas habilitadas a `pessoas`; quase todos
        são empresários individuais, que só `pessoas=true` inclui.
        ddd: DDDs dos telefones.
        dominio: Domínios do e-mail de contato.
        aberta_desde: Primeiro dia de abertura.
        aberta_ate: Último dia de abertura.
        situacao_desde: Primeiro dia da situação cadastral.
        situacao_ate: Último dia da situação cadastral.
        capital_min: Menor capital social, em reais.
        capital_max: Maior capital social, em reais.
        cep: CEPs, ou como começam: de 5 a 8 dígitos.
        raiz: Raízes de CNPJ, 8 caracteres.
        pessoas: Também pessoas físicas; para contas habilitadas.
        limite: Resultados por página.
        cursor: O `cursor` da página anterior.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        """
        return self._ask(
            Call(
                "GET",
                "/buscas/v1/empresas",
                query={
                    "q": q,
                    "uf": uf,
                    "municipio": municipio,
                    "cnae": cnae,
                    "cnae_principal": cnae_principal,
                    "divisao": divisao,
                    "natureza": natureza,
                    "situacao": situacao,
                    "motivo": motivo,
                    "porte": porte,
                    "matriz": matriz,
                    "simples": simples,
                    "mei": mei,
                    "ddd": ddd,
                    "dominio": dominio,
                    "aberta_desde": aberta_desde,
                    "aberta_ate": aberta_ate,
                    "situacao_desde": situacao_desde,
                    "situacao_ate": situacao_ate,
                    "capital_min": capital_min,
                    "capital_max": capital_max,
                    "cep": cep,
                    "raiz": raiz,
                    "pessoas": pessoas,
                    "limite": limite,
                    "cursor": cursor,
                    "creditos_maximos": creditos_maximos,
                },
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    def contagem_de_empresas(
        self,
        *,
        q: str | None = None,
        uf: str | None = None,
        municipio: str | None = None,
        cnae: str | None = None,
        cnae_principal: str | None = None,
        divisao: str | None = None,
        natureza: str | None = None,
        situacao: str | None = None,
        motivo: str | None = None,
        porte: str | None = None,
        matriz: bool | None = None,
        simples: bool | None = None,
        mei: bool | None = None,
        ddd: str | None = None,
        dominio: str | None = None,
        aberta_desde: str | None = None,
        aberta_ate: str | None = None,
        situacao_desde: str | None = None,
        situacao_ate: str | None = None,
        capital_min: float | None = None,
        capital_max: float | None = None,
        cep: str | None = None,
        raiz: str | None = None,
        pessoas: bool | None = None,
        limite: int | None = None,
        cursor: str | None = None,
        creditos_maximos: int | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaContagem]:
        """Quantas empresas são.

        q: Palavras do nome empresarial ou do nome fantasia, sem distinguir acentos; a
        última pode terminar em `*`, depois de ao menos três letras.
        uf: Siglas de UF; `EX`, exterior.
        municipio: Nomes (com `uf`), códigos da Receita Federal (4 dígitos) ou do IBGE (7
        dígitos).
        cnae: Atividades principais ou secundárias, 7 dígitos.
        cnae_principal: Atividades principais, 7 dígitos.
        divisao: Divisões da atividade principal, 2 dígitos.
        natureza: Naturezas jurídicas, 4 dígitos.
        situacao: `ATIVA`, `BAIXADA`, `INAPTA`, `SUSPENSA`, `NULA`.
        motivo: Motivos da situação, 2 dígitos.
        porte: `ME`, `EPP`, `DEMAIS`.
        matriz: `true`: só matrizes; `false`: só filiais.
        simples: Optante pelo Simples Nacional.
        mei: Optante pelo MEI. `true`, só para contas habilitadas a `pessoas`; quase todos
        são empresários individuais, que só `pessoas=true` inclui.
        ddd: DDDs dos telefones.
        dominio: Domínios do e-mail de contato.
        aberta_desde: Primeiro dia de abertura.
        aberta_ate: Último dia de abertura.
        situacao_desde: Primeiro dia da situação cadastral.
        situacao_ate: Último dia da situação cadastral.
        capital_min: Menor capital social, em reais.
        capital_max: Maior capital social, em reais.
        cep: CEPs, ou como começam: de 5 a 8 dígitos.
        raiz: Raízes de CNPJ, 8 caracteres.
        pessoas: Também pessoas físicas; para contas habilitadas.
        limite: Resultados por página.
        cursor: O `cursor` da página anterior.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        """
        return self._ask(
            Call(
                "GET",
                "/buscas/v1/empresas/contagem",
                query={
                    "q": q,
                    "uf": uf,
                    "municipio": municipio,
                    "cnae": cnae,
                    "cnae_principal": cnae_principal,
                    "divisao": divisao,
                    "natureza": natureza,
                    "situacao": situacao,
                    "motivo": motivo,
                    "porte": porte,
                    "matriz": matriz,
                    "simples": simples,
                    "mei": mei,
                    "ddd": ddd,
                    "dominio": dominio,
                    "aberta_desde": aberta_desde,
                    "aberta_ate": aberta_ate,
                    "situacao_desde": situacao_desde,
                    "situacao_ate": situacao_ate,
                    "capital_min": capital_min,
                    "capital_max": capital_max,
                    "cep": cep,
                    "raiz": raiz,
                    "pessoas": pessoas,
                    "limite": limite,
                    "cursor": cursor,
                    "creditos_maximos": creditos_maximos,
                },
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    def busca_de_socios(
        self,
        *,
        nome: str | None = None,
        documento: str | None = None,
        limite: int | None = None,
        creditos_maximos: int | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaBuscaSocios]:
        """Busca de sócios.

        nome: Palavras do nome do sócio.
        documento: Os seis dígitos publicados de um CPF (`***456789**`), um CNPJ ou a sua
        raiz.
        limite: Resultados por página.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        """
        return self._ask(
            Call(
                "GET",
                "/buscas/v1/socios",
                query={
                    "nome": nome,
                    "documento": documento,
                    "limite": limite,
                    "creditos_maximos": creditos_maximos,
                },
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    def comprovante_federal(self, receipt_id: str) -> Answer[bytes]:
        """Comprovante de uma certidão federal.

        receipt_id: O fim do endereço em `print`.
        """
        return self._ask(
            Call(
                "GET",
                "/consultas/v2/certidao-negativa-de-debitos-federal/print/{}",
                documents=(receipt_id,),
                reads="bytes",
            )
        )

    def comprovante_estadual(self, receipt_id: str) -> Answer[bytes]:
        """Comprovante de uma certidão estadual.

        receipt_id: O fim do endereço em `print`.
        """
        return self._ask(
            Call(
                "GET",
                "/consultas/v2/certidao-negativa-de-debitos-estadual/print/{}",
                documents=(receipt_id,),
                reads="bytes",
            )
        )

    def saldo(self) -> Answer[types.RespostaSaldo]:
        """Saldo da conta."""
        return self._ask(Call("GET", "/conta/v1/saldo"))

    def consumo(
        self,
        *,
        de: str | None = None,
        ate: str | None = None,
        cliente: str | None = None,
        agrupar: Literal["referencia", ""] | None = None,
    ) -> Answer[types.RespostaConsumo]:
        """Consumo da conta em um período.

        de: Primeiro dia, `AAAA-MM-DD`; padrão: 30 dias até `ate`.
        ate: Último dia, incluído, `AAAA-MM-DD`; padrão: hoje, em Brasília.
        cliente: Só as linhas deste `X-Cliente`.
        agrupar: `referencia`: uma linha também por `X-Referencia`; no máximo 100000 linhas.
        Sem ele as referências não separam linhas.
        """
        return self._ask(
            Call(
                "GET",
                "/conta/v1/consumo",
                query={"de": de, "ate": ate, "cliente": cliente, "agrupar": agrupar},
            )
        )

    def operacoes_de(
        self,
        *,
        idempotency_key: str | None = None,
        referencia: str | None = None,
        limite: int | None = None,
        cursor: str | None = None,
    ) -> Answer[types.RespostaOperacoes]:
        """Operações de uma Idempotency-Key ou de uma referência.

        idempotency_key: A `Idempotency-Key` da requisição: acha uma ou nenhuma.
        referencia: O `X-Referencia` das requisições.
        limite: Quantas por página, de 1 a 1000; padrão: 100.
        cursor: O `cursor` da página anterior.
        """
        return self._ask(
            Call(
                "GET",
                "/conta/v1/operacoes",
                query={
                    "idempotency_key": idempotency_key,
                    "referencia": referencia,
                    "limite": limite,
                    "cursor": cursor,
                },
            )
        )

    def operacoes(self, request_id: str) -> Answer[types.RespostaOperacao]:
        """Uma operação: se foi cobrada.

        request_id: O `request_id` da resposta, ou do cabeçalho `X-Request-Id`.
        """
        return self._ask(Call("GET", "/conta/v1/operacoes/{}", documents=(request_id,)))

    def lotes(
        self, *, limite: int | None = None, cursor: str | None = None
    ) -> Answer[types.RespostaLotes]:
        """Os lotes da conta.

        limite: Quantos por página, de 1 a 1000.
        cursor: O `cursor` da página anterior.
        """
        return self._ask(Call("GET", "/lotes/v1", query={"limite": limite, "cursor": cursor}))

    def criar_lote(
        self,
        content: bytes,
        *,
        operacao: str,
        content_type: str,
        nome: str | None = None,
        coluna_documento: str | None = None,
        coluna_cnpj: str | None = None,
        coluna_cpf: str | None = None,
        coluna_data_nascimento: str | None = None,
        coluna_uf: str | None = None,
        coluna_ref: str | None = None,
        coluna_cliente: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaLoteNovo]:
        """Um lote novo.

        operacao: O que perguntar: o caminho de uma consulta.
        nome: Um nome para o lote.
        coluna_documento: A coluna do documento, de qualquer tipo: nome ou letra.
        coluna_cnpj: A coluna do CNPJ: nome ou letra; vazio, nenhuma.
        coluna_cpf: A coluna do CPF: nome ou letra; vazio, nenhuma.
        coluna_data_nascimento: A coluna do nascimento: nome ou letra; vazio, nenhuma.
        coluna_uf: A coluna da UF: nome ou letra; vazio, nenhuma.
        coluna_ref: A coluna da sua referência: nome ou letra; vazio, nenhuma.
        coluna_cliente: A coluna do cliente: nome ou letra; vazio, nenhuma.
        """
        return self._ask(
            Call(
                "POST",
                "/lotes/v1",
                query={
                    "operacao": operacao,
                    "nome": nome,
                    "coluna_documento": coluna_documento,
                    "coluna_cnpj": coluna_cnpj,
                    "coluna_cpf": coluna_cpf,
                    "coluna_data_nascimento": coluna_data_nascimento,
                    "coluna_uf": coluna_uf,
                    "coluna_ref": coluna_ref,
                    "coluna_cliente": coluna_cliente,
                },
                once=True,
                idempotency_key=idempotency_key,
                content=content,
                content_type=content_type,
            )
        )

    def lote(self, id: str) -> Answer[types.RespostaLote]:
        """Um lote.

        id: O `id` do lote.
        """
        return self._ask(Call("GET", "/lotes/v1/{}", documents=(id,)))

    def apagar_lote(self, id: str) -> Answer[types.RespostaLote]:
        """Um lote apagado.

        id: O `id` do lote.
        """
        return self._ask(Call("DELETE", "/lotes/v1/{}", documents=(id,)))

    def confirmar_lote(self, id: str, body: types.ConfirmacaoDeLote) -> Answer[types.RespostaLote]:
        """Um lote confirmado.

        id: O `id` do lote.
        """
        return self._ask(
            Call("POST", "/lotes/v1/{}/confirmar", documents=(id,), content=as_json(body))
        )

    def pausar_lote(self, id: str) -> Answer[types.RespostaLote]:
        """Um lote pausado.

        id: O `id` do lote.
        """
        return self._ask(Call("POST", "/lotes/v1/{}/pausar", documents=(id,)))

    def retomar_lote(
        self, id: str, body: types.RetomadaDeLote | None = None
    ) -> Answer[types.RespostaLote]:
        """Um lote retomado.

        id: O `id` do lote.
        """
        return self._ask(
            Call("POST", "/lotes/v1/{}/retomar", documents=(id,), content=as_json(body))
        )

    def encerrar_lote(self, id: str) -> Answer[types.RespostaLote]:
        """Um lote encerrado.

        id: O `id` do lote.
        """
        return self._ask(Call("POST", "/lotes/v1/{}/encerrar", documents=(id,)))

    def repetir_lote(
        self,
        id: str,
        body: types.RepeticaoDeLote | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaLoteNovo]:
        """Um lote novo, das falhas de outro.

        id: O `id` do lote.
        """
        return self._ask(
            Call(
                "POST",
                "/lotes/v1/{}/repetir",
                documents=(id,),
                once=True,
                idempotency_key=idempotency_key,
                content=as_json(body),
            )
        )

    def linhas_do_lote(
        self,
        id: str,
        *,
        estado: Estado | None = None,
        limite: int | None = None,
        cursor: str | None = None,
    ) -> Answer[types.RespostaLinhas]:
        """As linhas de um lote.

        id: O `id` do lote.
        estado: Só as linhas deste estado.
        limite: Quantos por página, de 1 a 1000.
        cursor: O `cursor` da página anterior.
        """
        return self._ask(
            Call(
                "GET",
                "/lotes/v1/{}/linhas",
                documents=(id,),
                query={"estado": estado, "limite": limite, "cursor": cursor},
            )
        )

    def resultado_csv(self, id: str) -> Answer[bytes]:
        """O arquivo resultado.csv.

        id: O `id` do lote.
        """
        return self._ask(Call("GET", "/lotes/v1/{}/resultado.csv", documents=(id,), reads="bytes"))

    def resultado_xlsx(self, id: str) -> Answer[bytes]:
        """O arquivo resultado.xlsx.

        id: O `id` do lote.
        """
        return self._ask(Call("GET", "/lotes/v1/{}/resultado.xlsx", documents=(id,), reads="bytes"))

    def resultado_jsonl(self, id: str) -> Answer[bytes]:
        """O arquivo resultado.jsonl.

        id: O `id` do lote.
        """
        return self._ask(
            Call("GET", "/lotes/v1/{}/resultado.jsonl", documents=(id,), reads="bytes")
        )

    def recibos_zip(self, id: str) -> Answer[bytes]:
        """O arquivo recibos.zip.

        id: O `id` do lote.
        """
        return self._ask(Call("GET", "/lotes/v1/{}/recibos.zip", documents=(id,), reads="bytes"))

    def orcamentos(
        self, *, limite: int | None = None, cursor: str | None = None
    ) -> Answer[types.RespostaOrcamentos]:
        """Os orçamentos em vigor.

        limite: Quantos por página, de 1 a 1000.
        cursor: O `cursor` da página anterior.
        """
        return self._ask(
            Call("GET", "/conta/v1/orcamentos", query={"limite": limite, "cursor": cursor})
        )

    def criar_orcamento(
        self, body: types.NovoOrcamento, *, idempotency_key: str | None = None
    ) -> Answer[types.RespostaOrcamento]:
        """Um orçamento novo."""
        return self._ask(
            Call(
                "POST",
                "/conta/v1/orcamentos",
                once=True,
                idempotency_key=idempotency_key,
                content=as_json(body),
            )
        )

    def orcamento(self, id: str) -> Answer[types.RespostaOrcamento]:
        """Um orçamento.

        id: O `id` do orçamento.
        """
        return self._ask(Call("GET", "/conta/v1/orcamentos/{}", documents=(id,)))

    def mudar_orcamento(
        self, id: str, body: types.MudancaDeOrcamento
    ) -> Answer[types.RespostaOrcamento]:
        """Um orçamento mudado.

        id: O `id` do orçamento.
        """
        return self._ask(
            Call("PATCH", "/conta/v1/orcamentos/{}", documents=(id,), content=as_json(body))
        )

    def remover_orcamento(self, id: str) -> Answer[types.RespostaOrcamento]:
        """Um orçamento removido.

        id: O `id` do orçamento.
        """
        return self._ask(Call("DELETE", "/conta/v1/orcamentos/{}", documents=(id,)))


class BalcaoAsync(Awaited):
    """Asks, and is awaited."""

    async def suframa(
        self,
        cnpj: str,
        *,
        cache: int | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaSuframa]:
        """Inscrição na Suframa.

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        cache: Idade máxima, em dias, de um resultado guardado, que então é usado sem
        consultar a fonte. 0 força uma consulta nova. Prevalece sobre o cabeçalho.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/consultas/v2/suframa/{}",
                documents=(cnpj,),
                query={"cache": cache, "creditos_maximos": creditos_maximos},
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    async def sintegra(
        self,
        cnpj: str,
        *,
        uf: Uf | None = None,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        error_fallback: bool | None = None,
        endereco: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaInscricoes]:
        """Inscrições estaduais da empresa (Sintegra).

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        uf: UF consultada; `BR` consulta todas. Sem ela, a UF da própria empresa.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha;
        decidido por UF.
        error_fallback: true: se a fonte falhar, aceita um resultado guardado de qualquer
        idade.
        endereco: true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por
        requisição.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/consultas/v2/sintegra/{}",
                documents=(cnpj,),
                query={
                    "uf": uf,
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "error_fallback": error_fallback,
                    "endereco": endereco,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    async def produtor_rural(
        self,
        cpf: str,
        *,
        uf: Uf2,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        error_fallback: bool | None = None,
        endereco: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaProdutorRural]:
        """Inscrições estaduais do produtor rural.

        cpf: CPF completo, com ou sem pontuação.
        uf: UF consultada; `BR` consulta todas.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha;
        decidido por UF.
        error_fallback: true: se a fonte falhar, aceita um resultado guardado de qualquer
        idade.
        endereco: true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por
        requisição.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/consultas/v2/produtor-rural/{}",
                documents=(cpf,),
                query={
                    "uf": uf,
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "error_fallback": error_fallback,
                    "endereco": endereco,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    async def certidao_negativa_de_debitos_federal(
        self,
        *,
        cnpj: str | None = None,
        cpf: str | None = None,
        data_nascimento: str | None = None,
        cache_strategy: Literal[
            "CACHE_PREFERENCIAL", "CACHE_SE_EXISTIR", "SO_CACHE", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        preferencia_emissao: Literal["2via", "nova"] | None = None,
        atualizar_online: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaCertidaoFederal]:
        """Certidão de débitos federais (CND).

        cnpj: CNPJ, com ou sem pontuação. Não se combina com cpf nem data_nascimento.
        cpf: CPF, com ou sem pontuação; exige data_nascimento.
        data_nascimento: Data de nascimento, yyyyMMdd; obrigatória com cpf.
        cache_strategy: Cache ou fonte primeiro. Uma certidão vencida nunca é entregue como
        válida.
        preferencia_emissao: `2via` procura na fonte uma certidão ainda válida antes de
        emitir outra; `nova` pede uma emissão nova à fonte.
        atualizar_online: true: consulta a fonte mesmo que haja um resultado guardado.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/consultas/v2/certidao-negativa-de-debitos-federal",
                query={
                    "cnpj": cnpj,
                    "cpf": cpf,
                    "data_nascimento": data_nascimento,
                    "cache_strategy": cache_strategy,
                    "preferencia_emissao": preferencia_emissao,
                    "atualizar_online": atualizar_online,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    async def certidao_negativa_de_debitos_estadual(
        self,
        cnpj: str,
        *,
        uf: Uf3,
        atualizar_online: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaCertidaoEstadual]:
        """Certidão de débitos estaduais.

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        uf: UF cuja certidão se pede; uma por requisição.
        atualizar_online: true: consulta a fonte mesmo que haja uma certidão guardada.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/consultas/v2/certidao-negativa-de-debitos-estadual/{}",
                documents=(cnpj,),
                query={
                    "uf": uf,
                    "atualizar_online": atualizar_online,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    async def cnpj_receita_federal(
        self,
        cnpj: str,
        *,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        optin: Literal["0", "1"] | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaEmpresa]:
        """Dados cadastrais da empresa (Receita Federal).

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha.
        optin: 1 pede o CPF dos sócios; precisa estar habilitado na conta.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/consultas/v2/cnpj-receita-federal/{}",
                documents=(cnpj,),
                query={
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "optin": optin,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    async def cotacao_suframa(
        self,
        cnpj: str,
        *,
        cache: int | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Inscrição na Suframa.

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        cache: Idade máxima, em dias, de um resultado guardado, que então é usado sem
        consultar a fonte. 0 força uma consulta nova. Prevalece sobre o cabeçalho.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/cotacoes/v2/suframa/{}",
                documents=(cnpj,),
                query={"cache": cache, "creditos_maximos": creditos_maximos},
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    async def cotacao_sintegra(
        self,
        cnpj: str,
        *,
        uf: Uf | None = None,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        error_fallback: bool | None = None,
        endereco: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Inscrições estaduais da empresa (Sintegra).

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        uf: UF consultada; `BR` consulta todas. Sem ela, a UF da própria empresa.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha;
        decidido por UF.
        error_fallback: true: se a fonte falhar, aceita um resultado guardado de qualquer
        idade.
        endereco: true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por
        requisição.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/cotacoes/v2/sintegra/{}",
                documents=(cnpj,),
                query={
                    "uf": uf,
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "error_fallback": error_fallback,
                    "endereco": endereco,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    async def cotacao_produtor_rural(
        self,
        cpf: str,
        *,
        uf: Uf2,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        error_fallback: bool | None = None,
        endereco: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Inscrições estaduais do produtor rural.

        cpf: CPF completo, com ou sem pontuação.
        uf: UF consultada; `BR` consulta todas.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha;
        decidido por UF.
        error_fallback: true: se a fonte falhar, aceita um resultado guardado de qualquer
        idade.
        endereco: true: cada inscrição que tem endereço o traz; custa 1 crédito a mais por
        requisição.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/cotacoes/v2/produtor-rural/{}",
                documents=(cpf,),
                query={
                    "uf": uf,
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "error_fallback": error_fallback,
                    "endereco": endereco,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    async def cotacao_certidao_negativa_de_debitos_federal(
        self,
        *,
        cnpj: str | None = None,
        cpf: str | None = None,
        data_nascimento: str | None = None,
        cache_strategy: Literal[
            "CACHE_PREFERENCIAL", "CACHE_SE_EXISTIR", "SO_CACHE", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        preferencia_emissao: Literal["2via", "nova"] | None = None,
        atualizar_online: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Certidão de débitos federais (CND).

        cnpj: CNPJ, com ou sem pontuação. Não se combina com cpf nem data_nascimento.
        cpf: CPF, com ou sem pontuação; exige data_nascimento.
        data_nascimento: Data de nascimento, yyyyMMdd; obrigatória com cpf.
        cache_strategy: Cache ou fonte primeiro. Uma certidão vencida nunca é entregue como
        válida.
        preferencia_emissao: `2via` procura na fonte uma certidão ainda válida antes de
        emitir outra; `nova` pede uma emissão nova à fonte.
        atualizar_online: true: consulta a fonte mesmo que haja um resultado guardado.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/cotacoes/v2/certidao-negativa-de-debitos-federal",
                query={
                    "cnpj": cnpj,
                    "cpf": cpf,
                    "data_nascimento": data_nascimento,
                    "cache_strategy": cache_strategy,
                    "preferencia_emissao": preferencia_emissao,
                    "atualizar_online": atualizar_online,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    async def cotacao_certidao_negativa_de_debitos_estadual(
        self,
        cnpj: str,
        *,
        uf: Uf3,
        atualizar_online: bool | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Certidão de débitos estaduais.

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        uf: UF cuja certidão se pede; uma por requisição.
        atualizar_online: true: consulta a fonte mesmo que haja uma certidão guardada.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/cotacoes/v2/certidao-negativa-de-debitos-estadual/{}",
                documents=(cnpj,),
                query={
                    "uf": uf,
                    "atualizar_online": atualizar_online,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    async def cotacao_cnpj_receita_federal(
        self,
        cnpj: str,
        *,
        cache: int | None = None,
        cache_strategy: Literal[
            "CACHE_SE_EXISTIR", "CACHE_PREFERENCIAL", "SO_ONLINE", "ONLINE_PREFERENCIAL"
        ]
        | None = None,
        optin: Literal["0", "1"] | None = None,
        creditos_maximos: int | None = None,
        cliente: str | None = None,
        referencia: str | None = None,
    ) -> Answer[types.RespostaCotacao]:
        """Quanto custaria: Dados cadastrais da empresa (Receita Federal).

        cnpj: CNPJ completo, com ou sem pontuação (a barra pode ir codificada como %2F ou
        não). Letras são aceitas nas doze primeiras posições.
        cache: Idade máxima, em dias, de um resultado guardado. 0 nunca usa um guardado por
        idade.
        cache_strategy: Cache ou fonte primeiro, e o que fazer quando a fonte falha.
        optin: 1 pede o CPF dos sócios; precisa estar habilitado na conta.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        cliente: Para quem é a consulta, num código seu: volta na resposta, no extrato e no
        consumo. Não é parte do que torna duas requisições a mesma. Um CPF é recusado
        (`MARCA_COM_CPF`).
        referencia: A que a consulta pertence, num código seu, como o número de um pedido:
        por ela se acha a requisição em `/conta/v1/operacoes`. Um CPF é recusado
        (`MARCA_COM_CPF`).
        """
        return await self._ask(
            Call(
                "GET",
                "/cotacoes/v2/cnpj-receita-federal/{}",
                documents=(cnpj,),
                query={
                    "cache": cache,
                    "cache_strategy": cache_strategy,
                    "optin": optin,
                    "creditos_maximos": creditos_maximos,
                },
                headers={"X-Cliente": cliente, "X-Referencia": referencia},
            )
        )

    async def busca_de_empresas(
        self,
        *,
        q: str | None = None,
        uf: str | None = None,
        municipio: str | None = None,
        cnae: str | None = None,
        cnae_principal: str | None = None,
        divisao: str | None = None,
        natureza: str | None = None,
        situacao: str | None = None,
        motivo: str | None = None,
        porte: str | None = None,
        matriz: bool | None = None,
        simples: bool | None = None,
        mei: bool | None = None,
        ddd: str | None = None,
        dominio: str | None = None,
        aberta_desde: str | None = None,
        aberta_ate: str | None = None,
        situacao_desde: str | None = None,
        situacao_ate: str | None = None,
        capital_min: float | None = None,
        capital_max: float | None = None,
        cep: str | None = None,
        raiz: str | None = None,
        pessoas: bool | None = None,
        limite: int | None = None,
        cursor: str | None = None,
        creditos_maximos: int | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaBuscaEmpresas]:
        """Busca de empresas.

        q: Palavras do nome empresarial ou do nome fantasia, sem distinguir acentos; a
        última pode terminar em `*`, depois de ao menos três letras.
        uf: Siglas de UF; `EX`, exterior.
        municipio: Nomes (com `uf`), códigos da Receita Federal (4 dígitos) ou do IBGE (7
        dígitos).
        cnae: Atividades principais ou secundárias, 7 dígitos.
        cnae_principal: Atividades principais, 7 dígitos.
        divisao: Divisões da atividade principal, 2 dígitos.
        natureza: Naturezas jurídicas, 4 dígitos.
        situacao: `ATIVA`, `BAIXADA`, `INAPTA`, `SUSPENSA`, `NULA`.
        motivo: Motivos da situação, 2 dígitos.
        porte: `ME`, `EPP`, `DEMAIS`.
        matriz: `true`: só matrizes; `false`: só filiais.
        simples: Optante pelo Simples Nacional.
        mei: Optante pelo MEI. `true`, só para contas habilitadas a `pessoas`; quase todos
        são empresários individuais, que só `pessoas=true` inclui.
        ddd: DDDs dos telefones.
        dominio: Domínios do e-mail de contato.
        aberta_desde: Primeiro dia de abertura.
        aberta_ate: Último dia de abertura.
        situacao_desde: Primeiro dia da situação cadastral.
        situacao_ate: Último dia da situação cadastral.
        capital_min: Menor capital social, em reais.
        capital_max: Maior capital social, em reais.
        cep: CEPs, ou como começam: de 5 a 8 dígitos.
        raiz: Raízes de CNPJ, 8 caracteres.
        pessoas: Também pessoas físicas; para contas habilitadas.
        limite: Resultados por página.
        cursor: O `cursor` da página anterior.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        """
        return await self._ask(
            Call(
                "GET",
                "/buscas/v1/empresas",
                query={
                    "q": q,
                    "uf": uf,
                    "municipio": municipio,
                    "cnae": cnae,
                    "cnae_principal": cnae_principal,
                    "divisao": divisao,
                    "natureza": natureza,
                    "situacao": situacao,
                    "motivo": motivo,
                    "porte": porte,
                    "matriz": matriz,
                    "simples": simples,
                    "mei": mei,
                    "ddd": ddd,
                    "dominio": dominio,
                    "aberta_desde": aberta_desde,
                    "aberta_ate": aberta_ate,
                    "situacao_desde": situacao_desde,
                    "situacao_ate": situacao_ate,
                    "capital_min": capital_min,
                    "capital_max": capital_max,
                    "cep": cep,
                    "raiz": raiz,
                    "pessoas": pessoas,
                    "limite": limite,
                    "cursor": cursor,
                    "creditos_maximos": creditos_maximos,
                },
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    async def contagem_de_empresas(
        self,
        *,
        q: str | None = None,
        uf: str | None = None,
        municipio: str | None = None,
        cnae: str | None = None,
        cnae_principal: str | None = None,
        divisao: str | None = None,
        natureza: str | None = None,
        situacao: str | None = None,
        motivo: str | None = None,
        porte: str | None = None,
        matriz: bool | None = None,
        simples: bool | None = None,
        mei: bool | None = None,
        ddd: str | None = None,
        dominio: str | None = None,
        aberta_desde: str | None = None,
        aberta_ate: str | None = None,
        situacao_desde: str | None = None,
        situacao_ate: str | None = None,
        capital_min: float | None = None,
        capital_max: float | None = None,
        cep: str | None = None,
        raiz: str | None = None,
        pessoas: bool | None = None,
        limite: int | None = None,
        cursor: str | None = None,
        creditos_maximos: int | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaContagem]:
        """Quantas empresas são.

        q: Palavras do nome empresarial ou do nome fantasia, sem distinguir acentos; a
        última pode terminar em `*`, depois de ao menos três letras.
        uf: Siglas de UF; `EX`, exterior.
        municipio: Nomes (com `uf`), códigos da Receita Federal (4 dígitos) ou do IBGE (7
        dígitos).
        cnae: Atividades principais ou secundárias, 7 dígitos.
        cnae_principal: Atividades principais, 7 dígitos.
        divisao: Divisões da atividade principal, 2 dígitos.
        natureza: Naturezas jurídicas, 4 dígitos.
        situacao: `ATIVA`, `BAIXADA`, `INAPTA`, `SUSPENSA`, `NULA`.
        motivo: Motivos da situação, 2 dígitos.
        porte: `ME`, `EPP`, `DEMAIS`.
        matriz: `true`: só matrizes; `false`: só filiais.
        simples: Optante pelo Simples Nacional.
        mei: Optante pelo MEI. `true`, só para contas habilitadas a `pessoas`; quase todos
        são empresários individuais, que só `pessoas=true` inclui.
        ddd: DDDs dos telefones.
        dominio: Domínios do e-mail de contato.
        aberta_desde: Primeiro dia de abertura.
        aberta_ate: Último dia de abertura.
        situacao_desde: Primeiro dia da situação cadastral.
        situacao_ate: Último dia da situação cadastral.
        capital_min: Menor capital social, em reais.
        capital_max: Maior capital social, em reais.
        cep: CEPs, ou como começam: de 5 a 8 dígitos.
        raiz: Raízes de CNPJ, 8 caracteres.
        pessoas: Também pessoas físicas; para contas habilitadas.
        limite: Resultados por página.
        cursor: O `cursor` da página anterior.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        """
        return await self._ask(
            Call(
                "GET",
                "/buscas/v1/empresas/contagem",
                query={
                    "q": q,
                    "uf": uf,
                    "municipio": municipio,
                    "cnae": cnae,
                    "cnae_principal": cnae_principal,
                    "divisao": divisao,
                    "natureza": natureza,
                    "situacao": situacao,
                    "motivo": motivo,
                    "porte": porte,
                    "matriz": matriz,
                    "simples": simples,
                    "mei": mei,
                    "ddd": ddd,
                    "dominio": dominio,
                    "aberta_desde": aberta_desde,
                    "aberta_ate": aberta_ate,
                    "situacao_desde": situacao_desde,
                    "situacao_ate": situacao_ate,
                    "capital_min": capital_min,
                    "capital_max": capital_max,
                    "cep": cep,
                    "raiz": raiz,
                    "pessoas": pessoas,
                    "limite": limite,
                    "cursor": cursor,
                    "creditos_maximos": creditos_maximos,
                },
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    async def busca_de_socios(
        self,
        *,
        nome: str | None = None,
        documento: str | None = None,
        limite: int | None = None,
        creditos_maximos: int | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaBuscaSocios]:
        """Busca de sócios.

        nome: Palavras do nome do sócio.
        documento: Os seis dígitos publicados de um CPF (`***456789**`), um CNPJ ou a sua
        raiz.
        limite: Resultados por página.
        creditos_maximos: O mesmo que o cabeçalho `X-Creditos-Maximos`, e prevalece sobre
        ele.
        """
        return await self._ask(
            Call(
                "GET",
                "/buscas/v1/socios",
                query={
                    "nome": nome,
                    "documento": documento,
                    "limite": limite,
                    "creditos_maximos": creditos_maximos,
                },
                once=True,
                idempotency_key=idempotency_key,
            )
        )

    async def comprovante_federal(self, receipt_id: str) -> Answer[bytes]:
        """Comprovante de uma certidão federal.

        receipt_id: O fim do endereço em `print`.
        """
        return await self._ask(
            Call(
                "GET",
                "/consultas/v2/certidao-negativa-de-debitos-federal/print/{}",
                documents=(receipt_id,),
                reads="bytes",
            )
        )

    async def comprovante_estadual(self, receipt_id: str) -> Answer[bytes]:
        """Comprovante de uma certidão estadual.

        receipt_id: O fim do endereço em `print`.
        """
        return await self._ask(
            Call(
                "GET",
                "/consultas/v2/certidao-negativa-de-debitos-estadual/print/{}",
                documents=(receipt_id,),
                reads="bytes",
            )
        )

    async def saldo(self) -> Answer[types.RespostaSaldo]:
        """Saldo da conta."""
        return await self._ask(Call("GET", "/conta/v1/saldo"))

    async def consumo(
        self,
        *,
        de: str | None = None,
        ate: str | None = None,
        cliente: str | None = None,
        agrupar: Literal["referencia", ""] | None = None,
    ) -> Answer[types.RespostaConsumo]:
        """Consumo da conta em um período.

        de: Primeiro dia, `AAAA-MM-DD`; padrão: 30 dias até `ate`.
        ate: Último dia, incluído, `AAAA-MM-DD`; padrão: hoje, em Brasília.
        cliente: Só as linhas deste `X-Cliente`.
        agrupar: `referencia`: uma linha também por `X-Referencia`; no máximo 100000 linhas.
        Sem ele as referências não separam linhas.
        """
        return await self._ask(
            Call(
                "GET",
                "/conta/v1/consumo",
                query={"de": de, "ate": ate, "cliente": cliente, "agrupar": agrupar},
            )
        )

    async def operacoes_de(
        self,
        *,
        idempotency_key: str | None = None,
        referencia: str | None = None,
        limite: int | None = None,
        cursor: str | None = None,
    ) -> Answer[types.RespostaOperacoes]:
        """Operações de uma Idempotency-Key ou de uma referência.

        idempotency_key: A `Idempotency-Key` da requisição: acha uma ou nenhuma.
        referencia: O `X-Referencia` das requisições.
        limite: Quantas por página, de 1 a 1000; padrão: 100.
        cursor: O `cursor` da página anterior.
        """
        return await self._ask(
            Call(
                "GET",
                "/conta/v1/operacoes",
                query={
                    "idempotency_key": idempotency_key,
                    "referencia": referencia,
                    "limite": limite,
                    "cursor": cursor,
                },
            )
        )

    async def operacoes(self, request_id: str) -> Answer[types.RespostaOperacao]:
        """Uma operação: se foi cobrada.

        request_id: O `request_id` da resposta, ou do cabeçalho `X-Request-Id`.
        """
        return await self._ask(Call("GET", "/conta/v1/operacoes/{}", documents=(request_id,)))

    async def lotes(
        self, *, limite: int | None = None, cursor: str | None = None
    ) -> Answer[types.RespostaLotes]:
        """Os lotes da conta.

        limite: Quantos por página, de 1 a 1000.
        cursor: O `cursor` da página anterior.
        """
        return await self._ask(Call("GET", "/lotes/v1", query={"limite": limite, "cursor": cursor}))

    async def criar_lote(
        self,
        content: bytes,
        *,
        operacao: str,
        content_type: str,
        nome: str | None = None,
        coluna_documento: str | None = None,
        coluna_cnpj: str | None = None,
        coluna_cpf: str | None = None,
        coluna_data_nascimento: str | None = None,
        coluna_uf: str | None = None,
        coluna_ref: str | None = None,
        coluna_cliente: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaLoteNovo]:
        """Um lote novo.

        operacao: O que perguntar: o caminho de uma consulta.
        nome: Um nome para o lote.
        coluna_documento: A coluna do documento, de qualquer tipo: nome ou letra.
        coluna_cnpj: A coluna do CNPJ: nome ou letra; vazio, nenhuma.
        coluna_cpf: A coluna do CPF: nome ou letra; vazio, nenhuma.
        coluna_data_nascimento: A coluna do nascimento: nome ou letra; vazio, nenhuma.
        coluna_uf: A coluna da UF: nome ou letra; vazio, nenhuma.
        coluna_ref: A coluna da sua referência: nome ou letra; vazio, nenhuma.
        coluna_cliente: A coluna do cliente: nome ou letra; vazio, nenhuma.
        """
        return await self._ask(
            Call(
                "POST",
                "/lotes/v1",
                query={
                    "operacao": operacao,
                    "nome": nome,
                    "coluna_documento": coluna_documento,
                    "coluna_cnpj": coluna_cnpj,
                    "coluna_cpf": coluna_cpf,
                    "coluna_data_nascimento": coluna_data_nascimento,
                    "coluna_uf": coluna_uf,
                    "coluna_ref": coluna_ref,
                    "coluna_cliente": coluna_cliente,
                },
                once=True,
                idempotency_key=idempotency_key,
                content=content,
                content_type=content_type,
            )
        )

    async def lote(self, id: str) -> Answer[types.RespostaLote]:
        """Um lote.

        id: O `id` do lote.
        """
        return await self._ask(Call("GET", "/lotes/v1/{}", documents=(id,)))

    async def apagar_lote(self, id: str) -> Answer[types.RespostaLote]:
        """Um lote apagado.

        id: O `id` do lote.
        """
        return await self._ask(Call("DELETE", "/lotes/v1/{}", documents=(id,)))

    async def confirmar_lote(
        self, id: str, body: types.ConfirmacaoDeLote
    ) -> Answer[types.RespostaLote]:
        """Um lote confirmado.

        id: O `id` do lote.
        """
        return await self._ask(
            Call("POST", "/lotes/v1/{}/confirmar", documents=(id,), content=as_json(body))
        )

    async def pausar_lote(self, id: str) -> Answer[types.RespostaLote]:
        """Um lote pausado.

        id: O `id` do lote.
        """
        return await self._ask(Call("POST", "/lotes/v1/{}/pausar", documents=(id,)))

    async def retomar_lote(
        self, id: str, body: types.RetomadaDeLote | None = None
    ) -> Answer[types.RespostaLote]:
        """Um lote retomado.

        id: O `id` do lote.
        """
        return await self._ask(
            Call("POST", "/lotes/v1/{}/retomar", documents=(id,), content=as_json(body))
        )

    async def encerrar_lote(self, id: str) -> Answer[types.RespostaLote]:
        """Um lote encerrado.

        id: O `id` do lote.
        """
        return await self._ask(Call("POST", "/lotes/v1/{}/encerrar", documents=(id,)))

    async def repetir_lote(
        self,
        id: str,
        body: types.RepeticaoDeLote | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> Answer[types.RespostaLoteNovo]:
        """Um lote novo, das falhas de outro.

        id: O `id` do lote.
        """
        return await self._ask(
            Call(
                "POST",
                "/lotes/v1/{}/repetir",
                documents=(id,),
                once=True,
                idempotency_key=idempotency_key,
                content=as_json(body),
            )
        )

    async def linhas_do_lote(
        self,
        id: str,
        *,
        estado: Estado | None = None,
        limite: int | None = None,
        cursor: str | None = None,
    ) -> Answer[types.RespostaLinhas]:
        """As linhas de um lote.

        id: O `id` do lote.
        estado: Só as linhas deste estado.
        limite: Quantos por página, de 1 a 1000.
        cursor: O `cursor` da página anterior.
        """
        return await self._ask(
            Call(
                "GET",
                "/lotes/v1/{}/linhas",
                documents=(id,),
                query={"estado": estado, "limite": limite, "cursor": cursor},
            )
        )

    async def resultado_csv(self, id: str) -> Answer[bytes]:
        """O arquivo resultado.csv.

        id: O `id` do lote.
        """
        return await self._ask(
            Call("GET", "/lotes/v1/{}/resultado.csv", documents=(id,), reads="bytes")
        )

    async def resultado_xlsx(self, id: str) -> Answer[bytes]:
        """O arquivo resultado.xlsx.

        id: O `id` do lote.
        """
        return await self._ask(
            Call("GET", "/lotes/v1/{}/resultado.xlsx", documents=(id,), reads="bytes")
        )

    async def resultado_jsonl(self, id: str) -> Answer[bytes]:
        """O arquivo resultado.jsonl.

        id: O `id` do lote.
        """
        return await self._ask(
            Call("GET", "/lotes/v1/{}/resultado.jsonl", documents=(id,), reads="bytes")
        )

    async def recibos_zip(self, id: str) -> Answer[bytes]:
        """O arquivo recibos.zip.

        id: O `id` do lote.
        """
        return await self._ask(
            Call("GET", "/lotes/v1/{}/recibos.zip", documents=(id,), reads="bytes")
        )

    async def orcamentos(
        self, *, limite: int | None = None, cursor: str | None = None
    ) -> Answer[types.RespostaOrcamentos]:
        """Os orçamentos em vigor.

        limite: Quantos por página, de 1 a 1000.
        cursor: O `cursor` da página anterior.
        """
        return await self._ask(
            Call("GET", "/conta/v1/orcamentos", query={"limite": limite, "cursor": cursor})
        )

    async def criar_orcamento(
        self, body: types.NovoOrcamento, *, idempotency_key: str | None = None
    ) -> Answer[types.RespostaOrcamento]:
        """Um orçamento novo."""
        return await self._ask(
            Call(
                "POST",
                "/conta/v1/orcamentos",
                once=True,
                idempotency_key=idempotency_key,
                content=as_json(body),
            )
        )

    async def orcamento(self, id: str) -> Answer[types.RespostaOrcamento]:
        """Um orçamento.

        id: O `id` do orçamento.
        """
        return await self._ask(Call("GET", "/conta/v1/orcamentos/{}", documents=(id,)))

    async def mudar_orcamento(
        self, id: str, body: types.MudancaDeOrcamento
    ) -> Answer[types.RespostaOrcamento]:
        """Um orçamento mudado.

        id: O `id` do orçamento.
        """
        return await self._ask(
            Call("PATCH", "/conta/v1/orcamentos/{}", documents=(id,), content=as_json(body))
        )

    async def remover_orcamento(self, id: str) -> Answer[types.RespostaOrcamento]:
        """Um orçamento removido.

        id: O `id` do orçamento.
        """
        return await self._ask(Call("DELETE", "/conta/v1/orcamentos/{}", documents=(id,)))
