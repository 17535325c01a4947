// Receptor de avisos de apientidades en Gin, con la biblioteca oficial de Standard Webhooks.
//
//	RECEPTOR_SECRETO='whsec_…' go run .
//
// Escucha solo en este equipo: el certificado es del servidor web que le pasa las peticiones (nginx, Apache…).
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	maximo     = 1_000_000 // bytes del cuerpo: ningún aviso llega a tanto
	recordados = 10_000    // avisos que se recuerdan, para no procesar dos veces una repetición
)

var (
	cerrojo sync.Mutex
	vistos  []string
)

// La biblioteca descodifica el base64 de un secreto whsec_…; de cualquier otro, la clave son sus bytes.
func verificador(secreto string) (*standardwebhooks.Webhook, error) {
	if limpio := strings.TrimSpace(secreto); limpio == "" || limpio == "whsec_" {
		return nil, fmt.Errorf("falta: con una clave vacía firma cualquiera")
	} else if strings.HasPrefix(secreto, "whsec_") {
		return standardwebhooks.NewWebhook(secreto)
	}
	return standardwebhooks.NewWebhookRaw([]byte(secreto))
}

// En su programa: un INSERT en su base de datos, con `webhook-id` como clave única.
func esNuevo(identificador string) bool {
	cerrojo.Lock()
	defer cerrojo.Unlock()
	if slices.Contains(vistos, identificador) {
		return false
	}
	vistos = append(vistos, identificador)
	vistos = vistos[max(0, len(vistos)-recordados):]
	return true
}

// Se ejecuta aparte, sin que la respuesta espere. Ponga aquí lo que su programa haga con el aviso.
func procesar(identificador string, cuerpo []byte) {
	var aviso struct {
		Evento string          `json:"evento"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(cuerpo, &aviso); err != nil {
		log.Printf("no se ha podido procesar %s: %v", identificador, err)
		return
	}
	fmt.Println("procesado", identificador, aviso.Evento, string(aviso.Data))
}

func main() {
	webhook, err := verificador(os.Getenv("RECEPTOR_SECRETO"))
	if err != nil {
		log.Fatalf("RECEPTOR_SECRETO: %v", err)
	}
	gin.SetMode(gin.ReleaseMode)
	rutas := gin.New()
	rutas.POST("/avisos", func(c *gin.Context) {
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maximo)
		cuerpo, err := c.GetRawData() // los bytes tal como llegaron
		if err != nil {
			c.Status(http.StatusRequestEntityTooLarge)
			return
		}
		// Comprueba su firma, y que la hora no difiera en más de 5 minutos de la de aquí.
		if webhook.Verify(cuerpo, c.Request.Header) != nil {
			c.Status(http.StatusUnauthorized)
			return
		}
		if identificador := c.GetHeader("webhook-id"); esNuevo(identificador) {
			go procesar(identificador, cuerpo)
		}
		c.Status(http.StatusNoContent)
	})
	log.Fatal(rutas.Run("127.0.0.1:" + cmp.Or(os.Getenv("RECEPTOR_PUERTO"), "8080")))
}
