// Receptor de avisos de apientidades en Spring, con la biblioteca oficial de Standard Webhooks. Java 17 o posterior.
//
//   mvn compile dependency:copy-dependencies
//   RECEPTOR_SECRETO='whsec_…' java -cp 'target/classes:target/dependency/*' es.ejemplo.Receptor
//
// Escucha solo en este equipo: el certificado es del servidor web que le pasa las peticiones (nginx, Apache…).
package es.ejemplo;

import com.standardwebhooks.Webhook;
import com.standardwebhooks.exceptions.EmptyWebhookSecretException;
import com.standardwebhooks.exceptions.WebhookVerificationException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.ResponseEntity;
import org.springframework.util.MultiValueMap;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.databind.json.JsonMapper;

@SpringBootApplication
@RestController
public class Receptor {
    static final int RECORDADOS = 10_000; // avisos que se recuerdan, para no procesar dos veces una repetición

    final Webhook webhook;
    final JsonMapper json = new JsonMapper();
    final ExecutorService aparte = Executors.newSingleThreadExecutor();
    final Set<String> vistos = Collections.synchronizedSet(Collections.newSetFromMap(new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> primero) {
            return size() > RECORDADOS;
        }
    }));

    // La biblioteca descodifica el base64 de un secreto whsec_…; en cualquier otro secreto, la clave son sus bytes.
    Receptor(@Value("${RECEPTOR_SECRETO}") String secreto) throws EmptyWebhookSecretException {
        if (Set.of("", "whsec_").contains(secreto.strip()) || secreto.contains("\uFFFD")) {
            throw new IllegalArgumentException("RECEPTOR_SECRETO falta, o Java no lo ha leído bien: arranque con LANG=C.UTF-8");
        }
        webhook = secreto.startsWith("whsec_") ? new Webhook(secreto) : new Webhook(secreto.getBytes(StandardCharsets.UTF_8));
    }

    // `byte[]` es el cuerpo tal como llegó: con una clase suya en su lugar, Spring lo interpretaría.
    @PostMapping("/avisos")
    ResponseEntity<Void> recibir(@RequestBody byte[] cuerpo, @RequestHeader MultiValueMap<String, String> cabeceras) {
        if (!esAutentico(cuerpo, cabeceras)) {
            return ResponseEntity.status(401).build();
        }
        String identificador = cabeceras.getFirst("webhook-id");
        // En su programa, en lugar de `vistos`: un INSERT en su base de datos, con `webhook-id` como clave única.
        if (vistos.add(identificador)) {
            aparte.execute(() -> procesar(identificador, cuerpo));
        }
        return ResponseEntity.noContent().build();
    }

    // Comprueba la firma, y que la hora no difiera en más de 5 minutos de la de este equipo.
    boolean esAutentico(byte[] cuerpo, Map<String, List<String>> cabeceras) {
        try {
            webhook.verify(new String(cuerpo, StandardCharsets.UTF_8), cabeceras);
            return true;
        } catch (WebhookVerificationException noLoEs) {
            return false;
        }
    }

    // Se llama en otro hilo, para que la respuesta no espere. Ponga aquí lo que su programa haga con el aviso.
    void procesar(String identificador, byte[] cuerpo) {
        try {
            var aviso = json.readTree(cuerpo);
            System.out.println("procesado " + identificador + " " + aviso.get("evento").asString() + " " + aviso.get("data"));
        } catch (RuntimeException fallo) {
            System.err.println("no se ha podido procesar " + identificador + ": " + fallo);
        }
    }

    public static void main(String[] argumentos) {
        SpringApplication.run(Receptor.class, argumentos);
    }
}
