"""The firewall's limit of connections, as docs/nginx.md gives it, in a network of its own."""
import json
import re
import subprocess
import sys

import pytest

from support.network import Network, why_not
from support.stack import ROOT

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())
BLOCK = re.search("```text\n(table inet .*?)```", (ROOT / "docs/nginx.md").read_text(), re.S).group(1)
LIMIT = 200
# Opens many connections from each address to port 443; says how many the firewall lets through.
CLIENTS = """
import json, socket, sys
server = socket.create_server(("::", 443), family=socket.AF_INET6, dualstack_ipv6=True, backlog=4096)
held = []
def opened(address, count):
    before = len(held)
    for _ in range(count):
        client = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        client.settimeout(5)
        client.bind((address, 0))
        try:
            client.connect(("::1" if ":" in address else "127.0.0.1", 443))
            held.append(client)
        except ConnectionRefusedError:
            client.close()
    return len(held) - before
counts = [opened(address, 230) for address in sys.argv[1:]]
for client in held:
    client.close()
    server.accept()[0].close()
print(json.dumps([*counts, opened(sys.argv[1], 230)]))
"""


@pytest.fixture
def network():
    made = Network(["2001:db8:0:1::1/128", "2001:db8:0:1::2/128", "2001:db8:0:2::1/128"])
    yield made
    made.close()


def test_an_address_opens_no_more_connections_than_the_rule_allows(network):
    """Without a head, too. An IPv6 /64 counts as one address; a closed connection makes room for another."""
    (rules := network.folder / "nftables.conf").write_text(BLOCK)
    assert network.start(["nft", "-f", rules]).wait(20) == 0
    clients = network.start([sys.executable, "-c", CLIENTS, "127.0.0.2", "127.0.0.3", "2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:2::1"],
                            stdout=subprocess.PIPE, text=True)
    counts = json.loads(clients.communicate(timeout=60)[0])
    assert counts == [LIMIT, LIMIT, LIMIT, 0, LIMIT, LIMIT]
