// El sistema de evaluación avisa de que se ha abierto una evaluación, y después mira qué fue de los avisos. Java 17 o posterior.
//
//   mvn dependency:copy-dependencies
//   java -cp 'target/dependency/*' Evaluacion.java abrir 42 'Convocatoria 2026' 7 8 9     la evaluación 42, a las entidades 7, 8 y 9
//   java -cp 'target/dependency/*' Evaluacion.java abrir-lote 42 'Convocatoria 2026' 7 8 9   lo mismo, con una sentencia para todas
//   java -cp 'target/dependency/*' Evaluacion.java ver 42
//
// Se conecta a EVALUACION_URL, como «jdbc:mariadb://localhost/apientidades», con EVALUACION_USUARIO y EVALUACION_CONTRASENA
// (vacía, si el servidor reconoce al usuario por el socket).

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;

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

    static Connection conectar() throws SQLException {
        var opciones = new Properties();
        opciones.put("user", System.getenv().getOrDefault("EVALUACION_USUARIO", "evaluacion"));
        opciones.put("password", obligatoria("EVALUACION_CONTRASENA"));
        // Sin el modo estricto, un valor que no cabe se cambia por otro sin avisar. (Este controlador habla siempre utf8mb4.)
        opciones.put("sessionVariables", "sql_mode='STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'");
        Connection conexion = DriverManager.getConnection(obligatoria("EVALUACION_URL"), opciones);
        // Con el nivel de aislamiento de serie, una transacción abierta puede retrasar los avisos de todas las entidades.
        conexion.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        return conexion;
    }

    // Una fila por entidad. Si la clave ya se usó, esta entidad ya está avisada: un proceso que se repite no avisa dos veces.
    static void avisar(Connection conexion, long entidad, String evento, JsonObject datos, String clave) throws SQLException {
        try (var llamada = conexion.prepareStatement("CALL avisar(?, ?, ?, ?)")) {
            llamada.setLong(1, entidad);
            llamada.setString(2, evento);
            llamada.setString(3, datos.toString());
            llamada.setString(4, clave);
            var fila = llamada.executeQuery();
            fila.next();
            if (fila.getBoolean("conocida")) {
                salida.println("entidad " + entidad + ": ya estaba avisada");
            }
        }
    }

    // Todos en una sentencia. Uno que se rechazaría no se escribe, y no impide los demás. Como mucho 10.000 en cada transacción.
    static void avisarLote(Connection conexion, List<Long> entidades, String evento, JsonObject datos, String clave) throws SQLException {
        var avisos = new JsonArray();
        for (long entidad : entidades.stream().sorted().toList()) { // en este orden, dos procesos no se bloquean uno a otro
            var aviso = new JsonObject();
            aviso.addProperty("entidad_id", entidad);
            aviso.addProperty("evento", evento);
            aviso.addProperty("datos", datos.toString()); // en el lote es un texto
            aviso.addProperty("clave", clave);
            avisos.add(aviso);
        }
        try (var llamada = conexion.prepareStatement("CALL avisar_lote(?)")) {
            llamada.setString(1, avisos.toString());
            var fila = llamada.executeQuery();
            fila.next();
            var resultados = JsonParser.parseString(fila.getString(1)).getAsJsonArray();
            for (int i = 0; i < avisos.size(); i++) {
                String entidad = avisos.get(i).getAsJsonObject().get("entidad_id").getAsString();
                var resultado = resultados.get(i).getAsJsonObject();
                if (resultado.has("conocida")) {
                    salida.println("entidad " + entidad + ": ya estaba avisada");
                } else if (resultado.has("motivo")) {
                    salida.println("entidad " + entidad + ": no se la avisa; " + resultado.get("motivo").getAsString());
                }
            }
        }
    }

    // Todo en una transacción: si algo falla no se abre la evaluación, ni se avisa a nadie.
    static void abrir(Connection conexion, long evaluacion, String titulo, List<Long> entidades, boolean enLote) throws SQLException {
        var datos = new JsonObject();
        datos.addProperty("evaluacionId", evaluacion);
        datos.addProperty("titulo", titulo);
        conexion.setAutoCommit(false);
        try {
            // Aquí van los cambios de su programa: UPDATE mis_evaluaciones SET estado = 'abierta' WHERE id = …
            if (enLote) {
                avisarLote(conexion, entidades, "evaluacion.abierta", datos, "abierta-" + evaluacion);
            } else {
                for (long entidad : entidades) {
                    avisar(conexion, entidad, "evaluacion.abierta", datos, "abierta-" + evaluacion);
                }
            }
            conexion.commit();
        } catch (SQLException | RuntimeException error) {
            conexion.rollback();
            throw error;
        }
    }

    static void ver(Connection conexion, long evaluacion) throws SQLException {
        String consulta = """
            SELECT entidad_id, estado, webhooks, entregadas, ultimo_error FROM notificaciones_resultado
            WHERE evento = 'evaluacion.abierta' AND ocurrida_en >= UTC_TIMESTAMP() - INTERVAL 30 DAY AND clave = ?
            ORDER BY entidad_id""";
        try (var filas = conexion.prepareStatement(consulta)) {
            filas.setString(1, "abierta-" + evaluacion);
            var fila = filas.executeQuery();
            while (fila.next()) {
                String error = fila.getString("ultimo_error");
                salida.println("entidad " + fila.getLong("entidad_id") + ": " + fila.getString("estado") + ", " + fila.getInt("entregadas")
                    + " de " + fila.getInt("webhooks") + " entregadas" + (error == null ? "" : "; " + error));
            }
        }
    }

    public static void main(String[] argumentos) throws SQLException {
        long evaluacion = Long.parseLong(argumentos[1]);
        try (var conexion = conectar()) {
            if (argumentos[0].equals("ver")) {
                ver(conexion, evaluacion);
            } else {
                var entidades = Arrays.stream(argumentos).skip(3).map(Long::parseLong).toList();
                abrir(conexion, evaluacion, argumentos[2], entidades, argumentos[0].equals("abrir-lote"));
            }
        }
    }
}
