// oapi-codegen
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	. "clientes/common"
	"clientes/oapi_codegen/cliente"
)

var ctx = context.Background()

func clientOf(api, token string) *cliente.ClientWithResponses {
	return Must(cliente.NewClientWithResponses(api, cliente.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	})))
}

func refused(status int, answer *cliente.Mensaje) {
	if answer == nil {
		log.Fatal(status)
	}
	Say("error", status, answer.Message)
}

func main() {
	client := clientOf(API, Token)
	if OnlyRefused {
		answer := Must(client.EnumerarWebhooksWithResponse(ctx))
		for _, one := range []*cliente.Mensaje{answer.JSON429, answer.JSON502, answer.JSON503} {
			if one != nil {
				refused(answer.StatusCode(), one)
			}
		}
		return
	}

	Say("events", len(Must(client.EnumerarEventosWithResponse(ctx)).JSON200.Eventos))
	ids := []any{}
	for _, one := range *Must(client.EnumerarWebhooksWithResponse(ctx)).JSON200 {
		ids = append(ids, one.Id)
	}
	Say("list", ids...)

	secret, key := "secreto-de-un-cliente", &cliente.RegistrarWebhookParams{IdempotencyKey: ptr("alta")}
	registration := cliente.Registro{Url: URL, Eventos: []cliente.Evento{cliente.EventoEvaluacionAbierta, cliente.EventoDocumentoDisponible}, Secreto: &secret}
	created := Must(client.RegistrarWebhookWithResponse(ctx, key, registration)).JSON201
	Say("create", created.Activo, created.FechaAlta.After(Yesterday))

	seen := Must(client.VerWebhookWithResponse(ctx, created.Id))
	Say("get", seen.JSON200.Id == created.Id, OrNull(seen.JSON200.Motivo), seen.JSON200.TieneSecreto)

	change := func(events ...cliente.Evento) *cliente.CambiarWebhookResponse {
		condition := &cliente.CambiarWebhookParams{IfMatch: ptr(seen.HTTPResponse.Header.Get("ETag"))}
		return Must(client.CambiarWebhookWithResponse(ctx, created.Id, condition, cliente.Cambio{Eventos: &events}))
	}
	changed := change(cliente.EventoEvaluacionAbierta).JSON200
	Say("patch", changed.Eventos[0])
	stale := change(cliente.EventoEvaluacionCerrada)
	refused(stale.StatusCode(), stale.JSON412)

	renew := func(secret string) *cliente.CambiarSecretoResponse {
		return Must(client.CambiarSecretoWithResponse(ctx, created.Id, cliente.SecretoNuevo{Secreto: &secret}))
	}
	Say("secret", renew("otro-secreto-de-un-cliente").JSON200.SecretoAnteriorHasta.After(Now))
	test := func(extra map[string]any) *cliente.LanzarPruebaResponse {
		return Must(client.LanzarPruebaWithResponse(ctx, cliente.Prueba{Evento: cliente.EventoDocumentoDisponible, DatosExtra: &extra}))
	}
	Say("test", test(map[string]any{"a": 1}).JSON200.Webhooks[0].Id)

	page := func(cursor *string) *cliente.Entregas {
		return Must(client.EnumerarEntregasWithResponse(ctx, Webhook, &cliente.EnumerarEntregasParams{
			Evento: ptr(cliente.EventoEvaluacionAbierta), Desde: &Yesterday, Hasta: &Tomorrow, Limite: ptr(2), Cursor: cursor})).JSON200
	}
	first := page(nil)
	second := page(first.Siguiente)
	Say("log", len(first.Entregas), len(second.Entregas), OrNull(second.Siguiente))

	delivery := Must(client.VerEntregaWithResponse(ctx, Webhook, first.Entregas[0].Id)).JSON200
	Say("delivery", delivery.Estado, OrNull(delivery.Historial[0].EstadoHttp), Evaluation(delivery.Cuerpo))

	ended := func(id int64) *cliente.ReenvioProgreso {
		return Until(func() *cliente.ReenvioProgreso { return Must(client.VerReenvioWithResponse(ctx, Webhook, id)).JSON200 },
			func(one *cliente.ReenvioProgreso) bool { return one.Entregadas == one.Candidatas })
	}
	replays := func(simulated bool) *cliente.ReenviarEntregasResponse {
		return Must(client.ReenviarEntregasWithResponse(ctx, Webhook, cliente.Reenvio{Desde: Yesterday, Hasta: &Tomorrow,
			Estados: &[]cliente.ReenvioEstados{cliente.ReenvioEstadosEntregada}, Simular: &simulated}))
	}
	Say("replay", ended(Must(client.ReenviarEntregaWithResponse(ctx, Webhook, delivery.Id)).JSON202.Reenvio.Id).Entregadas)
	simulated := replays(true).JSON200
	Say("simulate", OrNull(simulated.Candidatas), OrNull(simulated.Exacto))
	Say("replays", ended(replays(false).JSON202.Reenvio.Id).Entregadas)

	Must(client.PedirDiagnosticoWithResponse(ctx, Webhook))
	diagnosis := Until(func() *cliente.Diagnostico { return Must(client.VerDiagnosticoWithResponse(ctx, Webhook)).JSON200 },
		func(one *cliente.Diagnostico) bool { return one.Estado == cliente.DiagnosticoEstadoTerminado })
	found := []any{}
	for _, one := range diagnosis.Pruebas {
		found = append(found, fmt.Sprintf("%s=%s", one.Prueba, one.Resultado))
	}
	Say("diagnosis", found...)

	week := cliente.VerEstadisticasParamsVentana("7d")
	statistics := Must(client.VerEstadisticasWithResponse(ctx, Webhook, &cliente.VerEstadisticasParams{Ventana: &week})).JSON200
	Say("statistics", statistics.Ventana, statistics.Entregadas, statistics.Fallidas)

	unsafe, other := registration, registration
	unsafe.Url, other.Eventos = "http://example.org", []cliente.Evento{cliente.EventoEvaluacionCerrada}
	wrong := Must(client.RegistrarWebhookWithResponse(ctx, nil, unsafe))
	refused(wrong.StatusCode(), wrong.JSON400)
	unknown := Must(clientOf(API, "no-vale").EnumerarWebhooksWithResponse(ctx))
	refused(unknown.StatusCode(), unknown.JSON401)
	forbidden := Must(clientOf(API, ReadOnlyToken).EliminarWebhookWithResponse(ctx, created.Id, nil))
	refused(forbidden.StatusCode(), forbidden.JSON403)
	missing := Must(client.VerWebhookWithResponse(ctx, 1))
	refused(missing.StatusCode(), missing.JSON404)
	again := renew("un-tercer-secreto-de-un-cliente")
	refused(again.StatusCode(), again.JSON409)
	large := test(Large)
	refused(large.StatusCode(), large.JSON413)
	reused := Must(client.RegistrarWebhookWithResponse(ctx, key, other))
	refused(reused.StatusCode(), reused.JSON422)
	deleted := Must(client.EliminarWebhookWithResponse(ctx, created.Id, nil)).JSON200
	Say("delete", deleted.Message == fmt.Sprintf("Webhook %d eliminado", created.Id))

	later := clientOf(LaterAPI, Token)
	Say("later", (*Must(later.EnumerarWebhooksWithResponse(ctx)).JSON200)[0].Id,
		len(Must(later.EnumerarEntregasWithResponse(ctx, Webhook, nil)).JSON200.Entregas) > 2)
}

func ptr[T any](value T) *T { return &value }
