<?php
// Consulta uma empresa e a certidão federal dela. PHP 8.1 ou mais novo, sem extensões nem pacotes.
//
//     php consulta.php 90010001000100
declare(strict_types=1);

const ENDERECO = 'http://127.0.0.1:8000';
const CHAVE = 'SUA_CHAVE';

const PRAZO = 60; // segundos; mais que o das fontes, para que a resposta paga sempre chegue
const TENTATIVAS = 4;
const ESPERA_MAXIMA = 60;
// A tentativa pode ter sido executada e cobrada.
const EM_DUVIDA = ['SEM_RESPOSTA', 'HTTP_503', 'COBRANCA_INCERTA'];

/** A consulta não foi respondida, e não custou nada. Decida pelo código, nunca pelo texto. */
final class ErroDaConsulta extends RuntimeException
{
    public function __construct(public readonly string $codigo, string $mensagem)
    {
        parent::__construct($mensagem);
    }
}

function nova_chave(): string
{
    return bin2hex(random_bytes(16));
}

/**
 * Uma tentativa: status, Retry-After e o corpo, que é nulo se não for do serviço.
 * O status é 0 quando não houve resposta inteira.
 */
function enviar(string $caminho, string $idempotencia): array
{
    $contexto = stream_context_create(['http' => [
        'header' => ['x-api-key: ' . CHAVE, "Idempotency-Key: $idempotencia", 'Connection: close'],
        'protocol_version' => 1.1,
        'timeout' => PRAZO,
        'ignore_errors' => true, // o corpo dos erros diz o código
    ]]);
    $fluxo = @fopen(ENDERECO . "/consultas/v2/$caminho", 'rb', false, $contexto);
    if ($fluxo === false) {
        return [0, '', null];
    }
    $texto = stream_get_contents($fluxo);
    $situacao = stream_get_meta_data($fluxo);
    fclose($fluxo);
    $status = 0;
    $espera = '';
    $tamanho = null;
    foreach ($situacao['wrapper_data'] as $linha) {
        if (preg_match('#^HTTP/\S+ (\d{3})#', $linha, $achado)) {
            $status = (int) $achado[1];
        } elseif (preg_match('/^Retry-After:\s*(.*)$/i', $linha, $achado)) {
            $espera = trim($achado[1]);
        } elseif (preg_match('/^Content-Length:\s*(\d+)/i', $linha, $achado)) {
            $tamanho = (int) $achado[1];
        }
    }
    if ($situacao['timed_out'] || ($tamanho !== null && strlen($texto) < $tamanho)) {
        return [0, '', null];
    }
    $corpo = json_decode($texto, true);
    return [$status, $espera, is_array($corpo) ? $corpo : null];
}

/** Os dados da resposta. Repete o que pode ser repetido; lança ErroDaConsulta. */
function consultar(string $caminho): array
{
    $idempotencia = nova_chave(); // uma por consulta: repetir com a mesma não cobra de novo
    $duvida = false; // uma tentativa pode ter sido cobrada: a chave fica
    for ($tentativa = 1; ; $tentativa++) {
        $espera = 2 ** ($tentativa - 1);
        [$status, $pedida, $corpo] = enviar($caminho, $idempotencia);
        if ($corpo !== null && $corpo['error'] === false) {
            return $corpo;
        }
        if ($status === 0) { // pode ter sido executada: mesma chave
            $falha = new ErroDaConsulta('SEM_RESPOSTA', 'o serviço não respondeu');
        } else {
            $falha = new ErroDaConsulta(
                $corpo['error_message']['code'] ?? "HTTP_$status",
                $corpo['message'] ?? 'resposta ilegível',
            );
            // Um 409 sem Retry-After não tem mais o que repetir.
            if (!in_array($status, [409, 429, 503], true) || ($status === 409 && $pedida === '')) {
                throw $falha;
            }
            if (ctype_digit($pedida)) {
                $espera = (int) $pedida;
            }
            // Um 503 do serviço encerrou a tentativa, sem custo: a próxima é outra. Menos depois de
            // uma que pode ter sido cobrada.
            if ($status === 503 && !$duvida && !in_array($falha->codigo, EM_DUVIDA, true)) {
                $idempotencia = nova_chave();
            }
        }
        $duvida = $duvida || in_array($falha->codigo, EM_DUVIDA, true);
        if ($tentativa === TENTATIVAS || $espera > ESPERA_MAXIMA) {
            throw $falha;
        }
        sleep($espera);
    }
}

$cnpj = rawurlencode($argv[1] ?? '90010001000100'); // letras e pontuação ficam

try {
    $empresa = consultar("cnpj-receita-federal/$cnpj")['response'];
    echo "empresa: {$empresa['nome_empresarial']} ({$empresa['situacao_cadastral']})\n";
} catch (ErroDaConsulta $erro) {
    echo match ($erro->codigo) {
        'CNPJ_NAO_ENCONTRADO' => "empresa: o CNPJ não existe\n",
        default => "empresa: erro {$erro->codigo}: {$erro->getMessage()}\n",
    };
}

try {
    $certidao = consultar("certidao-negativa-de-debitos-federal?cnpj=$cnpj");
    $tipo = $certidao['certificate_type'];
    echo $certidao['success']
        ? "certidão federal: $tipo, válida até {$certidao['effective_validity']}\n"
        : 'certidão federal: não emitida (' . ($tipo ?? $certidao['status']) . ")\n";
} catch (ErroDaConsulta $erro) {
    echo "certidão federal: erro {$erro->codigo}: {$erro->getMessage()}\n";
}
