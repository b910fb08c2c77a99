// Consulta uma empresa e a certidão federal dela. .NET 8 ou mais novo, sem pacotes.
//
//     dotnet new console -o consulta && cp Consulta.cs consulta/Program.cs
//     dotnet run --project consulta -- 90010001000100
using System.Globalization;
using System.Text.Json;

const string Endereco = "http://127.0.0.1:8000";
const string Chave = "SUA_CHAVE";

const int Tentativas = 4;
var esperaMaxima = TimeSpan.FromSeconds(60);
// A tentativa pode ter sido executada e cobrada.
string[] emDuvida = ["SEM_RESPOSTA", "HTTP_503", "COBRANCA_INCERTA"];

// O prazo é maior que o das fontes, para que a resposta paga sempre chegue.
using var http = new HttpClient { Timeout = TimeSpan.FromSeconds(60) };
http.DefaultRequestHeaders.Add("x-api-key", Chave);

var cnpj = Uri.EscapeDataString(args.Length > 0 ? args[0] : "90010001000100"); // letras ficam

try
{
    var empresa = (await Consultar($"cnpj-receita-federal/{cnpj}")).GetProperty("response");
    Console.WriteLine($"empresa: {Texto(empresa, "nome_empresarial")} ({Texto(empresa, "situacao_cadastral")})");
}
catch (ErroDaConsulta erro) when (erro.Codigo == "CNPJ_NAO_ENCONTRADO")
{
    Console.WriteLine("empresa: o CNPJ não existe");
}
catch (ErroDaConsulta erro)
{
    Console.WriteLine($"empresa: erro {erro.Codigo}: {erro.Message}");
}

try
{
    var certidao = await Consultar($"certidao-negativa-de-debitos-federal?cnpj={cnpj}");
    var tipo = Texto(certidao, "certificate_type");
    Console.WriteLine(certidao.GetProperty("success").GetBoolean()
        ? $"certidão federal: {tipo}, válida até {Texto(certidao, "effective_validity")}"
        : $"certidão federal: não emitida ({tipo ?? Texto(certidao, "status")})");
}
catch (ErroDaConsulta erro)
{
    Console.WriteLine($"certidão federal: erro {erro.Codigo}: {erro.Message}");
}

// Os dados da resposta. Repete o que pode ser repetido; lança ErroDaConsulta.
async Task<JsonElement> Consultar(string caminho)
{
    var idempotencia = Guid.NewGuid(); // uma por consulta: repetir com a mesma não cobra de novo
    var duvida = false; // uma tentativa pode ter sido cobrada: a chave fica
    for (var tentativa = 1; ; tentativa++)
    {
        var espera = TimeSpan.FromSeconds(1 << (tentativa - 1));
        ErroDaConsulta falha;
        try
        {
            using var pedido = new HttpRequestMessage(HttpMethod.Get, $"{Endereco}/consultas/v2/{caminho}");
            pedido.Headers.Add("Idempotency-Key", idempotencia.ToString());
            using var resposta = await http.SendAsync(pedido);
            var status = (int)resposta.StatusCode;
            var corpo = Lido(await resposta.Content.ReadAsStringAsync());
            if (corpo is { } certo && !certo.GetProperty("error").GetBoolean()) return certo;

            falha = corpo is { } erro
                ? new ErroDaConsulta(Texto(erro.GetProperty("error_message"), "code")!, Texto(erro, "message")!)
                : new ErroDaConsulta($"HTTP_{status}", "resposta ilegível");
            var pedida = resposta.Headers.TryGetValues("Retry-After", out var valores) ? valores.First() : null;
            if (status is not (409 or 429 or 503)) throw falha;
            if (status == 409 && pedida is null) throw falha; // não há mais o que repetir
            if (int.TryParse(pedida, NumberStyles.None, CultureInfo.InvariantCulture, out var segundos))
                espera = TimeSpan.FromSeconds(segundos);
            // Um 503 do serviço encerrou a tentativa, sem custo: a próxima é outra. Menos depois de
            // uma que pode ter sido cobrada.
            if (status == 503 && !duvida && !emDuvida.Contains(falha.Codigo)) idempotencia = Guid.NewGuid();
        }
        catch (Exception e) when (e is HttpRequestException or TaskCanceledException)
        {
            falha = new ErroDaConsulta("SEM_RESPOSTA", e.Message); // pode ter sido executada: mesma chave
        }
        duvida |= emDuvida.Contains(falha.Codigo);
        if (tentativa == Tentativas || espera > esperaMaxima) throw falha;
        await Task.Delay(espera);
    }
}

// O corpo, ou nulo se não for do serviço.
static JsonElement? Lido(string texto)
{
    try
    {
        var corpo = JsonDocument.Parse(texto).RootElement;
        return corpo.ValueKind == JsonValueKind.Object && corpo.TryGetProperty("error", out _) ? corpo : null;
    }
    catch (JsonException)
    {
        return null;
    }
}

static string? Texto(JsonElement de, string campo) => de.GetProperty(campo).GetString();

// A consulta não foi respondida, e não custou nada. Decida pelo código, nunca pelo texto.
sealed class ErroDaConsulta(string codigo, string mensagem) : Exception(mensagem)
{
    public string Codigo { get; } = codigo;
}
