# shellcheck shell=bash
# Every suite in one command. tally.py adds the counts up; a suite that cannot run counts as a failure.

TEST_TARGETS=(unit_tests store_tests)
PYTHON_SUITES=(tests)

command_test() {
  local only='' long='' pytest_arguments=()
  while (($#)); do
    case $1 in
      --long) long=1 ;;
      --system | --mysql) usage_error "test $1 does not exist yet: it comes with later work" ;;
      --only)
        (($# > 1)) || usage_error '--only takes unit, store or python'
        only=$2
        shift
        ;;
      *) pytest_arguments+=("$1") ;;
    esac
    shift
  done
  [[ $only =~ ^(|unit|store|python)$ ]] || usage_error "--only takes unit, store or python, not '$only'"
  prepare_tests "$only"

  RESULTS=$ROOT/build/test-results
  rm -rf "$RESULTS" && mkdir -p "$RESULTS"
  [[ -n $only && $only != unit ]] || run_boost unit
  [[ -n $only && $only != store ]] || run_store
  [[ -n $only && $only != python ]] || TEST_LONG=$long run_python "${pytest_arguments[@]}"
  "$PYTHON" "$ROOT/scripts/dev/tally.py" "$RESULTS"
}

prepare_tests() {
  install_packages "${BUILD_PACKAGES[@]}" "${RUN_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
  [[ $1 == python ]] || build_preset asan "${TEST_TARGETS[@]}"
  [[ $1 == unit || $1 == store ]] || build_preset "$DEV_PRESET" "${PROGRAMS[@]}"
}

# run_boost NAME: counts by its JUnit report and its exit status, which tells of a crash.
run_boost() {
  local status=0
  say "test suite $1"
  "$ROOT/build/asan/tests/$1/${1}_tests" --color_output=no --report_level=no \
    "--logger=HRF,error,stdout:JUNIT,test_suite,$RESULTS/$1.xml" || status=$?
  printf '%s\n' "$status" >"$RESULTS/$1.status"
}

# On a fresh database server of its own, gone afterwards. A subshell, so that the end is certain.
run_store() (
  DEV_DIR=$ROOT/.dev/test-store
  lock_stack
  rm -rf "$DEV_DIR/db"
  trap 'stop_part db --then-kill; remove_sockets_dir; rm -rf "$DEV_DIR"' EXIT
  trap 'exit 130' INT TERM
  printf '1\n' >"$RESULTS/store.status" # until it has run
  start_db
  export TEST_DB_SOCKET
  TEST_DB_SOCKET=$(db_socket)
  run_boost store
) || true

run_python() {
  local status=0 argument suites=("${PYTHON_SUITES[@]}")
  for argument in "$@"; do
    [[ ! -e ${argument%%::*} ]] || suites=() # paths were given: only those
  done
  say "test suite python"
  (
    cd "$ROOT"
    export DEV_NO_BUILD=1 TEST_LONG
    unset DEV_DIR DEV_PORT
    exec "$PYTHON" -m pytest -q -p no:cacheprovider --junitxml="$RESULTS/python.xml" "${suites[@]}" "$@"
  ) &
  # Told to stop, it must still take its stacks down: it is told too, and waited for.
  # shellcheck disable=SC2064
  trap "kill -TERM $! 2>/dev/null; wait $!; exit 130" INT TERM
  wait $! || status=$?
  trap - INT TERM
  printf '%s\n' "$status" >"$RESULTS/python.status"
}
