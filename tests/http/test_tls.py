"""nginx accepts exactly the versions, suites and groups of Mozilla's intermediate TLS profile without its DHE suites."""
import socket
import ssl
import subprocess

import pytest

from support.nginx import SNIPPETS, own_nginx

TLS_1_2 = {f"ECDHE-{key}-{cipher}" for key in ("ECDSA", "RSA")
           for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")}
TLS_1_3 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
GROUPS = ["X25519", "P-256", "P-384"]
SITE = """
    server {{
        listen 127.0.0.1:PORT ssl;
        ssl_certificate {0}/ec.pem;   ssl_certificate_key {0}/ec.key;
        ssl_certificate {0}/rsa.pem;  ssl_certificate_key {0}/rsa.key;
        include {1}/apientidades-tls.conf;
        root FOLDER;
    }}"""


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """The port of an nginx with an ECDSA and an RSA key, because the profile has suites for both kinds of key."""
    folder = tmp_path_factory.mktemp("tls")
    for name, key in (("ec", ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]), ("rsa", ["rsa:2048"])):
        subprocess.run(["openssl", "req", "-x509", "-newkey", *key, "-noenc", "-days", "2", "-subj", "/CN=localhost",
                        "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"], check=True, capture_output=True)
    with own_nginx(SITE.format(folder, SNIPPETS)) as port:
        yield port


def client(ciphers: str = "ALL:COMPLEMENTOFALL") -> ssl.SSLContext:
    """A context for TLS 1.2, as lax as OpenSSL allows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    return context


def negotiated(port: int, context: ssl.SSLContext):
    with socket.create_connection(("127.0.0.1", port), 10) as plain:
        try:
            with context.wrap_socket(plain) as connection:
                return connection.cipher()[0]
        except (ssl.SSLError, ConnectionResetError):
            return None


def s_client(port: int, *options: str, input: str = "") -> str:
    result = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-cipher", "ALL:@SECLEVEL=0", *options],
                            input=input, capture_output=True, text=True, timeout=20)
    return result.stdout + result.stderr


def connects(port: int, *options: str) -> bool:
    output = s_client(port, *options)
    assert "CONNECTED" in output
    return "Cipher is (NONE)" not in output


def test_every_cipher_suite_of_tls_1_2(port):
    known = {cipher["name"] for cipher in client().get_ciphers() if not cipher["name"].startswith("TLS_")}
    known = {name for name in known if "PSK" not in name and "SRP" not in name}  # offered only with a PSK or an SRP password
    assert TLS_1_2 < known and any("CBC" in name or name.endswith("-SHA") for name in known)
    accepted = {name for name in known if negotiated(port, client(name))}
    assert accepted == TLS_1_2


@pytest.mark.parametrize("suite", [*TLS_1_3, "TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256"])
def test_cipher_suites_of_tls_1_3(port, suite):
    assert connects(port, "-tls1_3", "-ciphersuites", suite) == (suite in TLS_1_3)


@pytest.mark.parametrize("group", [*GROUPS, "P-521", "X448", "ffdhe2048", "ffdhe3072", "ffdhe8192"])
def test_groups_of_the_key_exchange(port, group):
    for version in ("-tls1_3",) if group.startswith("ffdhe") else ("-tls1_2", "-tls1_3"):
        assert connects(port, version, "-groups", group) == (group in GROUPS)


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1", "-tls1_2", "-tls1_3"])
def test_versions(port, version):
    assert connects(port, version) == (version in ("-tls1_2", "-tls1_3"))


def test_no_compression_no_tickets_no_renegotiation(port):
    output = s_client(port, "-tls1_2", "-comp", "-legacy_renegotiation", input="R\n")
    assert "Compression: NONE" in output and "TLS session ticket:" not in output
    assert "Secure Renegotiation IS supported" in output
    assert "RENEGOTIATING" in output and "no renegotiation" in output
