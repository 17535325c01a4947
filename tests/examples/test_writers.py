"""docs/drivers.md: each of its lines writes the right time in each zone of Spain, and sets the isolation level."""
import os
import re
import subprocess
from pathlib import Path

import pytest

from support.actors import fresh_id
from support.example_receivers import PREPARED, as_nobody, readable, require
from support.stack import ROOT

if "EXAMPLES" not in os.environ:
    pytest.skip("./dev test --examples runs these", allow_module_level=True)

FOLDER = readable(ROOT / "tests/examples/writers")
INSTANTS = {"2025-01-15T12:00:00Z": "2025-01-15 12:00:00.000", "2025-07-15T12:00:00.123Z": "2025-07-15 12:00:00.123"}
PROGRAMS = {  # name -> language, command for a zone, more of the environment
    "python": ("python", lambda zone: ["/usr/bin/python3", FOLDER / "python/escritores.py"], {"USE_TZ": "False"}),
    "python, USE_TZ": ("python", lambda zone: ["/usr/bin/python3", FOLDER / "python/escritores.py"], {"USE_TZ": "True"}),
    "php": ("php", lambda zone: ["php", "-d", f"date.timezone={zone}", FOLDER / "php/escritores.php"], {}),
    "javascript": ("javascript", lambda zone: ["node", FOLDER / "javascript/escritores.js"],
                   {"NODE_PATH": f"{PREPARED}/javascript/typeorm/node_modules"}),
    "java": ("java", lambda zone: ["java", f"-Duser.timezone={zone}", "-cp", f"{PREPARED}/java/hibernate/lib/*",
                                   FOLDER / "java/Escritores.java"], {}),
}
LINES = {
    "python": ["PyMySQL", "PyMySQL avisar_con_hora", "SQLAlchemy", "Django USE_TZ=False"],
    "python, USE_TZ": ["Django USE_TZ=True"],
    "php": ["PDO", "PDO avisar_con_hora", "Eloquent"],
    "javascript": ["mysql2 query", "mysql2 execute", "mysql2 avisar_con_hora", "TypeORM"],
    "java": ["JDBC Timestamp", "JDBC Instant", "JDBC avisar_con_hora", "JDBC avisar_con_hora, local", "Hibernate Date", "Hibernate Instant",
             "Hibernate LocalDateTime", "Hibernate Instant, no setting", "Hibernate LocalDateTime, no setting"],
}
ISOLATED = {
    "python": {"PyMySQL", "SQLAlchemy", "Django"}, "python, USE_TZ": {"Django"}, "php": {"PDO", "Eloquent"}, "javascript": {"mysql2"},
    "java": {"JDBC", "Hibernate"},
}


@pytest.mark.parametrize("zone", ["Europe/Madrid", "Atlantic/Canary"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_line_of_the_manual_writes_the_instant_in_utc(stack, socket, variables, name, zone):
    language, command, more = PROGRAMS[name]
    require(language)
    entity = fresh_id()
    done = subprocess.run([*map(str, command(zone)), str(entity), *INSTANTS], env=variables | more | {"TZ": zone}, capture_output=True,
                          encoding="utf-8", timeout=60, cwd=Path(socket).parent, **as_nobody())
    assert done.returncode == 0, done.stderr
    written = stack.sql(f"SELECT clave, ocurrida_en FROM notificaciones_pendientes WHERE entidad_id = {entity}")
    assert dict(written) == {f"{line} {instant}": time for line in LINES[name] for instant, time in INSTANTS.items()}
    assert set(re.findall("^isolation (.*)$", done.stdout, re.M)) == {f"{one} READ-COMMITTED" for one in ISOLATED[name]}


def test_the_lines_of_the_manual_are_those_that_the_programs_run():
    page = (ROOT / "docs/drivers.md").read_text()
    times, levels = (re.search(f"^#+ {title}$(.*?)^#", page, re.S | re.M)[1] for title in ("Lines that write UTC", "READ COMMITTED"))
    cells = [row.split(" | ")[1] for row in re.findall(r"^\| .*`.*$", times, re.M)]
    cells += [row.split(" | ")[2] for row in re.findall(r"^\| .* \*[ ;].*$", levels, re.M)]
    lines = [line for cell in cells for line in re.findall("`([^`]+)`", cell)]
    sources = "".join(file.read_text() for file in FOLDER.rglob("[Ee]scritores.*"))
    assert len(cells) == 22 and [line for line in lines if line not in sources] == []
