// Receptor de avisos de apientidades, con la biblioteca oficial de Standard Webhooks. Java 17 o posterior.
//
//   mvn dependency:copy-dependencies
//   RECEPTOR_CERT=cadena.pem RECEPTOR_CLAVE=clave.pem RECEPTOR_SECRETO='whsec_…' java -cp 'target/dependency/*' Receptor.java

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.standardwebhooks.Webhook;
import com.standardwebhooks.exceptions.WebhookVerificationException;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

public class Receptor {
    static final int MAXIMO = 1_000_000; // bytes del cuerpo: ningún aviso llega a tanto
    static final int RECORDADOS = 10_000; // avisos que se recuerdan, para no procesar dos veces una repetición

    static final PrintStream salida = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    static final PrintStream errores = new PrintStream(System.err, true, StandardCharsets.UTF_8);
    static final List<Webhook> verificadores = new ArrayList<>();
    static final ExecutorService aparte = Executors.newSingleThreadExecutor();
    static final Set<String> vistos = Collections.synchronizedSet(Collections.newSetFromMap(new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> primero) {
            return size() > RECORDADOS;
        }
    }));

    // Una variable en blanco, o con «whsec_» y nada detrás, cuenta como ausente: con una clave vacía cualquiera puede firmar.
    static String variable(String nombre) {
        String valor = System.getenv().getOrDefault(nombre, "");
        return Set.of("", "whsec_").contains(valor.strip()) ? "" : valor;
    }

    static String obligatoria(String nombre) {
        String valor = variable(nombre);
        if (valor.isEmpty()) {
            errores.println(nombre + " falta o está incompleta: póngala como dicen las primeras líneas de Receptor.java");
            System.exit(1);
        }
        return valor;
    }

    // La biblioteca descodifica el base64 de un secreto whsec_…; en cualquier otro secreto, la clave son sus bytes.
    static Webhook verificador(String secreto) throws Exception {
        if (secreto.contains("\uFFFD")) {
            throw new IllegalArgumentException("Java no ha leído bien alguna letra del secreto: arranque con LANG=C.UTF-8");
        }
        return secreto.startsWith("whsec_") ? new Webhook(secreto) : new Webhook(secreto.getBytes(StandardCharsets.UTF_8));
    }

    // Comprueba la firma del cuerpo tal como llegó, y que `webhook-timestamp` no difiera en más de 5 minutos de la hora de aquí.
    static boolean esAutentico(String cuerpo, Map<String, List<String>> cabeceras) {
        for (Webhook webhook : verificadores) {
            try {
                webhook.verify(cuerpo, cabeceras);
                return true;
            } catch (WebhookVerificationException noEsDeEsteSecreto) {
                continue;
            }
        }
        return false;
    }

    // Guarda el aviso solo la primera vez que llega. En su programa: un INSERT en su base de datos, con `webhook-id` como
    // clave única, para no procesar dos veces una repetición ni perder avisos en un corte de luz.
    static void guardar(String identificador, String cuerpo) {
        if (vistos.add(identificador)) {
            aparte.execute(() -> intentar(identificador, cuerpo));
        }
    }

    // Se llama en otro hilo, para que la respuesta no espere. Ponga aquí lo que su programa haga con el aviso.
    static void procesar(String identificador, JsonObject aviso) {
        salida.println("procesado " + identificador + " " + aviso.get("evento").getAsString() + " "
            + aviso.get("data").getAsJsonObject());
    }

    // Procesa un aviso. Si falla, o si su JSON no se puede leer, escribe el fallo, que no detiene los avisos siguientes.
    static void intentar(String identificador, String cuerpo) {
        try {
            procesar(identificador, JsonParser.parseString(cuerpo).getAsJsonObject());
        } catch (Exception fallo) {
            errores.println("no se ha podido procesar " + identificador);
            fallo.printStackTrace(errores);
        }
    }

    static int atender(HttpExchange peticion) throws IOException {
        if (!peticion.getRequestMethod().equals("POST")) {
            return 405;
        }
        byte[] bytes = peticion.getRequestBody().readNBytes(MAXIMO + 1);
        if (bytes.length > MAXIMO) {
            return 413;
        }
        String cuerpo = new String(bytes, StandardCharsets.UTF_8);
        if (!esAutentico(cuerpo, peticion.getRequestHeaders())) {
            return 401;
        }
        guardar(peticion.getRequestHeaders().getFirst("webhook-id"), cuerpo);
        return 204;
    }

    // La cadena de certificados y la clave (PKCS #8, «BEGIN PRIVATE KEY») en PEM, como las deja certbot.
    static SSLContext tls(Path cadena, Path clave) throws Exception {
        Certificate[] certificados;
        try (var fichero = Files.newInputStream(cadena)) {
            certificados = CertificateFactory.getInstance("X.509").generateCertificates(fichero).toArray(new Certificate[0]);
        }
        String base64 = Files.readString(clave).replaceAll("-----[A-Z ]+-----", "");
        var privada = KeyFactory.getInstance(certificados[0].getPublicKey().getAlgorithm())
            .generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(base64)));
        var almacen = KeyStore.getInstance("PKCS12");
        almacen.load(null, null);
        almacen.setKeyEntry("receptor", privada, new char[0], certificados);
        var claves = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        claves.init(almacen, new char[0]);
        var contexto = SSLContext.getInstance("TLS");
        contexto.init(claves.getKeyManagers(), null, null);
        return contexto;
    }

    public static void main(String[] argumentos) throws Exception {
        verificadores.add(verificador(obligatoria("RECEPTOR_SECRETO")));
        // Mientras se cambia el secreto valen los dos: el nuevo y el anterior.
        String anterior = variable("RECEPTOR_SECRETO_ANTERIOR");
        if (!anterior.isEmpty()) {
            verificadores.add(verificador(anterior));
        }
        // Segundos para recibir una petición entera: quien envía poco a poco no ocupa un hilo para siempre.
        System.setProperty("sun.net.httpserver.maxReqTime", "20");
        int puerto = Integer.parseInt(System.getenv().getOrDefault("RECEPTOR_PUERTO", "8443"));
        var servidor = HttpsServer.create(new InetSocketAddress(puerto), 128);
        servidor.setHttpsConfigurator(
            new HttpsConfigurator(tls(Path.of(obligatoria("RECEPTOR_CERT")), Path.of(obligatoria("RECEPTOR_CLAVE")))));
        servidor.setExecutor(Executors.newCachedThreadPool());
        servidor.createContext("/", peticion -> {
            try (peticion) {
                peticion.sendResponseHeaders(atender(peticion), -1);
            }
        });
        servidor.start();
        salida.println("escuchando en el puerto " + puerto);
    }
}
