"""The rights of each program's database user (sql/grants). An intruder in a program gets no more than these (OWASP API5)."""
import contextlib
import shutil
from pathlib import Path

import pytest

from support.actors import BASE
from support.setup_database import SetupDatabase
from support.sql import SqlError, SqlSession
from support.stack import ROOT

DENIED = (1044, 1142, 1143, 1227, 1370)
FORBIDDEN = {
    "api": [
        "INSERT INTO tokens_acceso (entidad_id, hash) VALUES (1, REPEAT('x', 32))",
        "UPDATE tokens_acceso SET caduca = NULL", "DELETE FROM tokens_acceso",
        "INSERT INTO entidades (id, nombre) VALUES (1, 'x')", "UPDATE entidades SET activa = 1",
        "UPDATE webhooks SET entidad_id = 1", "UPDATE webhooks SET fecha_alta = NOW()", "DELETE FROM webhooks",
        "SELECT * FROM auditoria", "UPDATE auditoria SET detalle = ''", "UPDATE auditoria SET ocurrida_en = NOW()", "DELETE FROM auditoria",
        "SELECT * FROM pruebas_por_borrar", "DELETE FROM pruebas_por_borrar", "DELETE FROM cambios_webhook",
        "UPDATE notificaciones_pendientes SET datos = '{}'", "DELETE FROM notificaciones_pendientes",
        "UPDATE entregas SET estado = 'cancelada'", "DELETE FROM entregas", "UPDATE intentos_entrega SET error = ''",
        "UPDATE control_envio SET pausada = 1", "UPDATE webhook_ejecuciones SET ultimo_error = 'x'",
        "DELETE FROM altas_webhook", "UPDATE codigos_pedidos SET pedido_en = NOW()", "UPDATE claves_idempotencia SET webhook_id = 1",
        "SELECT rechazo FROM contactos", "UPDATE contactos SET correo = 'x@ejemplo.es'", "UPDATE contactos SET entidad_id = 1",
        "INSERT INTO contactos (entidad_id, plaza, correo, avisos, confirmado_en) VALUES (1, 1, 'x@ejemplo.es', '', NOW())",
        "INSERT INTO claves_idempotencia (entidad_id, clave, webhook_id, cuerpo_clave, cuerpo_huella, respuesta, creada_en)"
        " VALUES (1, 'k', 1, 'k', 'h', '', NOW())", "SELECT secreto_sellado FROM webhooks", "SELECT secreto_b_sellado FROM webhooks",
        "SELECT clave FROM notificaciones_pendientes", "SELECT error FROM notificaciones_pendientes",
        "INSERT INTO notificaciones_pendientes (id, entidad_id, evento, datos) VALUES (1, 1, 'evaluacion.abierta', '{}')",
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave) VALUES (1, 'evaluacion.abierta', '{}', 'x')",
        "INSERT INTO entregas (notificacion_id, webhook_id, estado, proximo_intento, creada_en, paso)"
        " VALUES (1, 1, 'pendiente', NOW(), NOW(), 1)",
        "SELECT arriendo FROM entregas", "UPDATE entregas SET entregada_en = NOW()", "SELECT fecha_alta FROM tokens_acceso",
        "SELECT adelantar_en FROM webhook_ejecuciones", "SELECT notificacion_id FROM notificaciones_anuladas",
        "INSERT INTO reenvios_entregas (reenvio_id, entrega_id, intentos_antes) VALUES (1, 1, 0)", "DELETE FROM reenvios",
        "UPDATE reenvios SET tope = 1", "UPDATE entregas SET reenviada = 1",
        "SELECT arriendo FROM diagnosticos", "UPDATE diagnosticos SET entidad_id = 1", "DELETE FROM diagnosticos",
        "INSERT INTO webhooks (id, entidad_id, url, eventos) VALUES (1, 1, 'https://x.example.com/', 'evaluacion.abierta')",
        "INSERT INTO webhooks (entidad_id, url, eventos, activo) VALUES (1, 'https://x.example.com/', 'evaluacion.abierta', 1)",
    ],
    "dispatcher": [
        "SELECT * FROM tokens_acceso", "UPDATE entidades SET activa = 1",
        "UPDATE webhooks SET url = 'https://x.example.com/'",
        "UPDATE webhooks SET secreto_vigente = 'b'", "UPDATE webhooks SET secreto_huella = NULL", "UPDATE webhooks SET entidad_id = 1",
        "INSERT INTO webhooks (entidad_id, url, eventos) VALUES (1, 'https://x.example.com/', 'evaluacion.abierta')",
        "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES (1, 'evaluacion.abierta', '{}')",
        "INSERT INTO reenvios (entidad_id, webhook_id, candidatas, tope) VALUES (1, 1, 1, 1)", "UPDATE reenvios SET webhook_id = 1",
        "INSERT INTO diagnosticos (webhook_id, entidad_id, entidad_nombre) VALUES (1, 1, 'x')", "UPDATE diagnosticos SET entidad_id = 1",
        "INSERT INTO notificaciones_anuladas (notificacion_id) VALUES (1)", "SELECT motivo FROM notificaciones_anuladas",
        "SELECT * FROM altas_webhook", "SELECT * FROM codigos_pedidos", "SELECT respuesta FROM claves_idempotencia", "SELECT cuerpo_huella FROM claves_idempotencia",
        "SELECT correo FROM contactos", "SELECT error FROM avisos", "SELECT detalle FROM auditoria", "INSERT INTO cambios_webhook VALUES (1, 1, 0)", "UPDATE intentos_entrega SET error = ''", "UPDATE control_envio SET pausada = 1",
        "SELECT nombre FROM entidades", "UPDATE notificaciones_pendientes SET datos = '{}'",
        "UPDATE notificaciones_pendientes SET entidad_id = 1", "UPDATE notificaciones_pendientes SET evento = 'evaluacion.abierta'",
        "UPDATE notificaciones_pendientes SET clave = NULL", "UPDATE notificaciones_pendientes SET ocurrida_en = NOW()",
        "UPDATE entregas SET webhook_id = 1", "UPDATE entregas SET notificacion_id = 1", "UPDATE entregas SET creada_en = NOW()",
        "INSERT INTO entregas (id, notificacion_id, webhook_id, estado, proximo_intento, creada_en)"
        " VALUES (1, 1, 1, 'pendiente', NOW(), NOW())",
    ],
    "notices": [
        "SELECT hash FROM tokens_acceso", "UPDATE tokens_acceso SET caduca = NULL", "SELECT secreto_sellado FROM webhooks",
        "SELECT secreto_b_sellado FROM webhooks", "SELECT datos FROM notificaciones_pendientes", "SELECT * FROM auditoria",
        "UPDATE webhooks SET activo = 1", "UPDATE webhook_ejecuciones SET fallos = 0", "UPDATE contactos SET correo = 'x@y'",
        "UPDATE contactos SET confirmado_en = NOW()", "DELETE FROM contactos", "INSERT INTO contactos (entidad_id, plaza, correo) VALUES (1, 1, 'a@b')",
        "UPDATE entregas SET estado = 'cancelada'", "SELECT ultimo_error FROM entregas", "SELECT * FROM intentos_entrega",
        "UPDATE reloj_visto SET salto_ms = 0", "DELETE FROM cortes_envio", "SELECT * FROM diagnosticos"],
}
MISSING = "a trigger of notificaciones_pendientes is missing or is not as sql/grants/triggers.sql makes it"
FORBIDDEN_TO_ADMIN = [
    "UPDATE auditoria SET detalle = ''", "DELETE FROM auditoria", "TRUNCATE TABLE auditoria", "DROP TABLE auditoria",
    "REPLACE INTO auditoria (id, accion, detalle) VALUES (1, 'x', '{}')", "ALTER TABLE auditoria RENAME TO otra",
    "INSERT INTO auditoria (id, accion, detalle) VALUES (1, 'x', '{}') ON DUPLICATE KEY UPDATE detalle = ''",
    "SET GLOBAL max_connections = 1", "SELECT * FROM mysql.user", "GRANT DELETE ON auditoria TO 'apientidades_admin'@'localhost'"]
FORBIDDEN_TO_BOTH = ["CREATE TABLE mia (a INT)", "DROP TABLE webhooks", "ALTER TABLE webhooks ADD mia INT",
                     "SELECT * FROM mysql.global_priv", "SET GLOBAL max_connections = 1",
                     "GRANT SELECT ON *.* TO 'apientidades_api'@'localhost'",
                     "SELECT * FROM webhooks INTO OUTFILE '/tmp/apie-robado'", "SELECT * FROM mysql.user"]


@pytest.mark.parametrize("user, statement", [
    (user, statement) for user in FORBIDDEN for statement in FORBIDDEN[user] + FORBIDDEN_TO_BOTH] + [
    ("admin", statement) for statement in FORBIDDEN_TO_ADMIN])
def test_a_program_may_do_no_more_than_its_work(stack, user, statement):
    password = Path(stack.env["SECRETS_DIR"], f"{user}.password").read_text().strip()
    session = SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], f"apientidades_{user}", password)
    try:
        with pytest.raises(SqlError) as caught:
            session(statement)
        assert caught.value.code in DENIED + (1045,), caught.value
    finally:
        session.close()


def test_the_operator_may_change_every_table_but_the_audit(stack):
    """A migration that makes a table needs a grant for the table in sql/grants/admin.sql."""
    tables = {row[0] for row in stack.sql("SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
                                          " AND table_type = 'BASE TABLE'")}
    changed = {row[0] for row in stack.sql(
        "SELECT table_name FROM information_schema.table_privileges WHERE table_schema = DATABASE() AND privilege_type = 'DELETE'"
        " AND grantee = \"'apientidades_admin'@'localhost'\"")}
    assert tables - changed == {"auditoria"} and changed <= tables


def hosts_of(stack, user):
    return [row[0] for row in stack.sql(f"SELECT host FROM mysql.user WHERE user = '{user}' ORDER BY host")]


def test_an_upgrade_grants_to_the_evaluation_system_where_it_connects_from(stack, tmp_path):
    """An upgrade runs without --evaluation-from, and must not assume localhost: a new user evaluacion@localhost without a password
    would let every local user write notifications."""
    stack.sql("RENAME USER evaluacion@localhost TO evaluacion@'10.0.1.7'")
    try:
        stack.sql("REVOKE SELECT ON notificaciones_resultado FROM evaluacion@'10.0.1.7'")
        SetupDatabase(stack, tmp_path)("--user", "root", "--upgrade")
        assert hosts_of(stack, "evaluacion") == ["10.0.1.7"]
        assert "notificaciones_resultado" in str(stack.sql("SHOW GRANTS FOR evaluacion@'10.0.1.7'"))
    finally:
        stack.sql("DROP USER IF EXISTS evaluacion@localhost; RENAME USER evaluacion@'10.0.1.7' TO evaluacion@localhost")


def test_an_upgrade_replaces_triggers_of_another_text(stack, tmp_path):
    """The triggers of an earlier release have the same names, and guard less."""
    texts = "SELECT action_statement FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY trigger_name"
    before = stack.sql(texts)
    stack.sql("DROP TRIGGER numero_lo_pone_el_servidor; CREATE DEFINER = apientidades_triggers@localhost"
              " TRIGGER numero_lo_pone_el_servidor BEFORE INSERT ON notificaciones_pendientes FOR EACH ROW DO 0")
    assert stack.sql(texts) != before
    assert MISSING in stack.try_admin("config", "check").stderr
    SetupDatabase(stack, tmp_path)("--user", "root", "--upgrade")
    assert stack.sql(texts) == before
    assert MISSING not in stack.try_admin("config", "check").stderr


def test_a_trigger_of_another_event_does_not_count(stack, tmp_path):
    body, = stack.sql("SELECT action_statement FROM information_schema.triggers WHERE trigger_name = 'numero_no_es_cero'")[0]
    body = body.replace("\\n", "\n")
    for event in ("AFTER UPDATE", "BEFORE INSERT"):  # in place of AFTER INSERT
        stack.sql("DELIMITER //\nDROP TRIGGER numero_no_es_cero//\nCREATE DEFINER = apientidades_triggers@localhost TRIGGER"
                  f" numero_no_es_cero {event} ON notificaciones_pendientes FOR EACH ROW {body}//\nDELIMITER ;\nDO 0")
        assert MISSING in stack.try_admin("config", "check").stderr
    SetupDatabase(stack, tmp_path)("--user", "root", "--upgrade")
    assert MISSING not in stack.try_admin("config", "check").stderr


def test_without_the_right_the_triggers_are_not_called_missing(stack):
    on_table = "TRIGGER ON notificaciones_pendientes {} apientidades_admin@localhost"
    stack.sql("REVOKE " + on_table.format("FROM"))
    try:
        said = stack.try_admin("config", "check").stderr
        assert "the triggers of notificaciones_pendientes could not be checked: this account lacks the right TRIGGER" in said
        assert MISSING not in said
    finally:
        stack.sql("GRANT " + on_table.format("TO"))


def test_an_upgrade_leaves_the_triggers_alone_where_they_are_right(stack, tmp_path):
    """To make a trigger waits for a backup's lock, and every INSERT waits behind it."""
    made = "SELECT created FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY trigger_name"
    before = stack.sql(made)
    SetupDatabase(stack, tmp_path)("--user", "root", "--upgrade")
    assert len(before) == 3 and stack.sql(made) == before


def test_an_upgrade_replaces_only_routines_that_are_missing_or_have_another_text(stack, tmp_path):
    texts = "SELECT routine_name, routine_definition FROM information_schema.routines WHERE routine_schema = DATABASE() ORDER BY 1"
    made = texts.replace("routine_definition", "last_altered")
    setup = SetupDatabase(stack, tmp_path)
    setup("--user", "root", "--upgrade")  # the private stack's routines have no checksum
    before, moment = stack.sql(texts), stack.sql(made)
    setup("--user", "root", "--upgrade")
    assert len(before) > 3 and stack.sql(made) == moment
    for damage in ("DROP VIEW notificaciones_comprobadas", "DROP VIEW destinatarios", "DROP PROCEDURE avisar",
                   "DROP FUNCTION es_fecha; CREATE DEFINER = apientidades_triggers@localhost FUNCTION es_fecha(texto LONGTEXT)"
                   " RETURNS BOOLEAN DETERMINISTIC RETURN FALSE"):
        stack.sql(damage)
        setup("--user", "root", "--upgrade")
        assert stack.sql(texts) == before
        for view in ("notificaciones_comprobadas", "destinatarios"):
            assert stack.evaluation(f"SELECT COUNT(*) >= 0 FROM {view}") == [["1"]]
        stack.evaluation("CALL avisar_lote('[]')")


def test_who_may_not_grant_process_makes_all_the_rest_once(stack, tmp_path):
    grants = tmp_path / "grants"
    shutil.copytree(ROOT / "sql/grants", grants)
    file = grants / "sessions.sql"
    file.write_text("SIGNAL SQLSTATE '42000' SET MESSAGE_TEXT = 'access denied';\n" + file.read_text().replace("segundos", "segundo"))
    (tmp_path / "setup").mkdir()
    setup = SetupDatabase(stack, tmp_path / "setup")
    setup.script.write_text(setup.script.read_text().replace(f"GRANTS={ROOT}/sql/grants", f"GRANTS={grants}"))
    made = ("SELECT routine_name, last_altered FROM information_schema.routines WHERE routine_schema = DATABASE()"
            " AND routine_name NOT IN ('espera_de_las_inserciones', 'sesion_con_bloqueos') ORDER BY 1")
    told = setup("--user", "root")
    assert "takes an administrator who may grant PROCESS" in told.stdout + told.stderr and "done:" in told.stdout + told.stderr
    moment = stack.sql(made)
    setup("--user", "root")
    assert len(moment) > 3 and stack.sql(made) == moment


def test_an_upgrade_beside_a_transaction_leaves_every_routine_and_right(stack, tmp_path):
    setup = SetupDatabase(stack, tmp_path)
    stack.sql("ALTER FUNCTION motivo_de_rechazo COMMENT 'of an older release'")
    with contextlib.closing(stack.writer()) as session:
        session("START TRANSACTION")
        session("SELECT motivo_de_rechazo(1, 'evaluacion.abierta', '{}', NULL)")
        held = f"| {session('SELECT CONNECTION_ID()')[0][0]} | evaluacion |"
        upgraded = setup("--user", "root", "--upgrade", check=False)  # the programs can be restarted
        assert upgraded.returncode == 0 and held in upgraded.stderr and "run again" in upgraded.stderr, upgraded
        again = setup("--user", "root", check=False)
        assert again.returncode == 1 and held in again.stderr, again
        stack.evaluation("CALL avisar_lote('[]')")
        assert stack.evaluation("SELECT motivo_de_rechazo(1, 'nada', '{}', NULL)") != [["NULL"]]
    setup("--user", "root", "--upgrade")
    stack.evaluation("CALL avisar_lote('[]')")


def test_a_new_password_is_that_of_the_evaluation_system_where_it_connects_from(stack, tmp_path):
    """The manual's command for a new password lacks --evaluation-from, even if the first setup had that option. Only a login shows
    which password a user has: on MySQL each hash has a salt of its own."""
    stack.sql("RENAME USER evaluacion@localhost TO evaluacion@'10.0.1.7'")
    try:
        stack.sql("ALTER USER evaluacion@'10.0.1.7' IDENTIFIED BY 'leaked'")
        SetupDatabase(stack, tmp_path)("--user", "root")
        assert hosts_of(stack, "evaluacion") == ["10.0.1.7"]
    finally:
        stack.sql("DROP USER IF EXISTS evaluacion@localhost; RENAME USER evaluacion@'10.0.1.7' TO evaluacion@localhost;"
                  " ALTER USER evaluacion@localhost REQUIRE NONE")
    writer = stack.writer()
    assert writer("SELECT 1") == [["1"]]
    writer.close()


def test_idle_connections_of_the_evaluation_system_leave_some_to_the_programs(stack, entity, tmp_path):
    SetupDatabase(stack, tmp_path, database_evaluation_connections="3")("--user", "root")
    idle = []
    try:
        with pytest.raises(SqlError) as refused:
            for _ in range(4):
                idle.append(stack.writer())
                idle[-1]("SELECT 1")
        assert refused.value.code == 1226
        assert len(idle) > 2 and entity.api("GET", BASE).status == 200
        if "MariaDB" in stack.value("SELECT VERSION()"):
            assert "MAX_STATEMENT_TIME 300" in stack.value("SHOW CREATE USER evaluacion@localhost")
    finally:
        for session in idle:
            session.close()
        stack.sql("ALTER USER evaluacion@localhost WITH MAX_USER_CONNECTIONS 0 /*M! MAX_STATEMENT_TIME 0 */")


def test_config_check_names_a_server_with_few_connections(stack):
    before = stack.value("SELECT @@GLOBAL.max_connections")
    stack.sql("SET GLOBAL max_connections = 96")
    try:
        checked = stack.try_admin("config", "check")
    finally:
        stack.sql(f"SET GLOBAL max_connections = {before}")
    assert checked.returncode == 0 and "max_connections is 96, " in checked.stdout + checked.stderr
    checked = stack.try_admin("config", "check")
    assert "max_connections" not in checked.stdout + checked.stderr


def test_a_withdrawal_without_an_administrator_says_that_it_takes_nothing_away(stack, tmp_path):
    said = SetupDatabase(stack, tmp_path)("--from", "10.0.0.9", "--withdraw").stderr
    assert "no right was taken away" in said and "--user" in said


def test_a_grant_makes_no_user(stack, tmp_path):
    stack.sql("RENAME USER apientidades_api@localhost TO apientidades_api@'10.0.1.7'")
    try:
        assert "rights of api could not be granted" in SetupDatabase(stack, tmp_path).refusal("--user", "root", "--upgrade")
        assert hosts_of(stack, "apientidades_api") == ["10.0.1.7"]
    finally:
        stack.sql("DROP USER IF EXISTS apientidades_api@localhost;"
                  " RENAME USER apientidades_api@'10.0.1.7' TO apientidades_api@localhost")
