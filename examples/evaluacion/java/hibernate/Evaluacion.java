// El sistema de evaluación, con Hibernate, avisa de que se ha abierto una evaluación, y después mira qué fue de los avisos.
// Java 17 o posterior.
//
//   mvn dependency:copy-dependencies
//   java -cp 'target/dependency/*' Evaluacion.java abrir 42 'Convocatoria 2026' 7 8 9     la evaluación 42, a las entidades 7, 8 y 9
//   java -cp 'target/dependency/*' Evaluacion.java ver 42
//
// Se conecta a EVALUACION_URL, como «jdbc:mariadb://localhost/apientidades», con EVALUACION_USUARIO y EVALUACION_CONTRASENA
// (vacía, si el servidor reconoce al usuario por el socket). En Spring, `sesion` es entityManager.unwrap(Session.class), y
// @Transactional hace las veces de inTransaction.

import com.google.gson.JsonObject;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.Immutable;
import org.hibernate.boot.registry.BootstrapServiceRegistryBuilder;
import org.hibernate.cfg.Configuration;

public class Evaluacion {
    static final PrintStream salida = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    static final PrintStream errores = new PrintStream(System.err, true, StandardCharsets.UTF_8);

    @Entity(name = "Resultado") @Immutable @Table(name = "notificaciones_resultado") // una vista del servicio: no se escribe
    static class Resultado {
        @Id @Column(name = "notificacion_id") long id;
        @Column(name = "entidad_id") long entidad;
        String evento;
        String clave;
        @Column(name = "ocurrida_en") Instant ocurridaEn;
        String estado;
        int webhooks;
        int entregadas;
        @Column(name = "ultimo_error") String ultimoError;
    }

    static String obligatoria(String nombre) {
        String valor = System.getenv(nombre);
        if (valor == null) {
            errores.println("falta " + nombre + ": póngala como dicen las primeras líneas de Evaluacion.java");
            System.exit(1);
        }
        return valor;
    }

    static SessionFactory conectar() {
        var clases = new BootstrapServiceRegistryBuilder().applyClassLoader(Evaluacion.class.getClassLoader()).build();
        return new Configuration(clases).addAnnotatedClass(Resultado.class)
            .setProperty("hibernate.connection.password", obligatoria("EVALUACION_CONTRASENA"))
            .setProperty("hibernate.connection.url", obligatoria("EVALUACION_URL"))
            .setProperty("hibernate.connection.username", System.getenv().getOrDefault("EVALUACION_USUARIO", "evaluacion"))
            // Sin el modo estricto, un valor que no cabe se cambia por otro sin avisar. (Este controlador habla siempre utf8mb4.)
            .setProperty("hibernate.connection.sessionVariables",
                "sql_mode='STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'")
            // READ COMMITTED. Con el nivel de serie, una transacción abierta puede retrasar los avisos de todas las entidades.
            .setProperty("hibernate.connection.isolation", "2")
            .setProperty("hibernate.jdbc.time_zone", "UTC")
            .buildSessionFactory();
    }

    // Una fila por entidad. Si la clave ya se usó, esta entidad ya está avisada: un proceso que se repite no avisa dos veces.
    // Con `persist`, una clave usada anularía la transacción entera.
    static void avisar(Session sesion, long entidad, String evento, JsonObject datos, String clave) {
        boolean conocida = sesion.createNativeQuery("CALL avisar(?1, ?2, ?3, ?4)", Boolean.class)
            .addScalar("conocida", Boolean.class) // sin esto, unos controladores dan un Boolean y otros un número
            .setParameter(1, entidad).setParameter(2, evento).setParameter(3, datos.toString()).setParameter(4, clave)
            .getSingleResult();
        if (conocida) {
            salida.println("entidad " + entidad + ": ya estaba avisada");
        }
    }

    // Todo en una transacción: si algo falla no se abre la evaluación, ni se avisa a nadie.
    static void abrir(SessionFactory fabrica, long evaluacion, String titulo, List<String> entidades) {
        fabrica.inTransaction(sesion -> {
            // Aquí van los cambios de su programa: sesion.find(MiEvaluacion.class, evaluacion).estado = "abierta";
            for (String entidad : entidades) {
                var datos = new JsonObject();
                datos.addProperty("evaluacionId", evaluacion);
                datos.addProperty("titulo", titulo);
                avisar(sesion, Long.parseLong(entidad), "evaluacion.abierta", datos, "abierta-" + evaluacion);
            }
        });
    }

    static void ver(SessionFactory fabrica, long evaluacion) {
        String consulta = "from Resultado where evento = 'evaluacion.abierta' and ocurridaEn >= ?1 and clave = ?2 order by entidad";
        fabrica.inSession(sesion -> {
            var filas = sesion.createQuery(consulta, Resultado.class)
                .setParameter(1, Instant.now().minus(Duration.ofDays(30))).setParameter(2, "abierta-" + evaluacion).list();
            for (var fila : filas) {
                salida.println("entidad " + fila.entidad + ": " + fila.estado + ", " + fila.entregadas + " de " + fila.webhooks
                    + " entregadas" + (fila.ultimoError == null ? "" : "; " + fila.ultimoError));
            }
        });
    }

    public static void main(String[] argumentos) {
        long evaluacion = Long.parseLong(argumentos[1]);
        try (var fabrica = conectar()) {
            if (argumentos[0].equals("abrir")) {
                abrir(fabrica, evaluacion, argumentos[2], Arrays.asList(argumentos).subList(3, argumentos.length));
            } else {
                ver(fabrica, evaluacion);
            }
        }
    }
}
