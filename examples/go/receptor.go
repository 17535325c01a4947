// Receptor de avisos de apientidades, con la biblioteca oficial de Standard Webhooks.
//
//	RECEPTOR_CERT=cadena.pem RECEPTOR_CLAVE=clave.pem RECEPTOR_SECRETO='whsec_…' go run .
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	maximo     = 1_000_000 // bytes del cuerpo: ningún aviso llega a tanto
	recordados = 10_000    // avisos que se recuerdan, para no procesar dos veces una repetición
)

type aviso struct {
	identificador string
	cuerpo        []byte
	Evento        string          `json:"evento"`
	Data          json.RawMessage `json:"data"`
}

var (
	verificadores []*standardwebhooks.Webhook
	pendientes    = make(chan aviso, recordados)
	cerrojo       sync.Mutex
	vistos        = map[string]bool{}
	orden         []string
)

// Una variable en blanco es como ninguna, y «whsec_» sin nada detrás también: con una clave vacía firma cualquiera.
func variable(nombre string) string {
	valor := os.Getenv(nombre)
	if limpio := strings.TrimSpace(valor); limpio == "" || limpio == "whsec_" {
		return ""
	}
	return valor
}

func obligatoria(nombre string) string {
	valor := variable(nombre)
	if valor == "" {
		log.Fatalf("%s falta o está incompleta: póngala como dicen las primeras líneas de receptor.go", nombre)
	}
	return valor
}

// La biblioteca descodifica el base64 de un secreto whsec_…; de cualquier otro, la clave son sus bytes.
func verificador(secreto string) (*standardwebhooks.Webhook, error) {
	if strings.HasPrefix(secreto, "whsec_") {
		return standardwebhooks.NewWebhook(secreto)
	}
	return standardwebhooks.NewWebhookRaw([]byte(secreto))
}

// Comprueba la firma de los bytes tal como llegaron, y que la hora no difiera en más de 5 minutos de la de aquí.
func esAutentico(cuerpo []byte, cabeceras http.Header) bool {
	for _, webhook := range verificadores {
		if webhook.Verify(cuerpo, cabeceras) == nil {
			return true
		}
	}
	return false
}

// Guarda el aviso solo la primera vez que llega. Si ya no cabe, devuelve false, sin esperar: se responde 503 y el servicio lo
// reintenta. En su programa: un INSERT en su base de datos, con `webhook-id` como clave única, para no procesar dos veces una
// repetición ni perder avisos en un corte de luz.
func guardar(nuevo aviso) bool {
	cerrojo.Lock()
	defer cerrojo.Unlock()
	if vistos[nuevo.identificador] {
		return true
	}
	select {
	case pendientes <- nuevo:
	default:
		return false
	}
	vistos[nuevo.identificador] = true
	orden = append(orden, nuevo.identificador)
	if len(orden) > recordados {
		delete(vistos, orden[0])
		orden = orden[1:]
	}
	return true
}

// Se ejecuta después de guardar el aviso; la respuesta al servicio no espera a que termine. Ponga aquí lo que su programa
// haga con el aviso.
func procesar(aviso aviso) {
	fmt.Println("procesado", aviso.identificador, aviso.Evento, string(aviso.Data))
}

// Si no se puede procesar un aviso, o leer su JSON, escribe el error y sigue con los avisos siguientes.
func intentar(aviso aviso) {
	defer func() {
		if fallo := recover(); fallo != nil {
			log.Printf("no se ha podido procesar %s: %v\n%s", aviso.identificador, fallo, debug.Stack())
		}
	}()
	if err := json.Unmarshal(aviso.cuerpo, &aviso); err != nil || aviso.Evento == "" || aviso.Data == nil {
		log.Printf("no se ha podido procesar %s: no es JSON, o le falta evento o data: %v", aviso.identificador, err)
		return
	}
	procesar(aviso)
}

func trabajar() {
	for aviso := range pendientes {
		intentar(aviso)
	}
}

func atender(respuesta http.ResponseWriter, peticion *http.Request) {
	cuerpo, err := io.ReadAll(http.MaxBytesReader(respuesta, peticion.Body, maximo))
	if err != nil {
		respuesta.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	nuevo := aviso{identificador: peticion.Header.Get("webhook-id"), cuerpo: cuerpo}
	if !esAutentico(cuerpo, peticion.Header) {
		respuesta.WriteHeader(http.StatusUnauthorized)
	} else if !guardar(nuevo) {
		respuesta.WriteHeader(http.StatusServiceUnavailable)
	} else {
		respuesta.WriteHeader(http.StatusNoContent)
	}
}

func main() {
	obligatoria("RECEPTOR_SECRETO")
	// Mientras se cambia el secreto valen los dos: el nuevo y el anterior.
	for _, nombre := range []string{"RECEPTOR_SECRETO", "RECEPTOR_SECRETO_ANTERIOR"} {
		if secreto := variable(nombre); secreto != "" {
			webhook, err := verificador(secreto)
			if err != nil {
				log.Fatalf("%s: %v", nombre, err)
			}
			verificadores = append(verificadores, webhook)
		}
	}
	puerto := os.Getenv("RECEPTOR_PUERTO")
	if puerto == "" {
		puerto = "8443"
	}
	certificado, clave := obligatoria("RECEPTOR_CERT"), obligatoria("RECEPTOR_CLAVE")
	go trabajar()
	// Con un plazo para recibir la petición entera, quien envía poco a poco no ocupa una conexión para siempre.
	servidor := http.Server{Addr: ":" + puerto, Handler: http.HandlerFunc(atender), ReadTimeout: 20 * time.Second}
	fmt.Println("escuchando en el puerto", puerto)
	log.Fatal(servidor.ListenAndServeTLS(certificado, clave))
}
