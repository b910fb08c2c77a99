// Recebe webhooks e confere a assinatura. Go 1.20 ou mais novo, sem pacotes.
//
//	WEBHOOK_SECRET=whsec_... go run receber.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var vistos sync.Map // em produção: uma tabela com índice único

func confere(segredo []byte, cabecalhos http.Header, corpo []byte) bool {
	numero, instante := cabecalhos.Get("webhook-id"), cabecalhos.Get("webhook-timestamp")
	segundos, err := strconv.ParseInt(instante, 10, 64)
	if err != nil || math.Abs(float64(time.Now().Unix()-segundos)) > 300 {
		return false
	}
	mac := hmac.New(sha256.New, segredo)
	mac.Write([]byte(numero + "." + instante + "."))
	mac.Write(corpo)
	esperada := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, uma := range strings.Fields(cabecalhos.Get("webhook-signature")) {
		if hmac.Equal([]byte(esperada), []byte(uma)) {
			return true
		}
	}
	return false
}

func main() {
	texto := strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_")
	segredo, err := base64.StdEncoding.DecodeString(texto)
	if err != nil || len(segredo) == 0 {
		log.Fatal("defina WEBHOOK_SECRET")
	}
	porta := os.Getenv("PORT")
	if porta == "" {
		porta = "8080"
	}
	http.HandleFunc("/", func(resposta http.ResponseWriter, requisicao *http.Request) {
		corpo, err := io.ReadAll(http.MaxBytesReader(resposta, requisicao.Body, 65536))
		if err != nil || !confere(segredo, requisicao.Header, corpo) {
			resposta.WriteHeader(http.StatusUnauthorized)
			return
		}
		numero := requisicao.Header.Get("webhook-id")
		if _, repetido := vistos.LoadOrStore(numero, true); !repetido { // pode vir mais de uma vez
			var evento struct{ Type string }
			if json.Unmarshal(corpo, &evento) == nil {
				// Guarde o evento aqui e trate-o depois de responder.
				fmt.Println(numero, evento.Type)
			}
		}
		resposta.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe(":"+porta, nil))
}
