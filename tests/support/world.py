"""A dispatcher in a separate network, which has only a loopback and the test's DNS server. The receiver listens at public
addresses, and at 127.0.0.1 and ::1 as a trap: only webhooks at abierto.receptor.test may reach 127.0.0.1."""
from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from support.actors import Entity
from support.network import Network
from support.stack import setting

PUBLIC, OTHER_PUBLIC, UNROUTED = "11.0.0.1", "11.0.0.2", "11.0.0.9"
DENIED = "11.0.2.1"  # public, and in delivery.denied_networks
MOVING = ("11.0.3.1", "11.0.3.2")  # a test moves the name of a webhook from the first address to the second
SILENT = ("11.0.4.1", "11.0.4.2", "11.0.4.3", "11.0.4.4", "11.0.4.5")  # a test makes them black holes at port 443
REFUSING = "11.0.4.6"  # no port is open there
KEEPING = "11.0.4.8"  # a test starts its own server there
OWN = "12.0.0.1"  # public, and this host's; not in ALLOWED
# The receivers have addresses of this host. The dispatcher refuses addresses of its own host, except in these networks.
ALLOWED = "11.0.0.0/16@*.receptor.test, 2600::/16@*.receptor.test"
PUBLIC_V6, SILENT_V6, UNROUTED_V6 = "2600::1", "2600::2", "2600::9"
HAS_V6 = Path("/proc/net/if_inet6").exists()


@dataclass
class World:
    stack: object
    network: Network
    dns: object
    receiver: object
    dispatcher: object

    def entity(self):
        return Entity(self.stack, self.receiver)

    def threads(self):
        return len(os.listdir(f"/proc/{self.dispatcher.pid}/task"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.dispatcher.pid}/fd"))


@contextlib.contextmanager
def open_world(stack, **settings):
    """Runs a dispatcher in a Network, in place of the stack's dispatcher."""
    arguments, environment = stack.command_of("dispatcher")
    # This dispatcher detects no outages, because its look-ups for that would disturb tests that count DNS questions.
    # tests/dispatch/test_outages.py tests the detection.
    environment |= setting(delivery_host_overrides="", delivery_outage_max="0s", delivery_denied_networks="11.0.2.0/24",
                           delivery_allowed_networks=f"127.0.0.0/8, 127.0.0.1/32@abierto.receptor.test, {ALLOWED}") | settings
    addresses = [address + "/32" for address in (PUBLIC, OTHER_PUBLIC, DENIED, OWN, *MOVING, *SILENT, REFUSING, KEEPING)]
    addresses += [PUBLIC_V6 + "/128", SILENT_V6 + "/128"] * HAS_V6
    network = Network(addresses)
    try:
        dns = network.start_dns()
        served = [PUBLIC, DENIED, OWN, "127.0.0.1"] + [PUBLIC_V6, "::1"] * HAS_V6
        receiver = network.start_receiver(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"], 443, *served)
        stack.stop("dispatcher")
        with open(network.folder / "dispatcher.log", "wb") as log:
            dispatcher = network.start(arguments, env=environment, stdout=log, stderr=log)
        yield World(stack, network, dns, receiver, dispatcher)
        dispatcher.terminate()
        assert dispatcher.wait(30) == 0
    finally:
        network.close()
        stack.start("dispatcher")


def host_of(hook) -> str:
    return urlsplit(hook.url).hostname
