"""Makes `procesar` of an example receiver fail for notifications with an id that begins with FAILING.

    failing_example.py LANGUAGE <SOURCE >COPY
"""
import re
import sys

FAILING = "msg_imposible"
FAULTS = {  # language -> how the definition of `procesar` begins, and a statement that fails
    "python": ("def", f'if identificador.startswith("{FAILING}"): raise ValueError("imposible")'),
    # For the id msg_imposible_1 it throws; for other failing ids it returns a rejected promise, as an `async` function does.
    "javascript": ("function", f'if (identificador === "{FAILING}_1") throw new Error("imposible");'
                               f'if (identificador.startsWith("{FAILING}")) return Promise.reject(new Error("imposible"));'),
    "java": ("static void", f'if (identificador.startsWith("{FAILING}")) throw new IllegalStateException("imposible");'),
    "go": ("func", f'if strings.HasPrefix(aviso.identificador, "{FAILING}") {{ panic("imposible") }}'),
    "rust": ("fn", f'if identificador.starts_with("{FAILING}") {{ panic!("imposible") }}'),
    "php": ("function", f"if (str_starts_with($identificador, '{FAILING}')) throw new RuntimeException('imposible');"),
}


def with_fault(language: str, source: str) -> str:
    begins, statement = FAULTS[language]
    copy, found = re.subn(rf"^ *{begins} procesar\(.*\n({{\n)?", lambda line: f"{line[0]}    {statement}\n", source, flags=re.M)
    assert found == 1, f"procesar is defined {found} times"
    return copy


if __name__ == "__main__":
    sys.stdout.write(with_fault(sys.argv[1], sys.stdin.read()))
