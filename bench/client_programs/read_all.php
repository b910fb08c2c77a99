<?php
// Reads the sandbox with a generated client (openapi-generator, php).

require __DIR__ . '/autoload.php';

use OpenAPI\Client\Api\ConsultasApi;
use OpenAPI\Client\Api\ContaApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;

$configuration = (new Configuration())
    ->setHost(getenv('BALCAO_BASE'))
    ->setApiKey('x-api-key', getenv('BALCAO_KEY'));
$http = new GuzzleHttp\Client();
$lookups = new ConsultasApi($http, $configuration);

function say(...$words): void
{
    echo implode(' ', $words), "\n";
}

$zone = $lookups->suframa('90010002000154');
say('suframa 200', $zone->getStatus()->getDescricao());

$found = $lookups->sintegra(cnpj: '90010001000100', uf: 'SP', endereco: true);
$one = $found->getInscricoesEstaduais()[0];
say('sintegra 200', $one->getTipoIe(), $one->getEndereco()->getMunicipio());

$producer = $lookups->produtorRural('90010000100', 'SP');
say('produtor-rural 200', $producer->getCpf(), count($producer->getInscricoesEstaduais()));

$federal = $lookups->certidaoNegativaDeDebitosFederal(cnpj: '90010001000100');
say('federal 200', $federal->getCertificateType());
try {
    $lookups->certidaoNegativaDeDebitosFederal(cnpj: '90010003000107');
} catch (ApiException $refused) {
    $body = $refused->getResponseObject();
    say('federal', $refused->getCode(), $body->getCertificateType(), var_export($body->getError(), true));
}

$state = $lookups->certidaoNegativaDeDebitosEstadual('90010001000100', 'SP');
say('estadual 200', var_export($state->getCertidaoNegativa(), true));

$company = $lookups->cnpjReceitaFederal('90010001000100')->getResponse();
say('empresa 200', $company->getNomeEmpresarial(), count($company->getSocios()));
try {
    $lookups->cnpjReceitaFederal('99999999000191');
} catch (ApiException $refused) {
    $body = $refused->getResponseObject();
    say('empresa', $refused->getCode(), $body->getErrorMessage()->getCode());
}

$spent = (new ContaApi($http, $configuration))->consumo('2026-01-01', '2026-01-31');
say('consumo 200', $spent->getDe()->format('Y-m-d'), count($spent->getLinhas()));
