"""Certificates by a test authority, valid or not."""
from __future__ import annotations

import subprocess
from pathlib import Path

CONFIGURATION = """
[ca]
default_ca = tests
[tests]
database = {folder}/index
new_certs_dir = {folder}
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""


def openssl(*arguments) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


ELLIPTIC = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")


def issue(folder, authority: tuple, label: str, name: str, start="20200101000000Z", end="20490101000000Z", key=ELLIPTIC,
          digest="sha256", usage=""):
    """Makes a certificate for a DNS name, signed by an authority (certificate, key); returns the files of certificate and key.
    `start`, `end`: ASN.1 times in UTC. `key`: as for openssl's -newkey. `usage`: extended key usage."""
    folder = Path(folder)
    certificate, private, request = (folder / f"{label}.{kind}" for kind in ("crt", "key", "csr"))
    configuration = folder / "ca.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder))
    (folder / "index").touch()
    extended = ["-addext", f"extendedKeyUsage={usage}"] if usage else []
    openssl("req", "-newkey", *key, "-nodes", "-keyout", private, "-out", request,
            "-subj", f"/CN={label}", "-addext", f"subjectAltName=DNS:{name}", *extended)
    openssl("ca", "-batch", "-notext", "-config", configuration, "-cert", authority[0], "-keyfile", authority[1],
            "-in", request, "-out", certificate, "-startdate", start, "-enddate", end, "-md", digest)
    return str(certificate), str(private)


def followed_by(folder, certificate, *others):
    """Returns the files (chain, key) of a server that sends its certificate together with those others."""
    chain = Path(folder) / f"{len(others)}_more.crt"
    chain.write_text("".join(Path(file).read_text() for file, _ in (certificate, *others)))
    return str(chain), certificate[1]
