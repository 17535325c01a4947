"""Certificates by an authority of the tests, valid or not."""
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


def issue(folder, authority: tuple, label: str, name: str, start="20200101000000Z", end="20490101000000Z"):
    """A certificate for a DNS name and its key, by an authority's (certificate, key); ASN.1 times, in UTC."""
    folder = Path(folder)
    certificate, key, request = (folder / f"{label}.{kind}" for kind in ("crt", "key", "csr"))
    configuration = folder / "ca.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder))
    (folder / "index").touch()
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request,
            "-subj", f"/CN={label}", "-addext", f"subjectAltName=DNS:{name}")
    openssl("ca", "-batch", "-notext", "-config", configuration, "-cert", authority[0], "-keyfile", authority[1],
            "-in", request, "-out", certificate, "-startdate", start, "-enddate", end)
    return str(certificate), str(key)
