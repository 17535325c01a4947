"""Records of FastCGI, as nginx sends them to the pool."""
import struct

BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6
KEEP_CONNECTION = 1


def record(kind: int, content: bytes, request: int = 1) -> bytes:
    return struct.pack("!BBHHBx", 1, kind, request, len(content), 0) + content


def parameters(**values: str) -> bytes:
    text = b""
    for name, value in values.items():
        text += struct.pack("!BI", len(name), len(value) | 1 << 31) + name.encode() + value.encode()
    return text


def request_head(token: str, method: str, path: str, length: int, keep: bool = True) -> bytes:
    begin = record(BEGIN, struct.pack("!HB5x", 1, KEEP_CONNECTION if keep else 0))
    names = parameters(REQUEST_METHOD=method, REQUEST_URI=path, CONTENT_LENGTH=str(length), REQUEST_ID="prueba",
                       HTTP_AUTHORIZATION=f"Bearer {token}", CONTENT_TYPE="application/json")
    return begin + record(PARAMS, names) + record(PARAMS, b"")
