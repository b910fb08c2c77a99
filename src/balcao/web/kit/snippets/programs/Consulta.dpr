// Consulta uma empresa e a certidão federal dela. Delphi 10.4 ou mais novo; serve a quem usa o
// ACBr: ponha `Consultar` onde hoje chama TACBrConsultaCNPJ. No Lazarus, troque THTTPClient por
// TFPHTTPClient e System.JSON por fpjson.
//
//     Consulta.exe 90010001000100
program Consulta;

{$APPTYPE CONSOLE}

uses
  System.SysUtils, System.Classes, System.JSON, System.NetEncoding, System.Net.URLClient,
  System.Net.HttpClient;

const
  ENDERECO = 'http://127.0.0.1:8000';
  CHAVE = 'SUA_CHAVE';

  PRAZO = 60; // segundos; mais que o das fontes, para que a resposta paga sempre chegue
  TENTATIVAS = 4;
  ESPERA_MAXIMA = 60;

type
  // A consulta não foi respondida, e não custou nada. Decida pelo código, nunca pelo texto.
  EErroDaConsulta = class(Exception)
  public
    Codigo: string;
    constructor Create(const ACodigo, AMensagem: string);
  end;

constructor EErroDaConsulta.Create(const ACodigo, AMensagem: string);
begin
  inherited Create(AMensagem);
  Codigo := ACodigo;
end;

function NovaChave: string;
begin
  Result := TGUID.NewGuid.ToString.Trim(['{', '}']);
end;

// Se a tentativa pode ter sido executada e cobrada.
function EmDuvida(const Codigo: string): Boolean;
begin
  Result := (Codigo = 'SEM_RESPOSTA') or (Codigo = 'HTTP_503') or (Codigo = 'COBRANCA_INCERTA');
end;

// O corpo, ou nil se não for do serviço. Quem chama libera.
function Lido(const Texto: string): TJSONObject;
var
  Valor: TJSONValue;
  EhErro: Boolean;
begin
  Valor := TJSONObject.ParseJSONValue(Texto);
  if (Valor is TJSONObject) and Valor.TryGetValue<Boolean>('error', EhErro) then
    Exit(TJSONObject(Valor));
  Valor.Free;
  Result := nil;
end;

// Os dados da resposta, que quem chama libera. Repete o que pode ser repetido.
function Consultar(const Caminho: string): TJSONObject;
var
  Http: THTTPClient;
  Resposta: IHTTPResponse;
  Corpo: TJSONObject;
  Idempotencia, Pedida, Codigo, Mensagem: string;
  Tentativa, Espera, Segundos: Integer;
  Duvida: Boolean;
begin
  Idempotencia := NovaChave; // uma por consulta: repetir com a mesma não cobra de novo
  Duvida := False; // uma tentativa pode ter sido cobrada: a chave fica
  Http := THTTPClient.Create;
  try
    Http.ConnectionTimeout := PRAZO * 1000;
    Http.ResponseTimeout := PRAZO * 1000;
    for Tentativa := 1 to TENTATIVAS do
    begin
      Espera := 1 shl (Tentativa - 1);
      Codigo := 'SEM_RESPOSTA';
      Mensagem := '';
      Resposta := nil;
      try
        Resposta := Http.Get(ENDERECO + '/consultas/v2/' + Caminho, nil,
          [TNameValuePair.Create('x-api-key', CHAVE),
           TNameValuePair.Create('Idempotency-Key', Idempotencia)]);
      except
        on E: ENetException do
          Mensagem := E.Message; // pode ter sido executada: mesma chave
      end;
      if Resposta <> nil then
      begin
        Codigo := 'HTTP_' + Resposta.StatusCode.ToString;
        Mensagem := 'resposta ilegível';
        Corpo := Lido(Resposta.ContentAsString(TEncoding.UTF8));
        if Corpo <> nil then
        begin
          if not Corpo.GetValue<Boolean>('error') then
            Exit(Corpo);
          Codigo := Corpo.GetValue<string>('error_message.code');
          Mensagem := Corpo.GetValue<string>('message');
          Corpo.Free;
          // Um 503 do serviço encerrou a tentativa, sem custo: a próxima é outra. Menos depois
          // de uma que pode ter sido cobrada.
          if (Resposta.StatusCode = 503) and not Duvida and not EmDuvida(Codigo) then
            Idempotencia := NovaChave;
        end;
        Pedida := Resposta.HeaderValue['Retry-After'];
        if TryStrToInt(Pedida, Segundos) then
          Espera := Segundos;
        case Resposta.StatusCode of
          409: // sem Retry-After não há mais o que repetir
            if Pedida = '' then
              raise EErroDaConsulta.Create(Codigo, Mensagem);
          429, 503: ;
        else
          raise EErroDaConsulta.Create(Codigo, Mensagem);
        end;
      end;
      Duvida := Duvida or EmDuvida(Codigo);
      if (Tentativa = TENTATIVAS) or (Espera > ESPERA_MAXIMA) then
        raise EErroDaConsulta.Create(Codigo, Mensagem);
      Sleep(Espera * 1000);
    end;
    Result := nil;
  finally
    Http.Free;
  end;
end;

procedure MostrarEmpresa(const Cnpj: string);
var
  Dados: TJSONObject;
begin
  try
    Dados := Consultar('cnpj-receita-federal/' + Cnpj);
    try
      Writeln('empresa: ', Dados.GetValue<string>('response.nome_empresarial'), ' (',
        Dados.GetValue<string>('response.situacao_cadastral'), ')');
    finally
      Dados.Free;
    end;
  except
    on E: EErroDaConsulta do
      if E.Codigo = 'CNPJ_NAO_ENCONTRADO' then
        Writeln('empresa: o CNPJ não existe')
      else
        Writeln('empresa: erro ', E.Codigo, ': ', E.Message);
  end;
end;

procedure MostrarCertidao(const Cnpj: string);
var
  Dados: TJSONObject;
  Tipo: string;
begin
  try
    Dados := Consultar('certidao-negativa-de-debitos-federal?cnpj=' + Cnpj);
    try
      if not Dados.TryGetValue<string>('certificate_type', Tipo) or (Tipo = '') then
        Tipo := Dados.GetValue<string>('status');
      if Dados.GetValue<Boolean>('success') then
        Writeln('certidão federal: ', Tipo, ', válida até ',
          Dados.GetValue<string>('effective_validity'))
      else
        Writeln('certidão federal: não emitida (', Tipo, ')');
    finally
      Dados.Free;
    end;
  except
    on E: EErroDaConsulta do
      Writeln('certidão federal: erro ', E.Codigo, ': ', E.Message);
  end;
end;

var
  Cnpj: string;
begin
  Cnpj := '90010001000100';
  if ParamCount > 0 then
    Cnpj := ParamStr(1);
  Cnpj := TNetEncoding.URL.EncodeQuery(Cnpj); // letras e pontuação ficam
  MostrarEmpresa(Cnpj);
  MostrarCertidao(Cnpj);
end.
