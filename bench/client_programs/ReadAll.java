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

        RespostaSuframa zone = lookups.suframa("90010002000154", null, null, null);
        System.out.println("suframa 200 " + zone.getStatus().getDescricao());

        RespostaInscricoes found = lookups.sintegra(
            "90010001000100", "SP", null, null, null, true, null, null);
        InscricaoEstadual one = found.getInscricoesEstaduais().get(0);
        System.out.println(
            "sintegra 200 " + one.getTipoIe().getValue() + " " + one.getEndereco().getMunicipio());

        RespostaProdutorRural producer = lookups.produtorRural(
            "90010000100", "SP", null, null, null, null, null, null);
        System.out.println("produtor-rural 200 " + producer.getCpf() + " "
            + producer.getInscricoesEstaduais().size());

        RespostaCertidaoFederal federal = lookups.certidaoNegativaDeDebitosFederal(
            "90010001000100", null, null, null, null, null, null);
        System.out.println("federal 200 " + federal.getCertificateType());
        try {
            lookups.certidaoNegativaDeDebitosFederal(
                "90010003000107", null, null, null, null, null, null);
        } catch (ApiException refused) {
            RespostaCertidaoFederal body =
                RespostaCertidaoFederal.fromJson(refused.getResponseBody());
            System.out.println("federal " + refused.getCode() + " " + body.getCertificateType()
                + " " + body.getError());
        }

        RespostaCertidaoEstadual state = lookups.certidaoNegativaDeDebitosEstadual(
            "90010001000100", "SP", null, null);
        System.out.println("estadual 200 " + state.getCertidaoNegativa());

        Empresa company = lookups.cnpjReceitaFederal(
            "90010001000100", null, null, null, null, null).getResponse();
        System.out.println(
            "empresa 200 " + company.getNomeEmpresarial() + " " + company.getSocios().size());
        try {
            lookups.cnpjReceitaFederal("99999999000191", null, null, null, null, null);
        } catch (ApiException refused) {
            ErroEmpresa body = ErroEmpresa.fromJson(refused.getResponseBody());
            System.out.println(
                "empresa " + refused.getCode() + " " + body.getErrorMessage().getCode());
        }

        RespostaConsumo spent = new ContaApi(client).consumo("2026-01-01", "2026-01-31", null);
        System.out.println("consumo 200 " + spent.getDe() + " " + spent.getLinhas().size());
        client.getHttpClient().dispatcher().executorService().shutdown();
        client.getHttpClient().connectionPool().evictAll();
    }
}
