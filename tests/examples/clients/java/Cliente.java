// OpenAPI Generator, java
import com.google.gson.JsonParser;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.EntregasApi;
import org.openapitools.client.api.ReceptorApi;
import org.openapitools.client.api.SecretoApi;
import org.openapitools.client.api.WebhooksApi;
import org.openapitools.client.model.*;

/** Makes the calls of ../scenario.py. */
class Cliente {
    static final OffsetDateTime NOW = OffsetDateTime.now(ZoneOffset.UTC), YESTERDAY = NOW.minusDays(1), TOMORROW = NOW.plusDays(1);
    static final long WEBHOOK = Long.parseLong(System.getenv("WEBHOOK"));

    interface Call<T> {
        T make() throws ApiException;
    }

    static ApiClient clientOf(String api, String token) {
        ApiClient client = new ApiClient().setBasePath(api);
        client.setBearerToken(token);
        return client;
    }

    static void say(String step, Object... values) {
        System.out.println(Stream.concat(Stream.of(step), Stream.of(values)).map(String::valueOf).collect(Collectors.joining(" ")));
    }

    static void refused(Call<?> call) {
        try {
            call.make();
        } catch (ApiException problem) {
            say("error", problem.getCode(), JsonParser.parseString(problem.getResponseBody()).getAsJsonObject().get("message").getAsString());
        }
    }

    static <T> T until(Call<T> ask, Predicate<T> done) throws Exception {
        T answer = ask.make();
        while (!done.test(answer)) {
            Thread.sleep(200);
            answer = ask.make();
        }
        return answer;
    }

    static Object[] each(Stream<?> values) {
        return values.toArray();
    }

    public static void main(String[] arguments) throws Exception {
        String api = System.getenv("API"), token = System.getenv("TOKEN");
        ApiClient client = clientOf(api, token);
        WebhooksApi webhooks = new WebhooksApi(client);
        SecretoApi secret = new SecretoApi(client);
        EntregasApi deliveries = new EntregasApi(client);
        ReceptorApi receiver = new ReceptorApi(client);
        if (arguments.length == 1 && arguments[0].equals("refused")) {
            refused(webhooks::enumerarWebhooks);
            return;
        }

        say("events", webhooks.enumerarEventos().getEventos().size());
        say("list", each(webhooks.enumerarWebhooks().stream().map(WebhookListado::getId)));

        String url = System.getenv("URL_OF_RECEIVER");
        List<Evento> events = List.of(Evento.EVALUACION_ABIERTA, Evento.DOCUMENTO_DISPONIBLE);
        Webhook created = webhooks.registrarWebhook(new Registro().url(url).eventos(events).secreto("secreto-de-un-cliente"), "alta");
        say("create", created.getActivo(), created.getFechaAlta().isAfter(YESTERDAY));

        Long id = created.getId();
        var answer = webhooks.verWebhookWithHttpInfo(id);
        WebhookDetalle seen = answer.getData();
        say("get", seen.getId().equals(id), seen.getMotivo(), seen.getTieneSecreto());

        String etag = answer.getHeaders().get("etag").get(0);
        say("patch", each(webhooks.cambiarWebhook(id, new Cambio().addEventosItem(Evento.EVALUACION_ABIERTA), etag).getEventos().stream()));
        refused(() -> webhooks.cambiarWebhook(id, new Cambio().addEventosItem(Evento.EVALUACION_CERRADA), etag));

        say("secret", secret.cambiarSecreto(id, new SecretoNuevo().secreto("otro-secreto-de-un-cliente")).getSecretoAnteriorHasta().isAfter(NOW));
        Prueba test = new Prueba().evento(Evento.DOCUMENTO_DISPONIBLE).datosExtra(Map.of("a", 1));
        say("test", each(webhooks.lanzarPrueba(test).getWebhooks().stream().map(PruebaEncoladaWebhooksInner::getId)));

        Entregas first = deliveries.enumerarEntregas(WEBHOOK, null, Evento.EVALUACION_ABIERTA, YESTERDAY, TOMORROW, 2, null);
        Entregas second = deliveries.enumerarEntregas(WEBHOOK, null, Evento.EVALUACION_ABIERTA, YESTERDAY, TOMORROW, 2, first.getSiguiente());
        say("log", first.getEntregas().size(), second.getEntregas().size(), second.getSiguiente());

        EntregaDetalle delivery = deliveries.verEntrega(WEBHOOK, first.getEntregas().get(0).getId());
        var data = JsonParser.parseString(delivery.getCuerpo()).getAsJsonObject().getAsJsonObject("data");
        say("delivery", delivery.getEstado(), delivery.getHistorial().get(0).getEstadoHttp(), data.get("evaluacionId").getAsLong());

        Reenvio replay = new Reenvio().desde(YESTERDAY).hasta(TOMORROW).addEstadosItem(Reenvio.EstadosEnum.ENTREGADA);
        say("replay", ended(deliveries, deliveries.reenviarEntrega(WEBHOOK, delivery.getId()).getReenvio()));
        ReenvioOSimulacion simulated = deliveries.reenviarEntregas(WEBHOOK, replay.simular(true));
        say("simulate", simulated.getCandidatas(), simulated.getExacto());
        say("replays", ended(deliveries, deliveries.reenviarEntregas(WEBHOOK, replay.simular(false)).getReenvio()));

        receiver.pedirDiagnostico(WEBHOOK);
        Diagnostico diagnosis = until(() -> receiver.verDiagnostico(WEBHOOK), one -> one.getEstado() == Diagnostico.EstadoEnum.TERMINADO);
        say("diagnosis", each(diagnosis.getPruebas().stream().map(one -> one.getPrueba() + "=" + one.getResultado())));

        Estadisticas statistics = deliveries.verEstadisticas(WEBHOOK, "7d");
        say("statistics", statistics.getVentana(), statistics.getEntregadas(), statistics.getFallidas());

        refused(() -> webhooks.registrarWebhook(new Registro().url("http://example.org").eventos(events), null));
        refused(() -> new WebhooksApi(clientOf(api, "no-vale")).enumerarWebhooks());
        refused(() -> new WebhooksApi(clientOf(api, System.getenv("TOKEN_READ_ONLY"))).eliminarWebhook(id, null));
        refused(() -> webhooks.verWebhook(1L));
        refused(() -> secret.cambiarSecreto(id, new SecretoNuevo().secreto("un-tercer-secreto-de-un-cliente")));
        refused(() -> webhooks.lanzarPrueba(test.datosExtra(Map.of("relleno", "x".repeat(70_000)))));
        refused(() -> webhooks.registrarWebhook(new Registro().url(url).addEventosItem(Evento.EVALUACION_CERRADA), "alta"));
        say("delete", webhooks.eliminarWebhook(id, null).getMessage().equals("Webhook " + id + " eliminado"));

        ApiClient later = clientOf(System.getenv("API_LATER"), token);
        say("later", new WebhooksApi(later).enumerarWebhooks().get(0).getId(),
            new EntregasApi(later).enumerarEntregas(WEBHOOK, null, null, null, null, null, null).getEntregas().size() > 2);
    }

    static Integer ended(EntregasApi deliveries, ReenvioEnCola asked) throws Exception {
        return until(() -> deliveries.verReenvio(WEBHOOK, asked.getId()), one -> one.getEntregadas().equals(one.getCandidatas())).getEntregadas();
    }
}
