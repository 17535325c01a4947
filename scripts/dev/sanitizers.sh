# shellcheck shell=bash
# The suites under sanitizers, for `test --long`: what is fast has AddressSanitizer on unit and store tests already; here
# ThreadSanitizer on them, and both on the HTTP tests and on deliveries, with the programs built so. A report fails the
# suite, wherever it was written from: tests do not see that a process that they stop has something to say.

SANITIZED_TESTS=(tests/http tests/dispatch/test_{delivery,leases,network_thread,robustness}.py)
# For whatever is started from here with the programs of that preset.
[[ ${TSAN_OPTIONS:-} == *suppressions=* ]] || export TSAN_OPTIONS=${TSAN_OPTIONS:-}:suppressions=$ROOT/tests/tsan.suppressions

build_sanitized() {
  build_preset asan "${CHECKED_TARGETS[@]}"
  build_preset tsan "${CHECKED_TARGETS[@]}"
}

run_sanitized() {
  local preset
  run_boost unit tsan
  run_store tsan
  for preset in asan tsan; do
    DEV_PRESET=$preset run_watched "python-$preset" run_python "python-$preset" "${SANITIZED_TESTS[@]}"
  done
}

# run_watched SUITE COMMAND…: sanitizers write to files, and a file is a failure.
run_watched() {
  local suite=$1 reports=$ROOT/.dev/sanitizers/$1
  shift
  rm -rf "$reports" && mkdir -p "$reports"
  ASAN_OPTIONS=$(sanitizer_options "$reports" "${ASAN_OPTIONS:-}") \
    UBSAN_OPTIONS=$(sanitizer_options "$reports" "${UBSAN_OPTIONS:-}:print_stacktrace=1") \
    TSAN_OPTIONS=$(sanitizer_options "$reports" "${TSAN_OPTIONS:-}") "$@"
  [[ -n $(ls -A "$reports") ]] || return 0
  head -n 60 "$reports"/* >&2
  say "a sanitizer has reported: $reports"
  printf '1\n' >"$RESULTS/$suite.status"
}

sanitizer_options() { printf '%s:log_path=%s/report' "$2" "$1"; }
