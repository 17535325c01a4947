"""Certificates, valid or not, signed by a test authority."""
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
    """Makes a certificate for the DNS name `name`; returns its files (certificate, key). `authority`: the files (certificate, key)
    of the signer. `label`: the common name, and the name of the files. `start`, `end`: ASN.1 times in UTC. `key`: as for
    openssl's -newkey. `usage`: extended key usage; empty: none."""
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
    """Makes a chain of `certificate` and `others`, each a pair of files (certificate, key). Returns the files (chain, key) for a
    server that sends the chain."""
    chain = Path(folder) / f"{len(others)}_more.crt"
    chain.write_text("".join(Path(file).read_text() for file, _ in (certificate, *others)))
    return str(chain), certificate[1]
