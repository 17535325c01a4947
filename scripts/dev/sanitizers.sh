# shellcheck shell=bash
# The suites under sanitizers, for `test --long`: the unit and store tests, and the tests of HTTP and of deliveries, under
# AddressSanitizer and under ThreadSanitizer. Any report fails the suite, even if all tests pass.

SANITIZED_TESTS=(tests/http tests/dispatch/test_{delivery,leases,network_thread,robustness}.py)
# Gives the suppressions to all programs of the preset tsan that this run starts.
[[ ${TSAN_OPTIONS:-} == *suppressions=* ]] || export TSAN_OPTIONS=${TSAN_OPTIONS:-}:suppressions=$ROOT/tests/tsan.suppressions

build_sanitized() {
  local preset
  for preset in asan tsan; do build_preset "$preset" "${TEST_TARGETS[@]}" "${PROGRAMS[@]}"; done
}

run_sanitized() {
  local preset
  for preset in asan tsan; do
    run_boost unit "$preset"
    run_store "$preset"
    DEV_PRESET=$preset run_watched "python-$preset" run_python "python-$preset" "${SANITIZED_TESTS[@]}"
  done
}

# run_watched SUITE COMMAND…: runs COMMAND, and makes SUITE fail if a sanitizer has reported anything. Sanitizers write
# their reports to files, because tests do not see the output of a process that they stop.
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
