"""Which URLs are accepted. A URL is judged by the address that libcurl would dial
(web/docs/webhooks.md#las-reglas-de-cada-campo, docs/decisions.md#urls)."""
import pytest

from support.actors import BASE, Entity


@pytest.fixture(scope="module")
def member(stack, receiver):
    return Entity(stack, receiver)


def post(member, url):
    return member.api("POST", BASE, json_body={"url": url, "eventos": ["evaluacion.abierta"]})


IPV4 = """
127.0.0.1 127.1 127.0.1 127.255.255.254 2130706433 0x7f000001 0x7f.0.0.1 0x7f.1 017700000001 0177.0.0.1
127.0.0.1. 0 0.0.0.0 0x0 00 10.0.0.1 10.255.255.255 0xa000001 012.0.0.1 167772161 172.16.0.1 172.31.255.255
192.168.0.1 192.168.255.255 0xc0a80001 3232235521 192.168.257 169.254.169.254 169.254.43518 0xa9fea9fe
100.64.0.1 100.127.255.255 192.0.0.1 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16 100.100.100.200 127.0.0.%31 %31%32%37.0.0.1
""".split()
IPV6 = """
[::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1] [::127.0.0.1] [::a00:1]
[64:ff9b::127.0.0.1] [64:ff9b::a00:1] [64:ff9b:1::1] [2002:7f00:1::1] [2002:a00:1::] [2001::1] [2001:db8::1]
[100::1] [fe80::1] [fe80::1%25eth0] [fec0::1] [fc00::1] [fd12:3456::1] [ff02::1] [3fff::1] [5f00::1]
""".split()
NAMES = """
localhost LOCALHOST localhost. LocalHost a.localhost a.b.localhost. localhost.localdomain intranet server db1
printer.local a.localdomain a.internal metadata.google.internal a.intranet a.lan a.home a.corp a.private
router.home.arpa a.priv a.dmz api.default.svc a.cluster a.consul a.docker a.test receptor.test a.invalid a.onion LOCAL.LOCAL %6c%6f%63%61%6c%68%6f%73%74 loc%61lhost
a.lan. localhost6.localdomain6 example.0X7F ｌocalhost ⓛocalhost １２７.0.0.1 ①②⑦.0.0.1 127。0。0。1 10．0．0．1 localhost。
""".split()
FORMS = [
    "https://", "https:///", "https:///path", "https://?x", "https://#x", "https://:443/", "https://.", "https://./",
    "https://user@example.com/", "https://user:pass@example.com/", "https://@example.com/", "https://:@example.com/",
    "https://good.example.com\\@127.0.0.1/", "https://127.0.0.1\\@good.example.com/", "https://example.com\\path",
    "https://good.example.com@127.0.0.1/", "https://127.0.0.1#@good.example.com/",
    "https://127.0.0.1?@good.example.com/", "https://127.0.0.1/@good.example.com/", "https://127.0.0.1:443/",
    "https://localhost:8443/x?y#z", "https://exam ple.com/", "https://example.com/a b", "https://example.com/ ",
    "https://example.com/\t", "https://exa\tmple.com/", "https://example.com/\n",
    "https://example.com/\r\nX-Injected: 1", "https://exa\nmple.com/", "https://example.com/\x00",
    "https://example.com\x00.localhost/", "https://example.com/\x7f", "https://example.com/\x1b[0m",
    "https://example.com/\u00a0", "https://example.com/ñ", "https://example.com/?q=€", "https://example.com/\u2028",
    "https://example.com:0/", "https://example.com:65536/", "https://example.com:99999999999/",
    "https://example.com:-1/", "https://example.com:abc/", "https://example.com:+443/", "https://[::1",
    "https://::1/", "https://[example.com]/", "https://[]/", "https://[1.2.3.4]/", "https://exa%00mple.com/",
    "https://example.com:22/", "https://example.com:3306/x", "https://[2606:4700::1111]:6379/", "https://example.com/%zz",
    "https://example.com%2f@127.0.0.1/", "https://127.0.0.1%23.example.com/", "https://example.com%0d%0a/",
]
BAD = [f"https://{host}/" for host in IPV4 + IPV6 + NAMES] + FORMS
GOOD = [
    "https://example.com", "https://example.com/", "https://example.com:8443/hook?a=b&c=%C3%B1",
    "https://a.b.c.example.com/x/y", "https://8.8.8.8/", "https://172.15.255.255/", "https://172.32.0.1/",
    "https://11.0.0.1/", "https://192.167.1.1/", "https://192.169.1.1/", "https://100.63.255.255/",
    "https://100.128.0.1/", "https://[2606:4700:4700::1111]/", "https://localhost.example.com/",
    "https://10.example.com/", "https://127.0.0.1.example.com/", "https://xn--and-6ma2c.example.com/",
    "https://a1b2.receptor.test/", "https://a.b.receptor.test:9443/x", "https://example.com/@b",
    "https://example.com/?u=a@b.c", "https://example.com/a:b;c=d,e'(f)*!$&+~_-.", "https://example.com/%20%0a%00",
]


@pytest.mark.parametrize("url", BAD, ids=ascii)
def test_a_bad_url_is_400(member, url):
    response = post(member, url)
    if response.status == 201:
        member.api("DELETE", f"{BASE}/{response.json()['id']}")
    assert response.status == 400, response
    assert "\n" not in response.message


@pytest.mark.parametrize("url", GOOD)
def test_accepted_and_stored_as_sent(member, url):
    response = post(member, url)
    assert response.status == 201, response
    body = response.json()
    assert member.api("DELETE", f"{BASE}/{body['id']}").status == 200
    assert body["url"] == url


def test_an_internationalised_host_is_stored_as_punycode(member):
    response = post(member, "https://ñandú.example.com/x")
    assert response.status == 201, response
    member.api("DELETE", f"{BASE}/{response.json()['id']}")
    assert response.json()["url"] == "https://xn--and-6ma2c.example.com/x"


def test_non_ascii_elsewhere_says_what_to_do(member):
    message = post(member, "https://example.com/ñ").message
    assert "%" in message or "percent" in message or "porc" in message


def test_the_port_of_the_receiver_makes_no_difference_to_the_rules(member):
    """delivery.allowed_networks opens 127.0.0.1 for deliveries in this stack, but not for registrations."""
    port = member.receiver.port
    refused = post(member, f"https://127.0.0.1:{port}/")
    assert refused.status == 400 and "no puede apuntar a una dirección local" in refused.message, refused
    accepted = post(member, f"https://a1b2.receptor.test:{port}/")
    assert accepted.status == 201, accepted
    assert member.api("DELETE", f"{BASE}/{accepted.json()['id']}").status == 200
