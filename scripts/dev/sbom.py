#!/usr/bin/env python3
"""sbom.py PACKAGE.deb BUILD: prints the bill of materials of a package, in CycloneDX 1.5. The components are the Debian
packages that the programs link to (ldd), that they were compiled from (ninja's records in the folder BUILD), that the build
tools belong to, and that the control file names.

The same package, build and Debian packages make the same bytes; the time is SOURCE_DATE_EPOCH."""
from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from urllib.parse import quote

CLAUSES = {"Depends": "required", "Recommends": "optional", "Suggests": "optional"}
# Not a component: the headers of this package bring only constants into the programs, and a scanner would report the
# kernel's bugs for it.
NO_CODE = "linux-libc-dev"
# The programs, besides the compiler, that affect the bytes of the package.
BUILD_TOOLS = ("as", "cmake", "dpkg-deb", "gzip", "ld")
SERIAL_NUMBERS = uuid.uuid5(uuid.NAMESPACE_URL, "https://cyclonedx.org/schema/bom-1.5.schema.json")


def output(*command: str | Path, missing_is_fine: bool = False) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, stdin=subprocess.DEVNULL)
    if done.returncode and not missing_is_fine:
        sys.exit(f"sbom.py: {command[0]} {command[1]} fails: {done.stderr.strip()}")
    return done.stdout


# Debian's packages

def owners(paths: set[str]) -> dict[str, str]:
    """The package of each file, as dpkg writes it: `name` or `name:architecture`. Where /bin and /lib are links
    into /usr, dpkg may know a file by either path."""
    names = {path: both_forms(os.path.realpath(path)) | both_forms(path) for path in paths}
    lines = output("dpkg-query", "-S", *sorted(set().union(*names.values())), missing_is_fine=True).splitlines()
    owner = {path: packages.split(", ")[0] for packages, _, path in (line.partition(": ") for line in lines)
             if not packages.startswith("diversion by ")}
    found = {path: owner[form] for path, forms in names.items() for form in sorted(forms) if form in owner}
    if unknown := sorted(paths - found.keys()):
        sys.exit(f"sbom.py: {unknown[0]} is of no Debian package: build with the packages of Debian alone")
    return found


def both_forms(path: str) -> set[str]:
    return {path, path.removeprefix("/usr") if path.startswith("/usr/") else "/usr" + path}


def described(packages: set[str]) -> dict[str, dict]:
    """Name, version and licence of installed packages."""
    fields = "${binary:Package}\t${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\n"
    rows = [line.split("\t") for line in output("dpkg-query", "-W", f"-f={fields}", *sorted(packages)).splitlines()]
    # dpkg writes some packages as `name:architecture`, and others as `name` only.
    by_either = {form: row[1:] for row in rows for form in (row[0], row[0].partition(":")[0])}
    return {package: installed(*by_either.get(package) or by_either[package.partition(":")[0]]) for package in packages}


def installed(name: str, version: str, architecture: str, source: str, source_version: str) -> dict:
    qualifiers = {"arch": architecture, "distro": distribution()}
    if (source, source_version) != (name, version):  # security advisories name the source package
        qualifiers["upstream"] = source if source_version == version else f"{source}@{source_version}"
    licence = licence_of(Path("/usr/share/doc", name, "copyright"))
    return {"name": name, "version": version, "purl": purl(name, version, qualifiers),
            **({"licenses": [{"license": {"name": licence}}]} if licence else {})}


def purl(name: str, version: str, qualifiers: dict[str, str]) -> str:
    given = "&".join(f"{key}={quote(value, safe=':')}" for key, value in sorted(qualifiers.items()))
    return f"pkg:deb/debian/{quote(name)}{'@' if version else ''}{quote(version, safe=':')}?{given}"


def licence_of(file: Path) -> str:
    """The licence that a copyright file in Debian's machine-readable format has for `Files: *`, otherwise empty."""
    text = file.read_text(errors="replace") if file.exists() else ""
    whole = re.search(r"^Files: *\*[ \t]*\n(?:\S.*\n|[ \t].*\n)*?License: *(\S.*)$", text, re.M)
    return whole.group(1).strip() if whole and text.startswith("Format:") else ""


def distribution() -> str:
    return re.search("^VERSION_CODENAME=(.*)$", Path("/etc/os-release").read_text(), re.M).group(1)


# The components of the programs

def programs_of(tree: Path) -> list[Path]:
    files = [file for file in sorted(tree.rglob("*")) if file.is_file() and not file.is_symlink()]
    return [file for file in files if file.open("rb").read(4) == b"\x7fELF"]


def linked(program: Path) -> dict[str, str]:
    """The file of every library that is loaded with the program."""
    lines = output("ldd", program).splitlines()
    if lost := [line.strip() for line in lines if "not found" in line]:
        sys.exit(f"sbom.py: {program.name} does not start here: {lost[0]}")
    files = [match.group(1) for line in lines if (match := re.search(r"(/\S+) \(0x", line))]
    return {os.path.basename(file): file for file in files}


def needed(file: Path | str) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", "-W", file))


def headers_of(build: Path, programs: list[Path]) -> set[str]:
    """The headers outside this project that the programs were compiled from."""
    objects = {line for program in programs for line in output("ninja", "-C", build, "-t", "inputs", program.name).splitlines()
               if line.endswith(".o")}
    found, wanted = set(), False
    for line in output("ninja", "-C", build, "-t", "deps").splitlines():
        if not line.startswith(" "):
            wanted = line.partition(": #deps")[0] in objects
        elif wanted:
            found.add(os.path.normpath(build / line.strip()))  # ccache may have made the path relative
    source = re.search("^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", (build / "CMakeCache.txt").read_text(), re.M).group(1)
    system = {file for file in found if not file.startswith(f"{source}/")}
    if not system:
        sys.exit(f"sbom.py: ninja has no record of how the programs in {build} were compiled: build them anew")
    return system


def tools_of(build: Path) -> set[str]:
    compiler = re.search("^CMAKE_CXX_COMPILER:.*?=(.*)$", (build / "CMakeCache.txt").read_text(), re.M).group(1)
    return {compiler, *filter(None, map(shutil.which, BUILD_TOOLS))}


class Components:
    """The packages, each with all its uses."""

    def __init__(self, distro: str):
        self.distro = distro
        self.found: dict[str, dict] = {}

    def add(self, package: dict, kind: str, scope: str, use: str, detail: str = "") -> str:
        """Adds a use of a package, and returns the package's reference. A package that one use requires stays required."""
        component = self.found.setdefault(package["name"], {"type": kind, "bom-ref": package["purl"], **package, "scope": scope, "properties": []})
        if scope == "required" or component["scope"] == "excluded":
            component["scope"] = scope
        of_use = {"name": f"apientidades:{use}", "value": detail or "yes"}
        if of_use not in component["properties"]:
            component["properties"].append(of_use)
        return component["bom-ref"]

    def add_clause(self, field: str, clause: str) -> list[str]:
        """Adds the packages that a clause of the control file names, such as `a (>= 1) | b`. They get no version, because
        only an installed package has one."""
        references = []
        for alternative in clause.split("|"):
            name = re.match(r"\s*([a-z0-9][a-z0-9+.-]*)", alternative).group(1)
            package = {"name": name, "purl": purl(name, "", {"distro": self.distro})}
            scope = CLAUSES[field] if "|" not in clause else "optional"
            references.append(self.add(package, "application", scope, field.lower(), clause))
        return references


def bill(package: Path, build: Path) -> dict:
    components, graph = Components(distribution()), {}
    control = {field: output("dpkg-deb", "-f", package, field).strip() for field in ("Package", "Version", "Maintainer", "Architecture", *CLAUSES)}
    with tempfile.TemporaryDirectory() as folder:
        output("dpkg-deb", "-x", package, folder)
        programs = programs_of(Path(folder))
        files = {name: file for program in programs for name, file in linked(program).items()}
        direct = {name for program in programs for name in needed(program)}
        headers = headers_of(build, programs)
    tools = tools_of(build)
    package_of = owners({*files.values(), *headers, *tools})
    known = described(set(package_of.values()))

    library = {name: components.add(known[package_of[file]], "library", "required", "links", name) for name, file in sorted(files.items())}
    uses = {library[name] for name in direct}
    for name, file in files.items():
        graph.setdefault(library[name], set()).update(library[other] for other in needed(file) if library[other] != library[name])
    compiled_in = {package_of[header] for header in headers if known[package_of[header]]["name"] != NO_CODE}
    uses |= {components.add(known[package], "library", "required", "compiles-in") for package in compiled_in}
    for tool in tools:
        components.add(known[package_of[tool]], "application", "excluded", "built-by", os.path.basename(tool))
    for field in CLAUSES:
        for clause in filter(None, control[field].split(", ")):
            uses.update(components.add_clause(field, clause))

    product = product_of(package, control)
    graph[product["bom-ref"]] = uses
    return document(product, list(components.found.values()), graph)


def product_of(package: Path, control: dict[str, str]) -> dict:
    content = package.read_bytes()
    reference = f"pkg:generic/{control['Package']}@{quote(control['Version'], safe=':')}?arch={control['Architecture']}"
    licence = licence_of(Path(__file__).parents[2] / "packaging/copyright")
    return {"type": "application", "bom-ref": reference, "supplier": {"name": control["Maintainer"].partition(" <")[0]},
            "name": control["Package"], "version": control["Version"], "purl": reference,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()},
                       {"alg": "SHA-512", "content": hashlib.sha512(content).hexdigest()}],
            "licenses": [{"license": {"name": licence}}], "properties": [{"name": "apientidades:file", "value": package.name}]}


def document(product: dict, components: list[dict], graph: dict[str, set[str]]) -> dict:
    for component in components:
        component["properties"].sort(key=lambda each: (each["name"], each["value"]))
    references = [product["bom-ref"], *(component["bom-ref"] for component in components)]
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    content = {"version": 1,
               "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "lifecycles": [{"phase": "build"}],
                            "supplier": product["supplier"], "component": product},
               "components": sorted(components, key=lambda component: component["bom-ref"]),
               "dependencies": [{"ref": reference, "dependsOn": sorted(graph.get(reference, ()))} for reference in sorted(references)]}
    serial = uuid.uuid5(SERIAL_NUMBERS, json.dumps(content, sort_keys=True))
    return {"$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{serial}", **content}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("sbom.py: takes a package and the folder of its build")
    if not re.fullmatch("[0-9]{1,10}", os.environ.get("SOURCE_DATE_EPOCH", "")):
        sys.exit("sbom.py: takes the time in SOURCE_DATE_EPOCH, in seconds since 1970")
    print(json.dumps(bill(Path(sys.argv[1]), Path(sys.argv[2]).resolve()), indent=2, ensure_ascii=False))
