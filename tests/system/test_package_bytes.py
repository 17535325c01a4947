"""One commit always gives the same package, and the same bill of materials for it."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.tools import tool
from support.stack import ROOT

BUILD = ROOT / "build" / os.environ.get("DEV_PRESET", "release")
PROGRAMS = ("fcgi-app/apientidades-fcgi", "dispatcher/apientidades-dispatcher", "notices/apientidades-notices", "admin/apientidades-admin")
EPOCH = 1_700_000_000
PURL = re.compile(r"pkg:deb/debian/[a-z0-9][a-z0-9.%A-F-]+(@[\w.:~%-]+\?arch=\w+&|\?)distro=[a-z]+(&upstream=[\w.:~%@-]+)?")
CONTROL = """Package: apientidades
Version: 9.9+x~deb12
Architecture: amd64
Maintainer: Maintainers <m@example.org>
Installed-Size: {size}
Depends: libcurl4 (>= 7.16), nginx, default-mysql-client | virtual-mysql-client
Suggests: bash-completion
Description: a package of the tests
"""
# Settings that may differ between two builds of the same commit.
HERE = {"umask": 0o022, "TZ": "UTC", "LANG": "C.UTF-8", "LC_ALL": "C", "USER": "root"}
ELSEWHERE = {"umask": 0o077, "TZ": "Pacific/Kiritimati", "LANG": "tr_TR.UTF-8", "LC_ALL": "", "USER": "constructora"}


def run(*command, place=HERE, cwd=ROOT, timeout=120, **environment) -> subprocess.CompletedProcess:
    own = {name: value for name, value in place.items() if name != "umask"}
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=cwd, umask=place["umask"],
                          env={**os.environ, **own, "SOURCE_DATE_EPOCH": str(EPOCH), **environment})


def packing(script: str, root=ROOT, **options) -> subprocess.CompletedProcess:
    """Runs `script` in a shell that has the functions of scripts/dev/package.sh."""
    return run("bash", "-c", f'ROOT={root}\nsource {ROOT}/scripts/dev/package.sh\n{script}', **options)


def packed(folder: Path, files: dict[str, bytes], size=1, time=EPOCH, mode=0o755) -> Path:
    """Packs with dpkg-deb. DEBIAN/md5sums is in the order of `files`. The first file by name has the modification time `time`.
    All folders below `folder` but DEBIAN have `mode`."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o755 if "/bin/" in name else 0o644)
    control = folder / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(CONTROL.format(size=size))
    (control / "md5sums").write_text("".join(f"{hashlib.md5(files[name]).hexdigest()}  {name}\n" for name in files))
    for path in folder.rglob("*/"):
        path.chmod(mode)
    control.chmod(0o755)
    os.utime(folder / min(files), (time, time))
    package = folder.with_suffix(".deb")
    made = run("dpkg-deb", "--root-owner-group", "-Znone", "-b", folder, package)
    assert made.returncode == 0, made.stderr
    return package


# The bytes

def test_what_is_packed_is_the_same_bytes_wherever_it_is_packed(tmp_path):
    files = {f"usr/share/{name}": name.encode() * 700 for name in ("b", "a/ñ", "a/I", "a/i", "Z")}
    made = []
    # The second package's folders are setgid (0o2775), as all new folders are if the tree lies in a setgid folder.
    for name, order, place, mode in (("one", list(files), HERE, 0o755), ("another-folder", sorted(files), ELSEWHERE, 0o2775)):
        package = packed(tmp_path / name, {file: files[file] for file in order}, len(made), len(made) * 300_000_000, mode)
        done = packing(f'pack_alike {package} {tmp_path}/{name}.tree', place=place)
        assert done.returncode == 0, done.stderr
        made.append(package)
    assert made[0].read_bytes() == made[1].read_bytes()
    listed = [line.split() for line in run("dpkg-deb", "-c", made[0]).stdout.splitlines()]
    assert {(owner, *time) for _, owner, _, *time, _ in listed} == {("root/root", "2023-11-14", "22:13")}
    control = run("dpkg-deb", "-f", made[0], "Installed-Size").stdout
    assert int(control) == 3 + sum((len(content) + 1023) // 1024 for content in files.values()), "usr, usr/share, usr/share/a"


def test_the_time_is_that_of_the_commit_or_of_the_change_log(tmp_path):
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging/changelog").write_text("x (2) y; urgency=low\n\n  * z\n\n -- M <m@e.org>  Tue, 14 Nov 2023 23:13:20 +0100\n\n"
                                                  "x (1) y; urgency=low\n\n  * z\n\n -- M <m@e.org>  Mon, 13 Nov 2023 23:13:20 +0100\n")
    assert packing("source_date", tmp_path, SOURCE_DATE_EPOCH="").stdout == "1700000000\n"
    assert packing("source_date", tmp_path, SOURCE_DATE_EPOCH="12").stdout == "12\n"
    git = ("git", "-C", tmp_path, "-c", "user.name=n", "-c", "user.email=e@example.org")
    run(*git, "init", "-q")
    assert packing("source_date", tmp_path, SOURCE_DATE_EPOCH="").returncode != 0, "a checkout without a commit"
    run(*git, "commit", "-q", "--allow-empty", "-m", "x", GIT_COMMITTER_DATE="1600000000 +0200")
    assert packing("source_date", tmp_path, SOURCE_DATE_EPOCH="", place=ELSEWHERE).stdout == "1600000000\n"


def test_what_builds_and_packs_is_told_the_time_and_no_locale():
    stubs = "install_packages() { :; }; build_preset() { make_package; }; make_package() { env; }; BUILD_PACKAGES=() PACKAGE_PACKAGES=() PROGRAMS=();"
    told = packing(f"{stubs} package_here ''", SOURCE_DATE_EPOCH="12", place=ELSEWHERE).stdout.splitlines()
    assert [told.count(line) for line in ("SOURCE_DATE_EPOCH=12", "TZ=UTC", "LC_ALL=C.UTF-8")] == [2, 2, 2]


@pytest.mark.parametrize("changelog", ["", "x (2) y; urgency=low\n\n  * z\n", "x (2) y\n\n -- M <m@e.org>  \n",
                                       "x (2) y\n\n -- M <m@e.org>  yesterdays\n"])
def test_a_missing_or_bad_source_date_is_an_error(tmp_path, changelog):
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging/changelog").write_text(changelog)
    assert packing("source_date", tmp_path, SOURCE_DATE_EPOCH="").returncode != 0
    assert packing("source_date", tmp_path, SOURCE_DATE_EPOCH="now").returncode != 0


# The bill of materials

def written(package: Path, **options) -> subprocess.CompletedProcess:
    return run("/usr/bin/python3", ROOT / "scripts/dev/sbom.py", package, BUILD, **options)


@pytest.fixture(scope="module")
def package():
    if not (BUILD / PROGRAMS[0]).exists():
        pytest.skip(f"nothing is built in {BUILD}")
    with tempfile.TemporaryDirectory(prefix="apie-package-") as folder:
        programs = {f"usr/bin/{Path(program).name}": (BUILD / program).read_bytes() for program in PROGRAMS}
        yield packed(Path(folder) / "apientidades", {**programs, "usr/share/text": b"x"})


@pytest.fixture(scope="module")
def text(package):
    done = written(package)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def bill(text):
    return json.loads(text)


def uses(component: dict) -> set[str]:
    return {each["name"].partition(":")[2] for each in component["properties"]}


def test_the_bill_is_the_same_bytes_wherever_it_is_written(package, text, tmp_path):
    assert written(package, place=ELSEWHERE, cwd=tmp_path).stdout == text
    assert str(ROOT) not in text and os.uname().nodename not in re.findall(r"[\w.-]+", text)
    later = json.loads(written(package, SOURCE_DATE_EPOCH="1").stdout)
    assert later["metadata"]["timestamp"] == "1970-01-01T00:00:01Z" and later["serialNumber"] != json.loads(text)["serialNumber"]


def test_the_bill_names_the_product(package, bill):
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", bill["serialNumber"])
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    product = bill["metadata"]["component"]
    assert (product["type"], product["name"], product["version"]) == ("application", "apientidades", "9.9+x~deb12")
    assert product["purl"] == "pkg:generic/apientidades@9.9%2Bx~deb12?arch=amd64"
    assert product["supplier"] == {"name": "Maintainers"}
    hashes = {each["alg"]: each["content"] for each in product["hashes"]}
    assert hashes == {"SHA-256": hashlib.sha256(package.read_bytes()).hexdigest(), "SHA-512": hashlib.sha512(package.read_bytes()).hexdigest()}
    licence = re.search("^License: (.*)$", (ROOT / "packaging/copyright").read_text(), re.M).group(1)
    assert product["licenses"] == [{"license": {"name": licence}}]


def test_the_bill_names_every_component_once_by_its_package(bill):
    components = bill["components"]
    assert all(PURL.fullmatch(component["purl"]) and component["bom-ref"] == component["purl"] for component in components), components
    assert len({component["name"] for component in components}) == len(components)
    assert [component["purl"] for component in components] == sorted(component["purl"] for component in components)
    for component in components:
        assert component["properties"] and (component.get("version") or not uses(component) & {"links", "compiles-in", "built-by"})
        if "version" in component:
            shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", component["name"]], capture_output=True, text=True, timeout=20)
            assert component["version"] in shown.stdout.splitlines(), component
    assert sum("licenses" in component for component in components) > 5


def test_the_bill_has_what_is_linked_compiled_in_needed_and_built_with(bill):
    components = {component["name"]: component for component in bill["components"]}
    loaded = {each["value"] for component in components.values() for each in component["properties"] if each["name"] == "apientidades:links"}
    for program in PROGRAMS:
        lines = subprocess.run(["ldd", BUILD / program], capture_output=True, text=True, timeout=20).stdout
        assert set(re.findall(r"^\s*(\S+) => /", lines, re.M)) <= loaded
    assert "libstdc++.so.6" in loaded and components["libstdc++6"]["purl"].startswith("pkg:deb/debian/libstdc%2B%2B6@")
    compiled = {name for name, component in components.items() if "compiles-in" in uses(component)}
    assert {"rapidjson-dev", "libssl-dev", "libmysqlcppconn-dev"} <= compiled
    assert any(re.fullmatch(r"libboost[\d.]+-dev", name) for name in compiled) and not any("test" in name or "linux" in name for name in compiled)
    assert components["nginx"]["scope"] == "required" and "version" not in components["nginx"]
    assert components["virtual-mysql-client"]["scope"] == components["bash-completion"]["scope"] == "optional"
    built = {name for name, component in components.items() if "built-by" in uses(component)}
    assert any(name.startswith("g++-") for name in built) and {"cmake", "dpkg", "gzip"} <= built
    assert {component["scope"] for name, component in components.items() if uses(component) == {"built-by"}} == {"excluded"}


def test_the_graph_of_the_bill_reaches_what_is_used(bill):
    graph = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    references = {component["bom-ref"]: component for component in bill["components"]}
    product = bill["metadata"]["component"]["bom-ref"]
    assert len(graph) == len(bill["dependencies"]) and set(graph) == {product, *references}
    reached, open_ends = set(), [product]
    while open_ends:
        reference = open_ends.pop()
        if reference not in reached:
            reached.add(reference)
            open_ends += graph[reference]
    assert {reference for reference in graph if reference not in reached} == \
        {reference for reference, component in references.items() if component["scope"] == "excluded"}
    curl = next(reference for reference in graph if re.match("pkg:deb/debian/libcurl4(t64)?@", reference))
    assert any(reference.startswith("pkg:deb/debian/libssl3") for reference in graph[curl])


def test_the_bill_is_what_the_schema_of_cyclonedx_allows(text, tmp_path):
    python = tool("schemathesis", "venv/bin/python")
    (tmp_path / "bill.json").write_text(text)
    (tmp_path / "check.py").write_text("""
import importlib.util, json, pathlib, sys
import jsonschema_rs
folder = pathlib.Path(importlib.util.find_spec("cyclonedx").submodule_search_locations[0], "schema/_res")
def read(name): return json.loads((folder / name.rpartition("/")[2].replace("SNAPSHOT.", "").replace(".schema", ".SNAPSHOT.schema")).read_text())
allows = jsonschema_rs.validator_for(read("bom-1.5.schema.json"), retriever=read, validate_formats=True)
bill = json.loads(pathlib.Path(sys.argv[1]).read_text())
for error in allows.iter_errors(bill): sys.exit(str(error))
bill["components"][0]["scope"] = "now and then"
sys.exit(allows.is_valid(bill))
""")
    done = run(python, tmp_path / "check.py", tmp_path / "bill.json")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("broken, says", [("package", "fails"), ("build", "fails"), ("time", "SOURCE_DATE_EPOCH")])
def test_no_bill_is_written_of_what_is_not_there(package, tmp_path, broken, says):
    given = {"package": tmp_path / "none.deb"} if broken == "package" else {"package": package}
    options = {"SOURCE_DATE_EPOCH": "x"} if broken == "time" else {}
    done = run("/usr/bin/python3", ROOT / "scripts/dev/sbom.py", given["package"], tmp_path if broken == "build" else BUILD, **options)
    assert done.returncode != 0 and done.stdout == "" and says in done.stderr


# Two whole builds: their packages and bills of materials

def as_anybody(folder: Path) -> list:
    """Gives `folder` to another user, and returns the beginning of a command that runs as that user under another host
    name. If we are not root, changes nothing and returns an empty list."""
    if os.geteuid():
        return []
    for path in [folder, *folder.rglob("*")]:
        shutil.chown(path, "nobody", "nogroup")
    return ["unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec runuser -u nobody -- "$@"', "sh"]


def contents(package: Path, folder: Path) -> dict[str, str]:
    """Returns all that could differ between two packages, each thing under a name."""
    subprocess.run(["dpkg-deb", "-R", package, folder], check=True, timeout=60)
    sums = {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.rglob("*")) if file.is_file()}
    return {**sums, "members of ar": str(package.read_bytes()[:68]), "owners, rights and times": run("dpkg-deb", "-c", package).stdout}


@pytest.mark.skipif(not os.environ.get("TEST_LONG"), reason="builds everything once more; --long")
def test_two_builds_are_the_same_bytes():
    with tempfile.TemporaryDirectory(prefix="apie-builds-", dir="/var/tmp") as folder:
        other = Path(folder) / "another place, deeper" / "tree"
        other.parent.mkdir(parents=True)
        Path(folder).chmod(0o755)
        listed = run("git", "-c", f"safe.directory={ROOT}", "ls-files", "-coz", "--exclude-standard").stdout.split("\0")
        for name in filter(None, listed):
            (other / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, other / name)
        made = []
        for tree, place, who in ((ROOT, HERE, []), (other, ELSEWHERE, as_anybody(other.parent))):
            done = run(*who, tree / "dev", "package", place=place, cwd=tree, timeout=3000, DEV_NO_BUILD="",
                       **({} if tree == ROOT else {"HOME": folder, "CCACHE_DISABLE": "1"}))
            assert done.returncode == 0, done.stderr
            made.append(Path(done.stdout.strip()))
        one, another = (contents(package, Path(folder) / f"tree{n}") for n, package in enumerate(made))
        assert {name for name in {*one, *another} if one.get(name) != another.get(name)} == set(), "these differ"
        assert made[0].read_bytes() == made[1].read_bytes()
        bills = [package.with_suffix(".cdx.json") for package in made]
        assert bills[0].read_text() == bills[1].read_text()
        assert hashlib.sha256(made[0].read_bytes()).hexdigest() in bills[0].read_text()
