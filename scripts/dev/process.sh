# shellcheck shell=bash
# Starts, identifies and ends the processes of the stack's parts, by scripts/dev/part.py.

STOP_SECONDS=60 # longer than the dispatcher needs to end its attempts (delivery.timeout, 15 s)

part_pids() { "$PYTHON" "$ROOT/scripts/dev/part.py" pids "$DEV_DIR/run/$1.pids"; }
part_alive() { "$PYTHON" "$ROOT/scripts/dev/part.py" alive "$DEV_DIR/run/$1.pids"; }
part_log() { printf '%s\n' "$DEV_DIR/log/$1.log"; }

# launch PART [OPTIONS OF part.py start] -- COMMAND…
launch() {
  local part=$1 trouble
  shift
  stop_part "$part" || die "old processes of $part do not end: $(part_pids "$part" | xargs)"
  say "starting $part"
  trouble=$("$PYTHON" "$ROOT/scripts/dev/part.py" start "$DEV_DIR/run/$part.pids" --log "$(part_log "$part")" "$@") ||
    part_failed "$part" "$trouble"
}

# stop_part PART [OPTIONS OF part.py stop]
stop_part() {
  local part=$1
  shift
  "$PYTHON" "$ROOT/scripts/dev/part.py" stop "$DEV_DIR/run/$part.pids" --wait "$STOP_SECONDS" "$@"
}

part_failed() {
  local part=$1 reason=$2
  if [[ -s $(part_log "$part") ]]; then
    say "the end of $(part_log "$part"):"
    tail -n 20 "$(part_log "$part")" >&2
  fi
  die "$part failed: ${reason:-it did not start}"
}

check_part() {
  local part
  for part in "${PARTS[@]}"; do
    [[ $part != "${1:-}" ]] || return 0
  done
  usage_error "'${1:-}' is no part of the stack: ${PARTS[*]}"
}
