// OpenAPI Generator, go
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	. "clientes/common"
	cliente "clientes/openapi_generator/cliente"
)

var ctx = context.Background()

func clientOf(api, token string) *cliente.APIClient {
	configuration := cliente.NewConfiguration()
	configuration.Servers = cliente.ServerConfigurations{{URL: api}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+token)
	return cliente.NewAPIClient(configuration)
}

func read[T any](answer T, _ *http.Response, problem error) T { return Must(answer, problem) }

func refused[T any](_ T, response *http.Response, problem error) {
	var failure *cliente.GenericOpenAPIError
	if !errors.As(problem, &failure) {
		log.Fatal(problem)
	}
	Say("error", response.StatusCode, failure.Model().(cliente.Mensaje).Message)
}

func main() {
	client := clientOf(API, Token)
	if OnlyRefused {
		refused(client.WebhooksAPI.EnumerarWebhooks(ctx).Execute())
		return
	}

	Say("events", len(read(client.WebhooksAPI.EnumerarEventos(ctx).Execute()).Eventos))
	ids := []any{}
	for _, one := range read(client.WebhooksAPI.EnumerarWebhooks(ctx).Execute()) {
		ids = append(ids, one.Id)
	}
	Say("list", ids...)

	registration := *cliente.NewRegistro(URL, []cliente.Evento{cliente.EVALUACION_ABIERTA, cliente.DOCUMENTO_DISPONIBLE})
	registration.SetSecreto("secreto-de-un-cliente")
	created := read(client.WebhooksAPI.RegistrarWebhook(ctx).Registro(registration).IdempotencyKey("alta").Execute())
	Say("create", created.Activo, created.FechaAlta.After(Yesterday))

	seen, response, problem := client.WebhooksAPI.VerWebhook(ctx, created.Id).Execute()
	Must(seen, problem)
	Say("get", seen.Id == created.Id, OrNull(seen.Motivo.Get()), seen.TieneSecreto)

	change := func(events ...cliente.Evento) cliente.ApiCambiarWebhookRequest {
		return client.WebhooksAPI.CambiarWebhook(ctx, created.Id).IfMatch(response.Header.Get("ETag")).Cambio(cliente.Cambio{Eventos: events})
	}
	Say("patch", read(change(cliente.EVALUACION_ABIERTA).Execute()).Eventos[0])
	refused(change(cliente.EVALUACION_CERRADA).Execute())

	renewal := func(secret string) cliente.ApiCambiarSecretoRequest {
		return client.SecretoAPI.CambiarSecreto(ctx, created.Id).SecretoNuevo(*cliente.NewSecretoNuevo(secret))
	}
	Say("secret", read(renewal("otro-secreto-de-un-cliente").Execute()).SecretoAnteriorHasta.Get().After(Now))
	test := func(extra map[string]any) cliente.ApiLanzarPruebaRequest {
		return client.WebhooksAPI.LanzarPrueba(ctx).Prueba(cliente.Prueba{Evento: cliente.DOCUMENTO_DISPONIBLE, DatosExtra: extra})
	}
	Say("test", read(test(map[string]any{"a": 1}).Execute()).Webhooks[0].Id)

	page := client.EntregasAPI.EnumerarEntregas(ctx, Webhook).Evento(cliente.EVALUACION_ABIERTA).Desde(Yesterday).Hasta(Tomorrow).Limite(2)
	first := read(page.Execute())
	second := read(page.Cursor(*first.Siguiente.Get()).Execute())
	Say("log", len(first.Entregas), len(second.Entregas), OrNull(second.Siguiente.Get()))

	delivery := read(client.EntregasAPI.VerEntrega(ctx, Webhook, first.Entregas[0].Id).Execute())
	Say("delivery", delivery.Estado, OrNull(delivery.Historial[0].EstadoHttp.Get()), Evaluation(delivery.Cuerpo.Get()))

	ended := func(id int64) *cliente.ReenvioProgreso {
		return Until(func() *cliente.ReenvioProgreso {
			return read(client.EntregasAPI.VerReenvio(ctx, Webhook, id).Execute())
		},
			func(one *cliente.ReenvioProgreso) bool { return one.Entregadas == one.Candidatas })
	}
	replays := func(simulated bool) *cliente.ReenvioOSimulacion {
		body := cliente.NewReenvio(Yesterday)
		body.SetHasta(Tomorrow)
		body.SetEstados([]string{"entregada"})
		body.SetSimular(simulated)
		return read(client.EntregasAPI.ReenviarEntregas(ctx, Webhook).Reenvio(*body).Execute())
	}
	Say("replay", ended(read(client.EntregasAPI.ReenviarEntrega(ctx, Webhook, delivery.Id).Execute()).Reenvio.Id).Entregadas)
	simulated := replays(true)
	Say("simulate", simulated.GetCandidatas(), simulated.GetExacto())
	Say("replays", ended(replays(false).Reenvio.Id).Entregadas)

	read(client.ReceptorAPI.PedirDiagnostico(ctx, Webhook).Execute())
	diagnosis := Until(func() *cliente.Diagnostico { return read(client.ReceptorAPI.VerDiagnostico(ctx, Webhook).Execute()) },
		func(one *cliente.Diagnostico) bool { return one.Estado == "terminado" })
	found := []any{}
	for _, one := range diagnosis.Pruebas {
		found = append(found, fmt.Sprintf("%s=%s", one.Prueba, one.Resultado))
	}
	Say("diagnosis", found...)

	statistics := read(client.EntregasAPI.VerEstadisticas(ctx, Webhook).Ventana("7d").Execute())
	Say("statistics", statistics.Ventana, statistics.Entregadas, statistics.Fallidas)

	unsafe, other := registration, registration
	unsafe.Url, other.Eventos = "http://example.org", []cliente.Evento{cliente.EVALUACION_CERRADA}
	refused(client.WebhooksAPI.RegistrarWebhook(ctx).Registro(unsafe).Execute())
	refused(clientOf(API, "no-vale").WebhooksAPI.EnumerarWebhooks(ctx).Execute())
	refused(clientOf(API, ReadOnlyToken).WebhooksAPI.EliminarWebhook(ctx, created.Id).Execute())
	refused(client.WebhooksAPI.VerWebhook(ctx, 1).Execute())
	refused(renewal("un-tercer-secreto-de-un-cliente").Execute())
	refused(test(Large).Execute())
	refused(client.WebhooksAPI.RegistrarWebhook(ctx).Registro(other).IdempotencyKey("alta").Execute())
	deleted := read(client.WebhooksAPI.EliminarWebhook(ctx, created.Id).Execute())
	Say("delete", deleted.Message == fmt.Sprintf("Webhook %d eliminado", created.Id))

	later := clientOf(LaterAPI, Token)
	Say("later", read(later.WebhooksAPI.EnumerarWebhooks(ctx).Execute())[0].Id,
		len(read(later.EntregasAPI.EnumerarEntregas(ctx, Webhook).Execute()).Entregas) > 2)
}
