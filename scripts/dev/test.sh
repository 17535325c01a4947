# shellcheck shell=bash
# Every suite in one command. tally.py adds the counts up; a suite that begins and leaves no report counts as a failure.

SUITES='unit store python examples system upgrade mysql fuzz sanitizers hosts'
BOOST_PRESETS='asan release debug tsan'
BOOST_PRESET=$DEV_PRESET # of the suites unit and store
TEST_TARGETS=(unit_tests store_tests)
PYTHON_SUITES=(tests)
# Several workers, because the tests wait more than they compute. Each takes a file at a time, and has its own stack.
PYTEST_WORKERS=(-n 4 --dist loadfile)
EXAMPLE_SUITES=(tests/examples/test_{receivers,evaluation,relay,writers,frameworks,mistakes,secret_forms,generated_clients}.py)
MYSQL_SUITES=(tests/http tests/dispatch tests/notices tests/system/test_database_tls.py tests/system/test_rights.py
  tests/system/test_server_settings.py tests/system/test_operations_manual.py tests/system/test_other_database.py)
# These test what entities and the evaluation system see on a cluster. There the API and the dispatcher use different nodes.
CLUSTER_SUITES=(tests/http/test_{change_webhook,deliveries,idempotency,replays,secret,statistics,list_and_delete}.py
  tests/dispatch/test_{changed_url,expiry,later,replay_pace,result_view,urgent,withdrawal}.py)
FUZZ_SECONDS=30 # each target
SUITE_SUFFIX=''
PYTHON_RUNNER=() # words to put before the command line of pytest, such as `timeout 900`; empty: none

command_test() {
  local only='' long='' examples='' system='' mysql='' release='' other='' pytest_arguments=()
  while (($#)); do
    case $1 in
      -h | --help) usage && return ;;
      --long) long=1 ;;
      --examples) examples=1 ;;
      --system | --system-if-possible) system=$1 ;;
      --mysql) mysql=1 ;;
      --other-release | --other-release-if-possible) other=$1 ;;
      --preset)
        [[ " $BOOST_PRESETS " == *" ${2:-} "* ]] || usage_error "--preset takes one of: $BOOST_PRESETS"
        BOOST_PRESET=$2
        shift
        ;;
      --release)
        require_release "${2:-}"
        release=$2
        shift
        ;;
      --only)
        (($# > 1)) || usage_error "--only takes one or more of: $SUITES"
        require_suites "$2"
        only=$2
        shift
        ;;
      *) pytest_arguments+=("$1") ;;
    esac
    shift
  done
  RESULTS=$ROOT/build/test-results
  rm -rf "$RESULTS" && mkdir -p "$RESULTS"
  if [[ -n $release ]]; then
    test_on_release
  else
    test_here
  fi
  "$PYTHON" "$ROOT/scripts/dev/tally.py" "$RESULTS"
  for release in "${!FRESH_MADE[@]}"; do remove_fresh "$release"; done
}

require_suites() {
  local suite
  for suite in ${1//,/ }; do
    [[ " $SUITES " == *" $suite "* ]] || usage_error "--only takes one or more of: $SUITES; not '$suite'"
  done
  [[ -n $1 ]] || usage_error "--only takes one or more of: $SUITES"
}

# timed STEP COMMAND…: runs COMMAND, and notes for tally.py how many seconds it took.
timed() {
  local step=$1 begun=$SECONDS
  shift
  "$@"
  local status=$?
  printf '%s\t%s\n' "$((SECONDS - begun))" "$step" >>"$RESULTS/times"
  return "$status"
}

# Uses the variables of command_test, like the next two functions.
test_here() {
  local how=${system:---system}
  prepare_tests
  beside boost run_boost_suites
  ! is_wanted python || TEST_LONG=$long TEST_CLUSTER="${long:+galera group-replication}" timed python run_python python "${pytest_arguments[@]}"
  timed 'rest of unit and store' joined boost
  timed 'rest of the libraries, image' joined libraries
  [[ -z $long ]] || ! is_wanted python || timed 'on clusters' run_on_clusters
  ! is_wanted examples || beside receivers timed examples run_examples
  ! is_wanted hosts || timed hosts run_hosts
  ! is_wanted system || timed system run_system "$how" "$(host_release)" "${pytest_arguments[@]}"
  ! is_wanted examples || timed 'rest of examples' joined receivers
  ! is_wanted upgrade || timed upgrade run_upgrade "$how" "${pytest_arguments[@]}"
  ! is_wanted fuzz || timed fuzz run_fuzz
  ! is_wanted sanitizers || timed sanitizers run_sanitized
  ! is_wanted mysql || timed mysql run_on_mysql "${pytest_arguments[@]}"
  [[ -z $other ]] || timed 'rest of what ran on the other release' joined other-release
  [[ -z $other ]] || FRESH_MADE[$(other_release)]=1
}

run_boost_suites() {
  ! is_wanted unit || timed unit run_boost unit "$BOOST_PRESET"
  ! is_wanted store || timed store run_store "$BOOST_PRESET"
}

# Runs the wanted suites: system and upgrade on this host, where they boot a machine; all others inside a fresh Debian of
# the release.
test_on_release() {
  local how=${system:---system} inside
  install_packages python3
  inside=$(tr , '\n' <<<"$only" | sed '/^system$/d; /^upgrade$/d' | paste -sd ,)
  prepare_fresh "$release" || die "a fresh Debian ${DEBIAN[$release]} cannot be made here: $FRESH_OBSTACLE"
  [[ -n $only && -z $inside ]] ||
    run_fresh "$release" --preset "$BOOST_PRESET" ${long:+--long} ${examples:+--examples} ${mysql:+--mysql} ${inside:+--only "$inside"} "${pytest_arguments[@]}"
  ! is_wanted system || run_system "$how" "$release" "${pytest_arguments[@]}"
  ! is_wanted upgrade || run_upgrade "$how" "${pytest_arguments[@]}"
}

# Runs the demo inside a fresh Debian of the other release; with --long, also the suites unit and store. With --system, also
# runs the suites system and upgrade, on this host. Runs beside the other suites.
test_other_release() {
  local release
  release=$(other_release)
  timed "making a Debian ${DEBIAN[$release]}" prepare_fresh "$release" || {
    no_suite "$other" "test-$release" "the tests on a fresh Debian ${DEBIAN[$release]}" "$FRESH_OBSTACLE"
    return
  }
  command_in_fresh "$release" demo
  [[ -z $system ]] || timed "package of Debian ${DEBIAN[$release]}" package_of "$release" >/dev/null || say 'there is no package'
  [[ -z $system ]] || beside other-systems test_other_systems "$release"
  [[ -z $long ]] || test_in_fresh "$release" --only unit,store --preset release # the demo has built the libraries of this preset
  [[ -z $system ]] || joined other-systems
}

test_other_systems() {
  timed "system, Debian ${DEBIAN[$1]}" run_system "$system" "$1"
  timed upgrade run_upgrade "$system"
}

# is_wanted SUITE: true if the options select the suite (`only`, `long`, `examples`, `system` and `mysql` of command_test).
# Without --only, the suites unit, store and python always run.
is_wanted() {
  if [[ -n $only ]]; then
    [[ ,$only, == *",$1,"* ]]
    return
  fi
  case $1 in
    fuzz | sanitizers | hosts) [[ -n $long ]] ;;
    examples) [[ -n $examples ]] ;;
    system) [[ -n $system ]] ;;
    upgrade) false ;; # only if --only names it: it needs the packages of both releases
    mysql) [[ -n $mysql ]] ;;
  esac
}

prepare_tests() {
  timed 'Debian packages' install_test_packages
  [[ -z $other ]] || beside other-release test_other_release
  beside libraries timed 'libraries of the examples, image' prepare_libraries
  beside tools timed 'tools of the tests' prepare_tools
  install_database
  ! is_wanted mysql || DEV_DATABASE=mysql install_database
  ! { is_wanted unit || is_wanted store || is_wanted mysql; } || timed "build of the tests ($BOOST_PRESET)" build_preset "$BOOST_PRESET" "${TEST_TARGETS[@]}"
  ! { is_wanted python || is_wanted mysql || is_wanted hosts || is_wanted examples; } || timed "build of the programs ($DEV_PRESET)" build_preset "$DEV_PRESET" "${PROGRAMS[@]}"
  ! { is_wanted python || is_wanted mysql || is_wanted hosts || is_wanted examples; } || build_site
  [[ -z $long ]] || ! is_wanted python || { galera_install && group_replication_install && install_packages "${PACKAGE_PACKAGES[@]}" "${CLUSTER_TEST_PACKAGES[@]}"; }
  ! is_wanted fuzz || build_fuzz_targets
  ! is_wanted sanitizers || build_sanitized
  timed 'rest of these' joined tools
}

install_test_packages() {
  local packages=("${BUILD_PACKAGES[@]}" "${RUN_PACKAGES[@]}")
  [[ $only =~ ^((unit|store),?)+$ ]] || packages+=("${TEST_PACKAGES[@]}")
  [[ -z $other ]] || packages+=("${FRESH_PACKAGES[@]}")
  [[ -z $system ]] || packages+=("${SYSTEM_PACKAGES[@]}" "${PACKAGE_PACKAGES[@]}")
  install_packages "${packages[@]}"
}

prepare_tools() { ! { is_wanted python || is_wanted mysql; } || prepare_openapi_tools; }

# What the suites after `python` need.
prepare_libraries() {
  ! is_wanted examples || prepare_examples
  ! is_wanted system || system_obstacle "$(host_release)" "system-$(host_release)" >/dev/null
}

# Runs the suites that depend on the database again, on MySQL.
run_on_mysql() {
  local -x DEV_DATABASE=mysql
  local SUITE_SUFFIX=-mysql PYTHON_SUITES=("${MYSQL_SUITES[@]}")
  run_store "$BOOST_PRESET"
  TEST_LONG=$long run_python python "$@"
}

run_examples() {
  local -x EXAMPLES=$EXAMPLES EXAMPLES_REQUIRED=${EXAMPLES_REQUIRED:-}
  local PYTHON_SUITES=("${EXAMPLE_SUITES[@]}")
  TEST_LONG='' run_python examples
}

run_on_clusters() {
  local kind PYTHON_SUITES=("${CLUSTER_SUITES[@]}") PYTEST_WORKERS=()
  for kind in galera group-replication; do
    TEST_ON_CLUSTER=$kind TEST_LONG='' run_python "$kind"
  done
}

# suite_name SUITE PRESET: prints the name of the suite's results, with the preset unless the programs have it too, and with SUITE_SUFFIX.
suite_name() { if [[ $2 == "$DEV_PRESET" ]]; then echo "$1$SUITE_SUFFIX"; else echo "$1-$2$SUITE_SUFFIX"; fi; }

# write_suite NAME STATUS CASES: writes the results of a suite that is neither Boost.Test's nor pytest's, in their form.
write_suite() {
  printf '<testsuite name="%s">%s</testsuite>\n' "$1" "$3" >"$RESULTS/$1.xml"
  printf '%s\n' "$2" >"$RESULTS/$1.status"
}

# no_suite HOW SUITE WHAT OBSTACLE: notes a suite that cannot run here. Unless HOW ends in -if-possible, it counts as a
# failure.
no_suite() {
  if [[ $1 == *-if-possible ]]; then
    say "$3 are SKIPPED: $4"
  else
    say "$3 cannot run here: $4"
    write_suite "$2" 1 "$(case_of "$2" 1)"
  fi
}

# case_of NAME STATUS: prints a test case for the results; a STATUS other than 0 is a failure.
case_of() {
  if [[ $2 == 0 ]]; then printf '<testcase name="%s"/>' "$1"; else printf '<testcase name="%s"><failure/></testcase>' "$1"; fi
}

# run_boost NAME PRESET: leaves the JUnit report and the exit status, which shows a crash.
run_boost() {
  local status=0 suite
  suite=$(suite_name "$1" "$2")
  say "test suite $suite"
  "$ROOT/build/$2/tests/$1/${1}_tests" --color_output=no --report_level=no \
    "--logger=HRF,error,stdout:JUNIT,test_suite,$RESULTS/$suite.xml" || status=$?
  printf '%s\n' "$status" >"$RESULTS/$suite.status"
}

# run_store PRESET: runs on a fresh database server. A subshell, so that its trap stops and removes the server in every case.
run_store() (
  DEV_DIR=$ROOT/.dev/test-store
  lock_stack
  rm -rf "$DEV_DIR/db"
  trap 'stop_part db --then-kill; remove_sockets_dir; rm -rf "$DEV_DIR"' EXIT
  trap 'exit 130' INT TERM
  printf '1\n' >"$RESULTS/$(suite_name store "$1").status" # a failure, until run_boost replaces it
  DEV_DB_PORT=$(free_port)
  DB_OPTIONS=(--innodb-flush-method=nosync) # nothing needs to survive a crash: each test makes its own database
  start_db
  export TEST_DB_SOCKET TEST_DB_PORT=$DEV_DB_PORT TEST_DB_CA=$DEV_DIR/certs/ca.pem
  TEST_DB_SOCKET=$(db_socket)
  run_boost store "$1"
) || true

# run_python NAME [PYTEST ARGUMENTS]: runs pytest on PYTHON_SUITES, with the programs of DEV_PRESET. If arguments are
# existing paths, runs only these. Uses no parallel workers for such paths, nor if TEST_LONG is set.
run_python() {
  local suite=$1$SUITE_SUFFIX status=0 argument suites=("${PYTHON_SUITES[@]}") workers=("${PYTEST_WORKERS[@]}")
  shift
  [[ -z ${TEST_LONG:-} ]] || workers=()
  for argument in "$@"; do
    [[ ! -e ${argument%%::*} ]] || suites=() workers=() # paths were given: only those
  done
  say "test suite $suite"
  (
    cd "$ROOT" || exit 1
    export DEV_NO_BUILD=1 TEST_LONG TEST_CLUSTER
    unset DEV_DIR DEV_PORT
    exec "${PYTHON_RUNNER[@]}" "$PYTHON" -m pytest -q -p no:cacheprovider --junitxml="$RESULTS/$suite.xml" "${workers[@]}" "${suites[@]}" "$@"
  ) &
  # After a signal, pytest must still stop its stacks: the trap sends it SIGTERM, and waits until it has ended.
  # shellcheck disable=SC2064
  trap "kill -TERM $! 2>/dev/null; wait $!; exit 130" INT TERM
  wait $! || status=$?
  trap - INT TERM
  printf '%s\n' "$status" >"$RESULTS/$suite.status"
}
