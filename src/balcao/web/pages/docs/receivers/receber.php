<?php
// Recebe webhooks e confere a assinatura. PHP 8.1 ou mais novo, sem extensões nem pacotes.
//
//     WEBHOOK_SECRET=whsec_... php -S 0.0.0.0:8080 receber.php
declare(strict_types=1);

const VISTOS = '/tmp/webhooks-vistos'; // em produção: uma tabela com índice único

function confere(string $segredo, string $corpo): bool
{
    $numero = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $instante = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($instante) || abs(time() - (int) $instante) > 300) {
        return false;
    }
    $digest = hash_hmac('sha256', "$numero.$instante.$corpo", $segredo, true);
    $esperada = 'v1,' . base64_encode($digest);
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $uma) {
        if (hash_equals($esperada, $uma)) {
            return true;
        }
    }
    return false;
}

$segredo = base64_decode(substr((string) getenv('WEBHOOK_SECRET'), strlen('whsec_')));
$corpo = (string) file_get_contents('php://input'); // os bytes recebidos, sem decodificar
if (!confere($segredo, $corpo)) {
    http_response_code(401);
    return;
}
$pasta = getenv('WEBHOOK_VISTOS') ?: VISTOS;
@mkdir($pasta);
$numero = preg_replace('/[^A-Za-z0-9_-]/', '', $_SERVER['HTTP_WEBHOOK_ID']);
$novo = @fopen("$pasta/$numero", 'x'); // uma entrega pode vir mais de uma vez
if ($novo !== false) {
    $evento = json_decode($corpo, true);
    // Guarde o evento aqui e trate-o depois de responder.
    file_put_contents('php://stdout', "$numero {$evento['type']}\n");
}
http_response_code(204);
