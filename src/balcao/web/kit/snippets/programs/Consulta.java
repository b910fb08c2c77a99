// Consulta uma empresa e a certidão federal dela. Java 17 ou mais novo, sem bibliotecas.
//
//     java Consulta.java 90010001000100
//
// Em um projeto, leia o JSON com a biblioteca dele (Jackson, Gson); `campo` basta para este exemplo.
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public final class Consulta {
    private static final String ENDERECO = "http://127.0.0.1:8000";
    private static final String CHAVE = "SUA_CHAVE";

    // Mais que o prazo das fontes, para que a resposta paga sempre chegue.
    private static final Duration PRAZO = Duration.ofSeconds(60);
    private static final int TENTATIVAS = 4;
    private static final long ESPERA_MAXIMA = 60;

    // A tentativa pode ter sido executada e cobrada.
    private static final Set<String> EM_DUVIDA = Set.of("SEM_RESPOSTA", "HTTP_503", "COBRANCA_INCERTA");

    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(PRAZO).build();

    /** A consulta não foi respondida, e não custou nada. Decida pelo código, nunca pelo texto. */
    static final class ErroDaConsulta extends Exception {
        final String codigo;

        ErroDaConsulta(String codigo, String mensagem) {
            super(mensagem);
            this.codigo = codigo;
        }
    }

    /** O corpo da resposta. Repete o que pode ser repetido. */
    static String consultar(String caminho) throws ErroDaConsulta, InterruptedException {
        UUID idempotencia = UUID.randomUUID(); // uma por consulta: repetir com a mesma não cobra de novo
        boolean duvida = false; // uma tentativa pode ter sido cobrada: a chave fica
        for (int tentativa = 1; ; tentativa++) {
            long espera = 1L << (tentativa - 1);
            ErroDaConsulta falha;
            try {
                HttpRequest pedido = HttpRequest.newBuilder(URI.create(ENDERECO + "/consultas/v2/" + caminho))
                        .header("x-api-key", CHAVE)
                        .header("Idempotency-Key", idempotencia.toString())
                        .timeout(PRAZO)
                        .build();
                HttpResponse<String> resposta =
                        HTTP.send(pedido, HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
                int status = resposta.statusCode();
                String corpo = resposta.body();
                String erro = campo(corpo, "error"); // nulo: não é resposta do serviço
                if ("false".equals(erro)) {
                    return corpo;
                }
                falha = erro == null
                        ? new ErroDaConsulta("HTTP_" + status, "resposta ilegível")
                        : new ErroDaConsulta(campo(corpo, "code"), campo(corpo, "message"));
                String pedida = resposta.headers().firstValue("Retry-After").orElse("");
                // Um 409 sem Retry-After não tem mais o que repetir.
                if (!Set.of(409, 429, 503).contains(status) || (status == 409 && pedida.isEmpty())) {
                    throw falha;
                }
                if (pedida.matches("\\d{1,9}")) {
                    espera = Long.parseLong(pedida);
                }
                // Um 503 do serviço encerrou a tentativa, sem custo: a próxima é outra. Menos depois
                // de uma que pode ter sido cobrada.
                if (status == 503 && !duvida && !EM_DUVIDA.contains(falha.codigo)) {
                    idempotencia = UUID.randomUUID();
                }
            } catch (IOException e) { // pode ter sido executada: mesma chave
                falha = new ErroDaConsulta("SEM_RESPOSTA", e.toString());
            }
            duvida = duvida || EM_DUVIDA.contains(falha.codigo);
            if (tentativa == TENTATIVAS || espera > ESPERA_MAXIMA) {
                throw falha;
            }
            Thread.sleep(espera * 1000);
        }
    }

    /** O primeiro campo com este nome, onde quer que esteja, como texto; nulo onde falta ou é nulo. */
    static String campo(String json, String nome) {
        Matcher achado = Pattern.compile(
                        "\"" + nome + "\"\\s*:\\s*(?:\"((?:[^\"\\\\]|\\\\.)*)\"|(true|false|-?[0-9.]+))")
                .matcher(json);
        if (!achado.find()) {
            return null;
        }
        return achado.group(1) == null ? achado.group(2) : achado.group(1).replaceAll("\\\\([\"\\\\/])", "$1");
    }

    public static void main(String[] args) throws InterruptedException {
        PrintStream saida = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Letras e pontuação ficam.
        String cnpj = URLEncoder.encode(args.length > 0 ? args[0] : "90010001000100", StandardCharsets.UTF_8);

        try {
            String empresa = consultar("cnpj-receita-federal/" + cnpj);
            saida.printf("empresa: %s (%s)%n", campo(empresa, "nome_empresarial"), campo(empresa, "situacao_cadastral"));
        } catch (ErroDaConsulta erro) {
            if (erro.codigo.equals("CNPJ_NAO_ENCONTRADO")) {
                saida.println("empresa: o CNPJ não existe");
            } else {
                saida.printf("empresa: erro %s: %s%n", erro.codigo, erro.getMessage());
            }
        }

        try {
            String certidao = consultar("certidao-negativa-de-debitos-federal?cnpj=" + cnpj);
            String tipo = campo(certidao, "certificate_type");
            if ("true".equals(campo(certidao, "success"))) {
                saida.printf("certidão federal: %s, válida até %s%n", tipo, campo(certidao, "effective_validity"));
            } else {
                saida.printf("certidão federal: não emitida (%s)%n", tipo == null ? campo(certidao, "status") : tipo);
            }
        } catch (ErroDaConsulta erro) {
            saida.printf("certidão federal: erro %s: %s%n", erro.codigo, erro.getMessage());
        }
    }
}
