// El sistema de evaluación, en Spring Boot, avisa de que se ha abierto una evaluación, y después mira qué fue de los avisos.
// Java 17 o posterior.
//
//   mvn dependency:copy-dependencies
//   java -cp 'target/dependency/*' Evaluacion.java abrir 42 'Convocatoria 2026' 7 8 9     la evaluación 42, a las entidades 7, 8 y 9
//   java -cp 'target/dependency/*' Evaluacion.java ver 42
//
// Se conecta a EVALUACION_URL, como «jdbc:mariadb://localhost/apientidades», con EVALUACION_USUARIO y EVALUACION_CONTRASENA
// (vacía, si el servidor reconoce al usuario por el socket). Con Spring Data JPA, vea el ejemplo de Hibernate: `sesion` es
// entityManager.unwrap(Session.class).

import com.google.gson.JsonObject;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.support.TransactionTemplate;

@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@Import(Evaluacion.Avisos.class)
public class Evaluacion {
    static final PrintStream salida = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    static final PrintStream errores = new PrintStream(System.err, true, StandardCharsets.UTF_8);

    static String obligatoria(String nombre) {
        String valor = System.getenv(nombre);
        if (valor == null) {
            errores.println("falta " + nombre + ": póngala como dicen las primeras líneas de Evaluacion.java");
            System.exit(1);
        }
        return valor;
    }

    // En una aplicación, esto va en application.properties.
    static Map<String, Object> ajustes() {
        return Map.of(
            "spring.datasource.password", obligatoria("EVALUACION_CONTRASENA"),
            "spring.datasource.url", obligatoria("EVALUACION_URL"),
            "spring.datasource.username", System.getenv().getOrDefault("EVALUACION_USUARIO", "evaluacion"),
            // Con el nivel de aislamiento de serie, una transacción abierta puede retrasar los avisos de todas las entidades.
            "spring.datasource.hikari.transaction-isolation", "TRANSACTION_READ_COMMITTED",
            // Sin el modo estricto, un valor que no cabe se cambia por otro sin avisar. (Este controlador habla siempre utf8mb4.)
            "spring.datasource.hikari.connection-init-sql",
            "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
            "logging.level.root", "WARN");
    }

    @Service
    static class Avisos {
        private final JdbcClient base;
        private final TransactionTemplate transaccion;

        Avisos(JdbcClient base, TransactionTemplate transaccion) {
            this.base = base;
            this.transaccion = transaccion;
        }

        // Todo en una transacción: si algo falla no se abre la evaluación, ni se avisa a nadie. Con @Transactional es lo mismo.
        void abrir(long evaluacion, String titulo, List<String> entidades) {
            transaccion.executeWithoutResult(estado -> {
                // Aquí van los cambios de su programa: evaluaciones.findById(evaluacion).orElseThrow().abrir();
                for (String entidad : entidades) {
                    var datos = new JsonObject();
                    datos.addProperty("evaluacionId", evaluacion);
                    datos.addProperty("titulo", titulo);
                    avisar(Long.parseLong(entidad), "evaluacion.abierta", datos, "abierta-" + evaluacion);
                }
            });
        }

        // Una fila por entidad. Si la clave ya se usó, esta entidad ya está avisada: un proceso que se repite no avisa dos veces.
        private void avisar(long entidad, String evento, JsonObject datos, String clave) {
            boolean conocida = base.sql("CALL avisar(?, ?, ?, ?)").params(entidad, evento, datos.toString(), clave)
                .query((fila, numero) -> fila.getBoolean("conocida")).single();
            if (conocida) {
                salida.println("entidad " + entidad + ": ya estaba avisada");
            }
        }

        void ver(long evaluacion) {
            base.sql("""
                SELECT entidad_id, estado, webhooks, entregadas, ultimo_error FROM notificaciones_resultado
                WHERE evento = 'evaluacion.abierta' AND ocurrida_en >= UTC_TIMESTAMP() - INTERVAL 30 DAY AND clave = ?
                ORDER BY entidad_id""").param("abierta-" + evaluacion).query(fila -> {
                    String error = fila.getString("ultimo_error");
                    salida.println("entidad " + fila.getLong("entidad_id") + ": " + fila.getString("estado") + ", " + fila.getInt("entregadas")
                        + " de " + fila.getInt("webhooks") + " entregadas" + (error == null ? "" : "; " + error));
                });
        }
    }

    public static void main(String[] argumentos) {
        long evaluacion = Long.parseLong(argumentos[1]);
        var aplicacion = new SpringApplicationBuilder(Evaluacion.class).web(WebApplicationType.NONE).bannerMode(Banner.Mode.OFF)
            .properties(ajustes());
        try (var contexto = aplicacion.run()) {
            var avisos = contexto.getBean(Avisos.class);
            if (argumentos[0].equals("abrir")) {
                avisos.abrir(evaluacion, argumentos[2], Arrays.asList(argumentos).subList(3, argumentos.length));
            } else {
                avisos.ver(evaluacion);
            }
        }
    }
}
