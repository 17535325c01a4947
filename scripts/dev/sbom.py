"""What a package consists of, as a CycloneDX 1.5 document: sbom.py PACKAGE.deb SECONDS > PACKAGE.cdx.json

Its programs, the shared libraries that they load, with theirs, the libraries that are compiled in, and the packages that it depends
on. SECONDS: the time of the source. The same package gives the same bytes.
"""
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import uuid
from datetime import datetime, timezone
from pathlib import Path

COMPILED_IN = ["rapidjson-dev", "libspdlog-dev", "libboost-dev"]  # headers alone: no file of theirs is loaded
ROOT = Path(__file__).resolve().parents[2]


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fields_of(package: Path) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z-]+): (.*)$", run("dpkg-deb", "--field", str(package)), re.M))


def loaded_libraries(package: Path) -> set[str]:
    """The files of the shared libraries that its programs load, those of libraries included."""
    with tempfile.TemporaryDirectory(prefix="apie-") as folder:
        run("dpkg-deb", "--extract", str(package), folder)
        programs = [file for file in Path(folder).rglob("*") if file.is_file() and file.read_bytes()[:4] == b"\x7fELF"]
        return {match for program in programs for match in re.findall(r"=> (/\S+) \(", run("ldd", str(program)))}


def owner_of(library: str) -> str:
    """Its package. On a merged /usr it is known by one of two paths."""
    for path in (library, str(Path(library).resolve()), library.removeprefix("/usr"), f"/usr{library}"):
        found = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.splitlines()[0].split(": ")[0].split(",")[0]
    raise SystemExit(f"sbom: {library} is of no package")


def component(name: str, distribution: str) -> dict:
    version, architecture, source = run("dpkg-query", "--show", "--showformat=${Version}\t${Architecture}\t${source:Package}",
                                        name).split("\t")
    name = name.split(":")[0]
    purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}&distro={distribution}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "scope": "required", "purl": purl,
            "properties": [{"name": "debian:source", "value": source}]}


def of_another_version(name: str) -> dict:
    """A dependency that is not installed where the package is built."""
    return {"type": "library", "bom-ref": f"pkg:deb/debian/{name}", "name": name, "scope": "required", "purl": f"pkg:deb/debian/{name}"}


def is_installed(name: str) -> bool:
    found = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", name], capture_output=True, text=True)
    return found.returncode == 0 and found.stdout != ""


def is_virtual(name: str) -> bool:
    """Another package, which is listed by its own name, provides it."""
    return not is_installed(name) and subprocess.run(["dpkg-query", "--show", name], capture_output=True).returncode == 0


def required_packages(depends: str) -> list[str]:
    """The first of each alternative."""
    return [re.split(r"[ (|:]", one.strip())[0] for one in depends.split(",")]


def licence() -> str:
    return re.search(r"^License: (.+)$", (ROOT / "packaging/copyright").read_text(encoding="utf-8"), re.M).group(1).strip()


def document(package: Path, seconds: int) -> dict:
    fields = fields_of(package)
    distribution = "debian-" + re.search(r"~deb(\d+)", fields["Version"]).group(1)
    names = {owner_of(library) for library in loaded_libraries(package)} | {n for n in COMPILED_IN if is_installed(n)}
    components = {one["bom-ref"]: one for one in (component(name, distribution) for name in names)}
    known = {one["name"] for one in components.values()}
    for name in required_packages(fields["Depends"]):
        if name not in known and not is_virtual(name):
            one = component(name, distribution) if is_installed(name) else of_another_version(name)
            components[one["bom-ref"]] = one
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    purl = f"pkg:deb/{fields['Package']}@{fields['Version']}?arch={fields['Architecture']}&distro={distribution}"
    product = {"type": "application", "bom-ref": purl, "name": fields["Package"], "version": fields["Version"],
               "hashes": [{"alg": "SHA-256", "content": digest}], "licenses": [{"license": {"name": licence()}}], "purl": purl}
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{purl}#{digest}')}",
            "metadata": {"timestamp": datetime.fromtimestamp(seconds, timezone.utc).isoformat().replace("+00:00", "Z"),
                         "component": product},
            "components": [components[ref] for ref in sorted(components)],
            "dependencies": [{"ref": purl, "dependsOn": sorted(components)}]}


if __name__ == "__main__":
    print(json.dumps(document(Path(sys.argv[1]), int(sys.argv[2])), indent=2, ensure_ascii=False))
