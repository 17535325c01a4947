"""A DNS server with answers that the test sets, down to the byte, over UDP and TCP. As a command it serves a network
namespace, by default at 127.0.0.1:53. It reads its answers from a JSON file at every question, so that a test can change them
at once:

    {"name.example.com": {"a": ["192.88.1.1"], "aaaa": [], "cname": "", "ttl": 60, "fault": "", "then": {…}}}

`then` is the entry for the next questions for the same name and type. A name that is not in the file gets NXDOMAIN, which a
resolver may cache for NEGATIVE_TTL seconds.
The log gets a line for every question, except those over TCP that `truncated_close` leaves unanswered: `name type`, and
`tcp`, `edns` or `plain` (UDP without EDNS).
"""
from __future__ import annotations

import argparse
import ipaddress
import json
import os
import socket
import struct
import sys
import threading
from pathlib import Path

FAULTS = {
    "servfail": "answers SERVFAIL",
    "refused": "answers REFUSED",
    "stall": "never answers",
    "stall_aaaa": "never answers for AAAA",
    "slow": "answers after SLOW_S",
    "garbage": "answers bytes that are no message, with the right id",
    "noise": "answers bytes of any kind",
    "truncated": "says over UDP that the answer is truncated; over TCP it is whole",
    "truncated_stall": "says over UDP that the answer is truncated; over TCP it never answers",
    "truncated_close": "says over UDP that the answer is truncated; over TCP it closes the connection",
    "large": "truncates a long answer over UDP: one of more bytes than the question's EDNS allows, or than 512 without EDNS",
    "drops_edns": "never answers a question with EDNS",
    "formerr_edns": "answers FORMERR to a question with EDNS",
    "cut": "answers a message that ends in the middle of a record",
    "wrong_id": "answers with another id",
    "wrong_name": "answers another question",
    "loop": "answers a record with a compressed name that points to itself",
}
SLOW_S = 0.4
NEGATIVE_TTL = 300
A, CNAME, SOA, AAAA, OPT = 1, 5, 6, 28, 41
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, REFUSED = 0, 1, 2, 3, 5


def encode_name(name: str) -> bytes:
    labels = [label.encode() for label in name.rstrip(".").split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def read_question(message: bytes) -> tuple[str, int, bytes]:
    """Returns the name in lower case, the type, and the question as it came."""
    position, labels = 12, []
    while length := message[position]:
        labels.append(message[position + 1:position + 1 + length].decode("latin-1"))
        position += 1 + length
    kind = struct.unpack("!H", message[position + 1:position + 3])[0]
    return ".".join(labels).lower(), kind, message[12:position + 5]


def edns_size(message: bytes, question: bytes) -> int:
    """Returns how many bytes the question's EDNS allows for an answer over UDP; 0 if the question is without EDNS."""
    if message[10:12] == b"\0\0":
        return 0
    kind, size = struct.unpack("!HH", message[12 + len(question) + 1:][:4])
    return size if kind == OPT else 0


THE_QUESTIONS_NAME = b"\xc0\x0c"  # a pointer to the name's position in the message (RFC 1035 section 4.1.4)


def record(owner: bytes, kind: int, ttl: int, data: bytes) -> bytes:
    return owner + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def records(kind: int, entry: dict) -> list[bytes]:
    ttl, found, owner = entry.get("ttl", 60), [], THE_QUESTIONS_NAME
    if entry.get("cname"):
        found.append(record(owner, CNAME, ttl, encode_name(entry["cname"])))
        owner = encode_name(entry["cname"])
    for address in entry.get({A: "a", AAAA: "aaaa"}.get(kind, ""), []):
        found.append(record(owner, kind, ttl, ipaddress.ip_address(address).packed))
    return found


def header(id: bytes, flags: int, answers: int, rcode: int = NOERROR, authorities: int = 0) -> bytes:
    return id + struct.pack("!HHHHH", 0x8180 | flags | rcode, 1, answers, authorities, 0)


def does_not_exist(id: bytes, question: bytes) -> bytes:
    start = encode_name("ns.example.com") + encode_name("admin.example.com")
    authority = record(encode_name("example.com"), SOA, NEGATIVE_TTL, start + struct.pack("!IIIII", 1, 3600, 600, 86400, NEGATIVE_TTL))
    return header(id, 0, 0, NXDOMAIN, authorities=1) + question + authority


def answer(message: bytes, entry: dict | None, tcp: bool = False) -> bytes | None:
    """Returns the reply to a question; None if it gets no reply."""
    id, (name, kind, question) = message[:2], read_question(message)
    if entry is None:
        return does_not_exist(id, question)
    fault = entry.get("fault", "")
    if fault and fault not in FAULTS:
        raise ValueError(f"unknown fault {fault!r}")
    found, edns = records(kind, entry), edns_size(message, question)
    if fault == "drops_edns" and edns:
        return None
    if fault == "formerr_edns" and edns:
        return header(id, 0, 0, FORMERR) + question
    if fault == "large" and not tcp and len(header(id, 0, 0) + question + b"".join(found)) > max(edns, 512):
        return header(id, 0x0200, 0) + question
    if fault == "stall" or (fault == "stall_aaaa" and kind == AAAA) or (fault == "truncated_stall" and tcp):
        return None
    if fault in ("servfail", "refused"):
        return header(id, 0, 0, SERVFAIL if fault == "servfail" else REFUSED) + question
    if fault in ("truncated", "truncated_stall", "truncated_close") and not tcp:
        return header(id, 0x0200, 0) + question
    if fault == "garbage":
        return id + b"\x81\x80" + b"\xff" * 40
    if fault == "noise":
        return os.urandom(100)
    if fault == "cut":
        return (header(id, 0, len(found)) + question + b"".join(found))[:-3]
    if fault == "wrong_id":
        id = bytes([id[0] ^ 0xff, id[1]])
    if fault == "wrong_name":
        question = encode_name("another.example.com") + question[-4:]
    if fault == "loop":
        pointer = struct.pack("!H", 0xC000 | 12 + len(question))  # a pointer to itself
        found = [pointer + struct.pack("!HHIH", kind, 1, 60, 4) + b"\1\1\1\1"]
    return header(id, 0, len(found)) + question + b"".join(found)


class Zone:
    """The file of answers, and how often each question was asked."""

    def __init__(self, path: Path, log: Path):
        self.path, self.log, self.asked, self.lock = path, log, {}, threading.Lock()

    def peek(self, message: bytes) -> dict | None:
        """Returns the first entry for the question's name, without counting or logging the question."""
        return json.loads(self.path.read_text()).get(read_question(message)[0])

    def entry(self, name: str, kind: int, how: str) -> dict | None:
        with self.lock:
            with self.log.open("a") as log:
                log.write(f"{name} {kind} {how}\n")
            zone = json.loads(self.path.read_text())
            turn = self.asked[name, kind] = self.asked.get((name, kind), 0) + 1
        entry = zone.get(name)
        while entry and turn > 1 and "then" in entry:
            entry, turn = entry["then"], turn - 1
        return entry

    def reply(self, message: bytes, send, tcp: bool = False):
        """Calls `send` with the answer, if there is one; a slow answer comes later, from another thread."""
        name, kind, question = read_question(message)
        entry = self.entry(name, kind, "tcp" if tcp else "edns" if edns_size(message, question) else "plain")
        if (reply := answer(message, entry, tcp)) is None:
            return
        if entry and entry.get("fault") == "slow":
            threading.Timer(SLOW_S, send, [reply]).start()
        else:
            send(reply)


def serve_udp(server: socket.socket, zone: Zone):
    while True:
        message, client = server.recvfrom(4096)
        zone.reply(message, lambda reply, client=client: server.sendto(reply, client))


def serve_tcp(server: socket.socket, zone: Zone):
    while True:
        threading.Thread(target=serve_connection, args=(server.accept()[0], zone), daemon=True).start()


def serve_connection(connection: socket.socket, zone: Zone):
    with connection, connection.makefile("rb") as stream:
        while len(size := stream.read(2)) == 2:
            message = stream.read(struct.unpack("!H", size)[0])
            if (zone.peek(message) or {}).get("fault") == "truncated_close":
                return
            zone.reply(message, lambda reply: connection.sendall(struct.pack("!H", len(reply)) + reply), tcp=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zone", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=53)
    parser.add_argument("--udp", action="store_true", help="refuses TCP")
    arguments = parser.parse_args()
    zone = Zone(arguments.zone, arguments.log)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((arguments.address, arguments.port))
    if not arguments.udp:
        tcp = socket.create_server((arguments.address, arguments.port))
        threading.Thread(target=serve_tcp, args=(tcp, zone), daemon=True).start()
    print("ready", flush=True)
    serve_udp(udp, zone)


if __name__ == "__main__":
    sys.exit(main())
