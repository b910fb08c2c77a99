// Reads the sandbox with a generated client (openapi-generator, go).
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	balcao "example.invalid/balcao"
)

func must[T any](answer *T, _ *http.Response, problem error) *T {
	if problem != nil {
		fmt.Fprintln(os.Stderr, problem)
		os.Exit(1)
	}
	return answer
}

func refused[T any](_ any, response *http.Response, problem error) (int, T) {
	var said *balcao.GenericOpenAPIError
	if !errors.As(problem, &said) {
		fmt.Fprintln(os.Stderr, "no refusal:", problem)
		os.Exit(1)
	}
	return response.StatusCode, said.Model().(T)
}

func main() {
	configuration := balcao.NewConfiguration()
	configuration.Servers = balcao.ServerConfigurations{{URL: os.Getenv("BALCAO_BASE")}}
	client := balcao.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), balcao.ContextAPIKeys,
		map[string]balcao.APIKey{"chave": {Key: os.Getenv("BALCAO_KEY")}})
	lookups := client.ConsultasAPI

	zone := must(lookups.Suframa(ctx, "90010002000154").Execute())
	fmt.Println("suframa 200", zone.Status.Descricao)

	found := must(lookups.Sintegra(ctx, "90010001000100").Uf("SP").Endereco(true).Execute())
	one := found.InscricoesEstaduais[0]
	fmt.Println("sintegra 200", one.GetTipoIe(), one.Endereco.Municipio)

	producer := must(lookups.ProdutorRural(ctx, "90010000100").Uf("SP").Execute())
	fmt.Println("produtor-rural 200", producer.Cpf, len(producer.InscricoesEstaduais))

	federal := must(lookups.CertidaoNegativaDeDebitosFederal(ctx).Cnpj("90010001000100").Execute())
	fmt.Println("federal 200", federal.GetCertificateType())
	status, negative := refused[balcao.RespostaCertidaoFederal](
		lookups.CertidaoNegativaDeDebitosFederal(ctx).Cnpj("90010003000107").Execute())
	fmt.Println("federal", status, negative.GetCertificateType(), negative.Error)

	state := must(
		lookups.CertidaoNegativaDeDebitosEstadual(ctx, "90010001000100").Uf("SP").Execute())
	fmt.Println("estadual 200", state.GetCertidaoNegativa())

	company := must(lookups.CnpjReceitaFederal(ctx, "90010001000100").Execute()).Response
	fmt.Println("empresa 200", company.GetNomeEmpresarial(), len(company.Socios))
	status, problem := refused[balcao.ErroEmpresa](
		lookups.CnpjReceitaFederal(ctx, "99999999000191").Execute())
	fmt.Println("empresa", status, problem.ErrorMessage.Code)

	spent := must(client.ContaAPI.Consumo(ctx).De("2026-01-01").Ate("2026-01-31").Execute())
	fmt.Println("consumo 200", spent.De, len(spent.Linhas))
}
