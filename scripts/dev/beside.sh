# shellcheck shell=bash
# Steps of `./dev test` that run in the background: while tests wait, others compile and download.

declare -A BESIDE # the process of each, which leads a process group

# beside NAME COMMAND…: begins COMMAND in the background. `joined NAME` waits for its end.
beside() {
  local name=$1
  shift
  trap end_beside EXIT
  set -m # each has a process group, so that end_beside reaches what it has started
  "$@" </dev/null >"$RESULTS/$name.log" 2>&1 &
  set +m
  BESIDE[$name]=$!
}

# joined NAME: prints what it has printed; if it did not end well, counts a failure.
joined() {
  local status=0
  wait "${BESIDE[$1]}" || status=$?
  unset "BESIDE[$1]"
  cat "$RESULTS/$1.log" >&2
  ((status == 0)) || write_suite "$1" "$status" "$(case_of "$1" "$status")"
}

end_beside() {
  local name
  for name in "${!BESIDE[@]}"; do
    kill -TERM -- "-${BESIDE[$name]}" 2>/dev/null || true
    wait "${BESIDE[$name]}" || true
  done
}
