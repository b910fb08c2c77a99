#!/bin/sh
# Consulta uma empresa e a certidão federal dela. Precisa de curl 7.84 ou mais novo e de jq.
#
#     sh consulta.sh 90010001000100
set -eu

ENDERECO='http://127.0.0.1:8000'
CHAVE='SUA_CHAVE'

PRAZO=60        # segundos; mais que o das fontes, para que a resposta paga sempre chegue
TENTATIVAS=4
ESPERA_MAXIMA=60

nova_chave() { uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid; }

# consultar CAMINHO: deixa o corpo em $corpo; falha, com o erro em $codigo e $mensagem.
consultar() {
    idempotencia=$(nova_chave)   # uma por consulta: repetir com a mesma não cobra de novo
    duvida=
    tentativa=0
    while :; do
        tentativa=$((tentativa + 1))
        pausa=$((1 << (tentativa - 1)))
        # A chave vai pela entrada, e não na linha de comando, que outros usuários veem.
        if resposta=$(printf 'header = "x-api-key: %s"\n' "$CHAVE" |
            curl -sS --config - --max-time "$PRAZO" -H "Idempotency-Key: $idempotencia" \
                -w '\n%{http_code} %header{retry-after}' "$ENDERECO/consultas/v2/$1" 2>&1); then
            situacao=${resposta##*
}
            corpo=${resposta%
*}
            status=${situacao%% *}
            espera=${situacao#* }
            if printf '%s' "$corpo" | jq -e '.error == false' >/dev/null 2>&1; then return 0; fi
            codigo=$(printf '%s' "$corpo" | jq -r '.error_message.code' 2>/dev/null) || codigo=
            mensagem=$(printf '%s' "$corpo" | jq -r '.message' 2>/dev/null) || mensagem=
            : "${codigo:=HTTP_$status}"
            case "$status$espera" in
                409) return 1 ;;                     # o resultado não pode mais ser repetido
                409* | 429* | 503*) ;;
                *) return 1 ;;
            esac
            case "$espera" in '' | *[!0-9]*) ;; *) pausa=$espera ;; esac
        else
            codigo=SEM_RESPOSTA status=0 mensagem=$resposta
        fi
        # Um 503 do serviço encerrou a tentativa, sem custo: a próxima é outra. Menos depois de uma
        # que pode ter sido cobrada: então a chave fica.
        case "$codigo" in
            SEM_RESPOSTA | HTTP_503 | COBRANCA_INCERTA) duvida=sim ;;
            *) if [ "$status$duvida" = 503 ]; then idempotencia=$(nova_chave); fi ;;
        esac
        if [ "$tentativa" -ge "$TENTATIVAS" ] || [ "$pausa" -gt "$ESPERA_MAXIMA" ]; then return 1; fi
        sleep "$pausa"
    done
}

cnpj=$(printf '%s' "${1:-90010001000100}" | jq -sRr @uri)   # letras e pontuação ficam

if consultar "cnpj-receita-federal/$cnpj"; then
    printf '%s' "$corpo" | jq -r '.response | "empresa: \(.nome_empresarial) (\(.situacao_cadastral))"'
elif [ "$codigo" = CNPJ_NAO_ENCONTRADO ]; then
    echo "empresa: o CNPJ não existe"
else
    echo "empresa: erro $codigo: $mensagem"
fi

if consultar "certidao-negativa-de-debitos-federal?cnpj=$cnpj"; then
    printf '%s' "$corpo" | jq -r '"certidão federal: " + if .success
        then "\(.certificate_type), válida até \(.effective_validity)"
        else "não emitida (\(.certificate_type // .status))" end'
else
    echo "certidão federal: erro $codigo: $mensagem"
fi
