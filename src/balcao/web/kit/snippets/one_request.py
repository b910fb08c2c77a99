"""One API request in six languages, ready to be pasted; the key comes from `BALCAO_KEY`."""

from collections.abc import Mapping, Sequence

# The placeholder of the address.
_URL = "{url}"

_TEMPLATES: Mapping[str, str] = {
    "curl": """curl -sS -H "x-api-key: $BALCAO_KEY" \\
  "{url}"
""",
    "Python": """import json
import os
from urllib.request import Request, urlopen

pedido = Request(
    "{url}",
    headers={"x-api-key": os.environ["BALCAO_KEY"]},
)
with urlopen(pedido, timeout=60) as resposta:
    print(json.load(resposta))
""",
    "PHP": """<?php
$modo = stream_context_create(["http" => [
    "header" => "x-api-key: " . getenv("BALCAO_KEY"),
    "ignore_errors" => true,
    "timeout" => 60,
]]);
print_r(json_decode(file_get_contents("{url}", false, $modo), true));
""",
    "C#": """using var cliente = new HttpClient { Timeout = TimeSpan.FromSeconds(60) };
cliente.DefaultRequestHeaders.Add(
    "x-api-key", Environment.GetEnvironmentVariable("BALCAO_KEY"));
var resposta = await cliente.GetAsync(
    "{url}");
Console.WriteLine(await resposta.Content.ReadAsStringAsync());
""",
    "Node": """const resposta = await fetch("{url}", {
  headers: { "x-api-key": process.env.BALCAO_KEY },
  signal: AbortSignal.timeout(60_000),
});
console.log(await resposta.json());
""",
    "Delphi": """uses System.SysUtils, System.Net.HttpClient, System.Net.URLClient;

var Cliente := THTTPClient.Create;
try
  Cliente.ResponseTimeout := 60000;
  var Resposta := Cliente.Get(
    '{url}',
    nil, [TNameValuePair.Create('x-api-key', GetEnvironmentVariable('BALCAO_KEY'))]);
  Writeln(Resposta.ContentAsString(TEncoding.UTF8));
finally
  Cliente.Free;
end;
""",
}


def of_request(url: str) -> Sequence[tuple[str, str]]:
    """Return a request in each language. `url` is one of ours: it has no quotes or backslashes."""
    return [(language, text.replace(_URL, url)) for language, text in _TEMPLATES.items()]
