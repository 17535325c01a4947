"""A wall clock that jumps while the monotonic clock goes on (libfaketime), for one process of a stack."""
import glob
import os
import subprocess
from pathlib import Path

LIBRARY = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), "")


class WallClock:
    """A process with `environment` sees this clock, which begins at the true time."""

    def __init__(self, folder):
        assert LIBRARY, "the package faketime is missing"
        self._file = Path(folder, "wall-clock")
        self.jump_to(0)

    # FORCE_MONOTONIC_FIX=0: by default libfaketime computes the deadline of a wait on a monotonic condition variable from
    # the faked time. The wait then ends at once, and MySQL's threads spin. (MariaDB and the dispatcher have no such waits.)
    @property
    def environment(self) -> dict:
        return {"LD_PRELOAD": LIBRARY, "FAKETIME_TIMESTAMP_FILE": str(self._file), "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0"}

    def jump_to(self, seconds: int) -> None:
        """Sets the clock `seconds` ahead of the true time; behind it if negative."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        os.replace(new, self._file)


def old_certificates(folder) -> tuple[str, str, str]:
    """Returns an authority, and a receiver's certificate and key. They are a month old, so a process with a clock that is a
    day behind accepts them, too."""
    def openssl(*arguments):
        subprocess.run(["faketime", "-f", "-30d", "openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    Path(folder, "names").write_text("subjectAltName=DNS:*.receptor.test\n")
    openssl("req", "-x509", *new_key, "-days", "365", "-subj", "/CN=old CA", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *new_key, "-subj", "/CN=receiver", "-keyout", "receiver.key", "-out", "receiver.csr")
    openssl("x509", "-req", "-in", "receiver.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "365",
            "-extfile", "names", "-out", "receiver.pem")
    return tuple(str(Path(folder, name)) for name in ("ca.pem", "receiver.pem", "receiver.key"))
