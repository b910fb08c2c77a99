// Reads the sandbox with a generated client (oapi-codegen).
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	balcao "example.invalid/balcao"
)

func must[T any](answer T, problem error) T {
	if problem != nil {
		fmt.Fprintln(os.Stderr, problem)
		os.Exit(1)
	}
	return answer
}

func main() {
	ctx := context.Background()
	client := must(balcao.NewClientWithResponses(os.Getenv("BALCAO_BASE"),
		balcao.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
			request.Header.Set("x-api-key", os.Getenv("BALCAO_KEY"))
			return nil
		})))
	yes, cnpj, debtor := true, "90010001000100", "90010003000107"
	uf := balcao.SintegraParamsUf("SP")
	first, last := "2026-01-01", "2026-01-31"

	zone := must(client.SuframaWithResponse(ctx, "90010002000154", nil)).JSON200
	fmt.Println("suframa 200", zone.Status.Descricao)

	found := must(client.SintegraWithResponse(ctx, cnpj,
		&balcao.SintegraParams{Uf: &uf, Endereco: &yes})).JSON200
	one := found.InscricoesEstaduais[0]
	fmt.Println("sintegra 200", *one.TipoIe, one.Endereco.Municipio)

	producer := must(client.ProdutorRuralWithResponse(ctx, "90010000100",
		&balcao.ProdutorRuralParams{Uf: "SP"})).JSON200
	fmt.Println("produtor-rural 200", producer.Cpf, len(producer.InscricoesEstaduais))

	federal := must(client.CertidaoNegativaDeDebitosFederalWithResponse(ctx,
		&balcao.CertidaoNegativaDeDebitosFederalParams{Cnpj: &cnpj})).JSON200
	fmt.Println("federal 200", *federal.CertificateType)
	negative := must(client.CertidaoNegativaDeDebitosFederalWithResponse(ctx,
		&balcao.CertidaoNegativaDeDebitosFederalParams{Cnpj: &debtor}))
	fmt.Println("federal", negative.StatusCode(), *negative.JSON404.CertificateType,
		negative.JSON404.Error)

	state := must(client.CertidaoNegativaDeDebitosEstadualWithResponse(ctx, cnpj,
		&balcao.CertidaoNegativaDeDebitosEstadualParams{Uf: "SP"})).JSON200
	fmt.Println("estadual 200", *state.CertidaoNegativa)

	company := must(client.CnpjReceitaFederalWithResponse(ctx, cnpj, nil)).JSON200.Response
	fmt.Println("empresa 200", *company.NomeEmpresarial, len(*company.Socios))
	absent := must(client.CnpjReceitaFederalWithResponse(ctx, "99999999000191", nil))
	fmt.Println("empresa", absent.StatusCode(), absent.JSON404.ErrorMessage.Code)

	spent := must(client.ConsumoWithResponse(ctx,
		&balcao.ConsumoParams{De: &first, Ate: &last})).JSON200
	fmt.Println("consumo 200", spent.De, len(spent.Linhas))
}
