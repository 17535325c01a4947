// Writes a notification for each instant with each of Java's lines in docs/drivers.md: java … Escritores.java ENTITY INSTANT…
// A row's clave is the line's name and the instant.

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.MappedSuperclass;
import jakarta.persistence.Table;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Calendar;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import java.util.function.Function;
import org.hibernate.SessionFactory;
import org.hibernate.boot.registry.BootstrapServiceRegistryBuilder;
import org.hibernate.cfg.Configuration;

public class Escritores {
    static final Calendar UTC = Calendar.getInstance(TimeZone.getTimeZone("UTC"));
    static final String URL = System.getenv("EVALUACION_URL");
    static final String PASSWORD = System.getenv("EVALUACION_CONTRASENA");
    static long entity;

    interface Line {
        void set(PreparedStatement fila, Instant instante) throws Exception;
    }

    static Map<String, Line> jdbc() {
        var lines = new LinkedHashMap<String, Line>();
        lines.put("JDBC Timestamp", (fila, instante) -> fila.setTimestamp(1, Timestamp.from(instante), UTC));
        lines.put("JDBC Instant", (fila, instante) -> fila.setObject(1, LocalDateTime.ofInstant(instante, ZoneOffset.UTC)));
        return lines;
    }

    static void writeWithJdbc(List<Instant> instants) throws Exception {
        String url = URL + "&transactionIsolation=READ_COMMITTED";
        try (Connection connection = DriverManager.getConnection(url, "evaluacion", PASSWORD);
                var row = connection.prepareStatement("INSERT INTO notificaciones_pendientes (ocurrida_en, entidad_id, clave, evento, datos)"
                        + " VALUES (?, ?, ?, 'incidencia.cerrada', '{}')");
                var llamada = connection.prepareStatement("CALL avisar_con_hora(?, 'incidencia.cerrada', '{}', ?, ?)")) {
            tellIsolation("JDBC", connection);
            for (var instante : instants) {
                for (var line : jdbc().entrySet()) {
                    line.getValue().set(row, instante);
                    row.setLong(2, entity);
                    row.setString(3, line.getKey() + " " + instante);
                    row.execute();
                }
                llamada.setLong(1, entity);
                llamada.setString(2, "JDBC avisar_con_hora " + instante);
                llamada.setString(3, instante.toString());
                llamada.execute();
                llamada.setString(2, "JDBC avisar_con_hora, local " + instante);
                llamada.setString(3, instante.atZone(ZoneId.systemDefault()).toOffsetDateTime().toString());
                llamada.execute();
            }
        }
    }

    static void tellIsolation(String name, Connection connection) throws SQLException {
        boolean right = connection.getTransactionIsolation() == Connection.TRANSACTION_READ_COMMITTED;
        System.out.println("isolation " + name + " " + (right ? "READ-COMMITTED" : "other"));
    }

    @MappedSuperclass
    static class Row {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @Column(name = "entidad_id") long entidadId = entity;
        String evento = "incidencia.cerrada";
        String datos = "{}";
        String clave;
    }

    @Entity @Table(name = "notificaciones_pendientes")
    static class RowOfDate extends Row {
        @Column(name = "ocurrida_en") Date ocurridaEn;
    }

    @Entity @Table(name = "notificaciones_pendientes")
    static class RowOfInstant extends Row {
        @Column(name = "ocurrida_en") Instant ocurridaEn;
    }

    @Entity @Table(name = "notificaciones_pendientes")
    static class RowOfLocalDateTime extends Row {
        @Column(name = "ocurrida_en") LocalDateTime ocurridaEn;
    }

    static SessionFactory factory(boolean withZone) {
        var classes = new BootstrapServiceRegistryBuilder().applyClassLoader(Escritores.class.getClassLoader()).build();
        var ajustes = new Configuration(classes).addAnnotatedClass(RowOfDate.class).addAnnotatedClass(RowOfInstant.class)
                .addAnnotatedClass(RowOfLocalDateTime.class)
                .setProperty("hibernate.connection.url", URL).setProperty("hibernate.connection.username", "evaluacion")
                .setProperty("hibernate.connection.password", PASSWORD);
        ajustes.setProperty("hibernate.connection.isolation", "2");
        if (withZone) {
            ajustes.setProperty("hibernate.jdbc.time_zone", "UTC");
        }
        return ajustes.buildSessionFactory();
    }

    static Row withDate(Instant instante) {
        var aviso = new RowOfDate();
        aviso.ocurridaEn = Date.from(instante);
        return aviso;
    }

    static Row withInstant(Instant instante) {
        var aviso = new RowOfInstant();
        aviso.ocurridaEn = instante;
        return aviso;
    }

    static Row withLocal(Instant instante) {
        var aviso = new RowOfLocalDateTime();
        aviso.ocurridaEn = LocalDateTime.ofInstant(instante, ZoneId.systemDefault());
        return aviso;
    }

    static Row withLocalInUtc(Instant instante) {
        var aviso = new RowOfLocalDateTime();
        aviso.ocurridaEn = LocalDateTime.ofInstant(instante, ZoneOffset.UTC);
        return aviso;
    }

    static final Map<String, Function<Instant, Row>> WITH_ZONE =
            Map.of("Date", Escritores::withDate, "Instant", Escritores::withInstant, "LocalDateTime", Escritores::withLocal);
    static final Map<String, Function<Instant, Row>> WITHOUT_ZONE =
            Map.of("Instant, no setting", Escritores::withInstant, "LocalDateTime, no setting", Escritores::withLocalInUtc);

    static void writeWithHibernate(boolean withZone, List<Instant> instants) {
        try (var factory = factory(withZone)) {
            factory.inTransaction(session -> {
                session.doWork(connection -> tellIsolation("Hibernate", connection));
                for (var instant : instants) {
                    for (var line : (withZone ? WITH_ZONE : WITHOUT_ZONE).entrySet()) {
                        var row = line.getValue().apply(instant);
                        row.clave = "Hibernate " + line.getKey() + " " + instant;
                        session.persist(row);
                    }
                }
            });
        }
    }

    public static void main(String[] arguments) throws Exception {
        entity = Long.parseLong(arguments[0]);
        var instants = Arrays.stream(arguments).skip(1).map(Instant::parse).toList();
        writeWithJdbc(instants);
        writeWithHibernate(false, instants);
        writeWithHibernate(true, instants);
    }
}
