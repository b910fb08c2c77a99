"""One API request in several languages, ready to be pasted; the key comes from `BALCAO_KEY`."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = str | int | bool

# The placeholder of the address.
_URL = "{url}"

_TEMPLATES: Mapping[str, str] = {
    "curl": """curl -sS -H "x-api-key: $BALCAO_KEY" \\
  "{url}"
""",
    "Python": """import json
import os
from urllib.request import Request, urlopen

request = Request(
    "{url}",
    headers={"x-api-key": os.environ["BALCAO_KEY"]},
)
with urlopen(request, timeout=60) as response:
    print(json.load(response))
""",
    "Node": """const response = await fetch("{url}", {
  headers: { "x-api-key": process.env.BALCAO_KEY },
  signal: AbortSignal.timeout(60_000),
});
console.log(await response.json());
""",
    "Go": """package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	request, err := http.NewRequest("GET",
		"{url}", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("x-api-key", os.Getenv("BALCAO_KEY"))
	client := http.Client{Timeout: 60 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))
}
""",
    "Java": """import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

public class Lookup {
    public static void main(String[] args) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(
                "{url}"))
            .header("x-api-key", System.getenv("BALCAO_KEY"))
            .timeout(Duration.ofSeconds(60))
            .build();
        var response = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
        System.out.println(response.body());
    }
}
""",
    "PHP": """<?php
$context = stream_context_create(["http" => [
    "header" => "x-api-key: " . getenv("BALCAO_KEY"),
    "ignore_errors" => true,
    "timeout" => 60,
]]);
print_r(json_decode(file_get_contents("{url}", false, $context), true));
""",
    "C#": """using var client = new HttpClient { Timeout = TimeSpan.FromSeconds(60) };
client.DefaultRequestHeaders.Add(
    "x-api-key", Environment.GetEnvironmentVariable("BALCAO_KEY"));
var response = await client.GetAsync(
    "{url}");
Console.WriteLine(await response.Content.ReadAsStringAsync());
""",
    "Delphi": """uses System.SysUtils, System.Net.HttpClient, System.Net.URLClient;

var Client := THTTPClient.Create;
try
  Client.ResponseTimeout := 60000;
  var Response := Client.Get(
    '{url}',
    nil, [TNameValuePair.Create('x-api-key', GetEnvironmentVariable('BALCAO_KEY'))]);
  Writeln(Response.ContentAsString(TEncoding.UTF8));
finally
  Client.Free;
end;
""",
}

_PYTHON_CLIENT = """# pip install ./clients/python
import os

from balcao_client import Balcao

with Balcao("{address}", os.environ["BALCAO_KEY"]) as balcao:
    response = balcao.{method}({arguments})
    print(response.credits, response.body)
"""
_TYPESCRIPT_CLIENT = """// npm install ./clients/typescript
import { Balcao } from "balcao-client";

const balcao = new Balcao("{address}", process.env.BALCAO_KEY!);
const { body, credits } = await balcao.{method}({arguments});
console.log(credits, body);
"""


def of_request(url: str) -> Sequence[tuple[str, str]]:
    """Return a request in each language. `url` is one of ours: it has no quotes or backslashes."""
    return [(language, text.replace(_URL, url)) for language, text in _TEMPLATES.items()]


def of_clients(
    address: str, operation_id: str, arguments: Mapping[str, Value]
) -> Sequence[tuple[str, str]]:
    """Return the same request through our two clients, by their names."""
    first, *others = operation_id.split("_")
    in_python = ", ".join(f"{name}={_python(value)}" for name, value in arguments.items())
    in_typescript = ", ".join(f"{name}: {_json(value)}" for name, value in arguments.items())
    return [
        ("Cliente Python", _filled(_PYTHON_CLIENT, address, operation_id, in_python)),
        (
            "Cliente TypeScript",
            _filled(
                _TYPESCRIPT_CLIENT,
                address,
                first + "".join(each.capitalize() for each in others),
                f"{{ {in_typescript} }}" if arguments else "",
            ),
        ),
    ]


def _filled(template: str, address: str, method: str, arguments: str) -> str:
    # The arguments last: they may contain anything.
    text = template.replace("{address}", address).replace("{method}", method)
    return text.replace("{arguments}", arguments)


def _python(value: Value) -> str:
    return str(value) if isinstance(value, bool) else _json(value)


def _json(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)
