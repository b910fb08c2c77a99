// Consulta uma empresa e a certidão federal dela. Go 1.20 ou mais novo, sem pacotes.
//
//	go run consulta.go 90010001000100
package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

const (
	endereco = "http://127.0.0.1:8000"
	chave    = "SUA_CHAVE"

	prazo        = 60 * time.Second // mais que o das fontes, para que a resposta paga sempre chegue
	tentativas   = 4
	esperaMaxima = 60 * time.Second
)

var cliente = http.Client{Timeout: prazo}

// Erro diz que a consulta não foi respondida, e não custou nada. Decida pelo código, nunca pelo texto.
type Erro struct{ Codigo, Mensagem string }

func (e *Erro) Error() string { return "erro " + e.Codigo + ": " + e.Mensagem }

type envelope struct {
	Error   *bool  `json:"error"` // nulo: não é resposta do serviço
	Message string `json:"message"`
	Detalhe *struct {
		Code string `json:"code"`
	} `json:"error_message"`
}

func novaChave() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", bytes)
}

// emDuvida tem os códigos de tentativas que podem ter sido executadas e cobradas.
var emDuvida = map[string]bool{"SEM_RESPOSTA": true, "HTTP_503": true, "COBRANCA_INCERTA": true}

// enviar faz uma tentativa.
func enviar(caminho, idempotencia string) (*http.Response, []byte, error) {
	pedido, err := http.NewRequest(http.MethodGet, endereco+"/consultas/v2/"+caminho, nil)
	if err != nil {
		return nil, nil, err
	}
	pedido.Header.Set("x-api-key", chave)
	pedido.Header.Set("Idempotency-Key", idempotencia)
	resposta, err := cliente.Do(pedido)
	if err != nil {
		return nil, nil, err
	}
	defer resposta.Body.Close()
	texto, err := io.ReadAll(resposta.Body)
	return resposta, texto, err
}

// consultar lê a resposta em dados. Repete o que pode ser repetido.
func consultar(caminho string, dados any) error {
	idempotencia := novaChave() // uma por consulta: repetir com a mesma não cobra de novo
	duvida := false             // uma tentativa pode ter sido cobrada: a chave fica
	for tentativa := 1; ; tentativa++ {
		espera := time.Second << (tentativa - 1)
		falha := &Erro{"SEM_RESPOSTA", ""}
		resposta, texto, err := enviar(caminho, idempotencia)
		if err != nil {
			falha.Mensagem = err.Error() // pode ter sido executada: mesma chave
		} else {
			var corpo envelope
			nossa := json.Unmarshal(texto, &corpo) == nil && corpo.Error != nil
			if nossa && !*corpo.Error {
				return json.Unmarshal(texto, dados)
			}
			falha = &Erro{fmt.Sprintf("HTTP_%d", resposta.StatusCode), "resposta ilegível"}
			if nossa && corpo.Detalhe != nil {
				falha = &Erro{corpo.Detalhe.Code, corpo.Message}
			}
			pedida := resposta.Header.Get("Retry-After")
			switch resposta.StatusCode {
			case http.StatusConflict:
				if pedida == "" { // não há mais o que repetir
					return falha
				}
			case http.StatusTooManyRequests:
			case http.StatusServiceUnavailable:
				// Um 503 do serviço encerrou a tentativa, sem custo: a próxima é outra. Menos depois
				// de uma que pode ter sido cobrada.
				if !duvida && !emDuvida[falha.Codigo] {
					idempotencia = novaChave()
				}
			default:
				return falha
			}
			if segundos, err := strconv.Atoi(pedida); err == nil {
				espera = time.Duration(segundos) * time.Second
			}
		}
		duvida = duvida || emDuvida[falha.Codigo]
		if tentativa == tentativas || espera > esperaMaxima {
			return falha
		}
		time.Sleep(espera)
	}
}

func main() {
	cnpj := "90010001000100"
	if len(os.Args) > 1 {
		cnpj = os.Args[1] // letras e pontuação ficam
	}

	var empresa struct {
		Response struct {
			Nome     string `json:"nome_empresarial"`
			Situacao string `json:"situacao_cadastral"`
		} `json:"response"`
	}
	err := consultar("cnpj-receita-federal/"+url.PathEscape(cnpj), &empresa)
	var erro *Erro
	switch {
	case err == nil:
		fmt.Printf("empresa: %s (%s)\n", empresa.Response.Nome, empresa.Response.Situacao)
	case errors.As(err, &erro) && erro.Codigo == "CNPJ_NAO_ENCONTRADO":
		fmt.Println("empresa: o CNPJ não existe")
	default:
		fmt.Println("empresa:", err)
	}

	var certidao struct {
		Success  bool    `json:"success"`
		Tipo     *string `json:"certificate_type"`
		Status   string  `json:"status"`
		Validade *string `json:"effective_validity"`
	}
	err = consultar("certidao-negativa-de-debitos-federal?cnpj="+url.QueryEscape(cnpj), &certidao)
	switch {
	case err != nil:
		fmt.Println("certidão federal:", err)
	case certidao.Success && certidao.Tipo != nil && certidao.Validade != nil:
		fmt.Printf("certidão federal: %s, válida até %s\n", *certidao.Tipo, *certidao.Validade)
	case certidao.Tipo != nil:
		fmt.Printf("certidão federal: não emitida (%s)\n", *certidao.Tipo)
	default:
		fmt.Printf("certidão federal: não emitida (%s)\n", certidao.Status)
	}
}
