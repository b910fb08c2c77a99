/** Reads the sandbox with a generated client (openapi-generator, java). */

import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ConsultasApi;
import org.openapitools.client.api.ContaApi;
import org.openapitools.client.auth.ApiKeyAuth;
import org.openapitools.client.model.*;

public class ReadAll {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.setBasePath(System.getenv("BALCAO_BASE"));
        ((ApiKeyAuth) client.getAuthentication("chave")).setApiKey(System.getenv("BALCAO_KEY"));
        client.setReadTimeout(60000);
        ConsultasApi lookups = new ConsultasApi(client);

        RespostaSuframa zone = lookups.suframa("90010002000154").execute();
        System.out.println("suframa 200 " + zone.getStatus().getDescricao());

        RespostaInscricoes found = lookups.sintegra("90010001000100")
            .uf("SP").endereco(true).execute();
        InscricaoEstadual one = found.getInscricoesEstaduais().get(0);
        System.out.println(
            "sintegra 200 " + one.getTipoIe().getValue() + " " + one.getEndereco().getMunicipio());

        RespostaProdutorRural producer = lookups.produtorRural("90010000100", "SP").execute();
        System.out.println("produtor-rural 200 " + producer.getCpf() + " "
            + producer.getInscricoesEstaduais().size());

        RespostaCertidaoFederal federal = lookups.certidaoNegativaDeDebitosFederal()
            .cnpj("90010001000100").execute();
        System.out.println("federal 200 " + federal.getCertificateType());
        try {
            lookups.certidaoNegativaDeDebitosFederal().cnpj("90010003000107").execute();
        } catch (ApiException refused) {
            RespostaCertidaoFederal body =
                RespostaCertidaoFederal.fromJson(refused.getResponseBody());
            System.out.println("federal " + refused.getCode() + " " + body.getCertificateType()
                + " " + body.getError());
        }

        RespostaCertidaoEstadual state = lookups.certidaoNegativaDeDebitosEstadual(
            "90010001000100", "SP").execute();
        System.out.println("estadual 200 " + state.getCertidaoNegativa());

        Empresa company = lookups.cnpjReceitaFederal("90010001000100").execute().getResponse();
        System.out.println(
            "empresa 200 " + company.getNomeEmpresarial() + " " + company.getSocios().size());
        try {
            lookups.cnpjReceitaFederal("99999999000191").execute();
        } catch (ApiException refused) {
            ErroEmpresa body = ErroEmpresa.fromJson(refused.getResponseBody());
            System.out.println(
                "empresa " + refused.getCode() + " " + body.getErrorMessage().getCode());
        }

        RespostaConsumo spent = new ContaApi(client).consumo()
            .de("2026-01-01").ate("2026-01-31").execute();
        System.out.println("consumo 200 " + spent.getDe() + " " + spent.getLinhas().size());
        client.getHttpClient().dispatcher().executorService().shutdown();
        client.getHttpClient().connectionPool().evictAll();
    }
}
