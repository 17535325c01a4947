"""The API as a later version may be: in front of the real one, with one more field in each object of each answer."""
from __future__ import annotations

import contextlib
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FIELD = {"campoQueAunNoExiste": {"lista": [1, None, "ñ"]}}


def with_one_more_field(value):
    if isinstance(value, list):
        return [with_one_more_field(one) for one in value]
    if isinstance(value, dict):
        return {name: with_one_more_field(one) for name, one in value.items()} | FIELD
    return value


@contextlib.contextmanager
def later_api(stack):
    """Yields its address. It answers GET."""
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            answer = stack.api("GET", self.path, headers={"Authorization": self.headers["Authorization"]})
            body = json.dumps(with_one_more_field(answer.json())).encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"])
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"https://localhost:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
