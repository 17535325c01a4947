# shellcheck shell=bash
# Paths, messages, and what several commands of `dev` need. Only results go to standard output; messages of `dev` go to
# standard error.

export PATH=$PATH:/usr/sbin:/sbin # a plain user's PATH lacks the folders of nginx and mariadbd
PYTHON=/usr/bin/python3
DATABASE_PARTS=(db)
PARTS=("${DATABASE_PARTS[@]}" fcgi dispatcher nginx)
DB_NAME=apientidades

DEV_DIR=${DEV_DIR:-.dev}
[[ $DEV_DIR == /* ]] || DEV_DIR=$ROOT/$DEV_DIR
DEV_PRESET=${DEV_PRESET:-release}
DEV_NO_BUILD=${DEV_NO_BUILD:-}
BUILD=$ROOT/build/$DEV_PRESET

say() { printf 'dev: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}

usage_error() {
  say "$*"
  exit 2
}

# wait_for SECONDS COMMAND…: true as soon as the command succeeds, false when the time is over.
wait_for() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.05
  done
}

# Locks the stack's folder until this process ends. Another `dev` that calls this waits for the lock, 5 minutes at most.
# The lock does not outlive this process: scripts/dev/part.py does not pass descriptor 9 on to the processes that it starts.
lock_stack() {
  umask 077 # any user who can reach the database's socket can log in as its root without a password
  mkdir -p "$DEV_DIR" 2>/dev/null || die "cannot make the folder $DEV_DIR"
  mkdir -p "$DEV_DIR"/{log,run,secrets}
  exec 9>"$DEV_DIR/lock"
  flock -w 300 9 || die "another ./dev has been busy with $DEV_DIR for 5 minutes"
}

# Prints the port of the running stack, else $DEV_PORT, else 8443.
stack_port() {
  cat "$DEV_DIR/run/port" 2>/dev/null || printf '%s\n' "${DEV_PORT:-8443}"
}

# A unix socket's path has at most 107 bytes: in a deep checkout, a stack keeps its sockets in a private folder under
# $XDG_RUNTIME_DIR or /tmp while the stack is up.
sockets_dir() {
  local wanted=$DEV_DIR/run record=$DEV_DIR/run/sockets_dir
  if ((${#wanted} <= 90)); then
    printf '%s\n' "$wanted"
    return
  fi
  [[ -s $record && -d $(<"$record") ]] || mktemp -d "${XDG_RUNTIME_DIR:-/tmp}/apientidades.XXXXXX" >"$record"
  cat "$record"
}

remove_sockets_dir() {
  local record=$DEV_DIR/run/sockets_dir
  [[ -s $record ]] || return 0
  rm -rf -- "$(<"$record")" "$record"
}

# Prints a free port below the range from which the kernel takes ports for connections and for port 0 (by default from 32768
# on). So no connection takes the port before a server listens on it, or while that server restarts.
free_port() {
  "$PYTHON" - <<'PROGRAM'
import contextlib, random, socket
while True:
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.bind(("127.0.0.1", random.randrange(20_000, 26_000)))
        print(probe.getsockname()[1])
        break
PROGRAM
}
