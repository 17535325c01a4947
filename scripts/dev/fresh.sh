# shellcheck shell=bash
# A newcomer's machine: a minimal system of a Debian release with only ca-certificates and git added, and a clone of the
# committed state. Commands in it run in their own mount and process namespaces, so that nothing stays mounted or running,
# however they end.

FRESH=$ROOT/.dev/fresh
FRESH_TREE=/root/apientidades
declare -A FRESH_MADE # the releases that this run has prepared; it holds their locks
FRESH_NAMESPACES=(unshare --mount --propagation private --pid --fork --kill-child)
# shellcheck disable=SC2016
FRESH_ENTER='system=$1 tree=$2 && shift 2 && mount --bind "$system" "$system" && cd "$system" && mount -t proc proc proc &&
  mount --rbind /sys sys && mount --rbind /dev dev && mount -t tmpfs tmpfs run && cp /etc/resolv.conf /etc/hosts etc/ &&
  pivot_root . . && umount -l . && exec env -i -C "$tree" HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb ${CI:+CI="$CI"} ${OPENAPI_REQUIRED:+OPENAPI_REQUIRED="$OPENAPI_REQUIRED"} ${EXAMPLES_REQUIRED:+EXAMPLES_REQUIRED="$EXAMPLES_REQUIRED"} "$@"'

# prepare_fresh RELEASE: makes a fresh system, and tries to enter it. False if that fails; FRESH_OBSTACLE has the reason.
prepare_fresh() {
  local release=$1 log=$ROOT/build/fresh-$1.log
  [[ -z ${FRESH_MADE[$release]:-} ]] || return 0
  mkdir -p "${log%/*}" "$FRESH"
  FRESH_OBSTACLE='it needs root'
  ((EUID == 0)) || return 1
  FRESH_OBSTACLE='apt-get cannot install the packages that this needs'
  (install_packages "${FRESH_PACKAGES[@]}") >&2 || return 1
  lock_fresh "$release" || die "another ./dev has been busy with $FRESH/$release for two hours"
  say "making a fresh Debian ${DEBIAN[$release]}, and cloning this tree into it"
  [[ -z $(git_of_anyone -C "$ROOT" status --porcelain) ]] || say "what is not committed is not in the clone"
  FRESH_OBSTACLE="debootstrap, git or a mount namespace failed ($log)"
  fill_fresh "$release" >"$log" 2>&1 || return 1
  in_fresh "$release" true >>"$log" 2>&1 || return 1
  FRESH_MADE[$release]=1
}

# Holds the lock until this process ends.
lock_fresh() {
  local lock
  exec {lock}>"$FRESH/$1.lock"
  flock -n "$lock" || { say "waiting for another ./dev that is busy with $FRESH/$1" && flock -w 7200 "$lock"; }
}

fill_fresh() {
  remove_fresh "$1" &&
    make_debian "$FRESH/$1" "$1" ca-certificates,git &&
    git_of_anyone clone -q --no-hardlinks "$ROOT" "$FRESH/$1$FRESH_TREE"
}

# git refuses a checkout of another user unless safe.directory allows it. `git -c safe.directory=*` would not do for a clone:
# the process that git starts to read the source repository takes safe.directory only from a configuration file.
git_of_anyone() {
  printf '[safe]\n\tdirectory = *\n' >"$FRESH/gitconfig"
  GIT_CONFIG_GLOBAL=$FRESH/gitconfig git "$@"
}

remove_fresh() { rm -rf --one-file-system "${FRESH:?}/$1"; }

# in_fresh RELEASE COMMAND…: runs COMMAND in the clone.
in_fresh() {
  local system=$FRESH/$1 status=0
  shift
  "${FRESH_NAMESPACES[@]}" bash -c "$FRESH_ENTER" fresh "$system" "$FRESH_TREE" "$@" </dev/null &
  # unshare and the first process of a namespace ignore SIGINT and SIGTERM. SIGKILL ends everything in the namespace.
  # shellcheck disable=SC2064
  trap "kill -KILL $! 2>/dev/null; exit 130" INT TERM
  wait $! || status=$?
  trap - INT TERM
  return "$status"
}

# run_fresh RELEASE ARGUMENT…: the demo and `./dev test ARGUMENT…`, as a newcomer would run them. In the results each of
# these two commands is one test case, besides the cases of the suites that `./dev test` runs.
run_fresh() {
  local release=$1
  shift
  command_in_fresh "$release" demo
  test_in_fresh "$release" "$@"
}

test_in_fresh() {
  local release=$1
  shift
  say "if anything fails, $FRESH/$release$FRESH_TREE is kept"
  command_in_fresh "$release" test "$@"
  collect_fresh "$release"
}

# What runs beside it on this host gets the processors first.
command_in_fresh() {
  local release=$1 status=0
  shift
  say "./dev $* on a fresh Debian ${DEBIAN[$release]}"
  timed "$1 on a fresh Debian ${DEBIAN[$release]}" in_fresh "$release" nice -n 5 ./dev "$@" || status=$?
  say "./dev $1 on a fresh Debian ${DEBIAN[$release]}: exit status $status"
  write_suite "$1-$release" "$status" "$(case_of "$1" "$status")"
}

collect_fresh() {
  local release=$1 file name
  for file in "$FRESH/$release$FRESH_TREE"/build/test-results/*.{xml,status}; do
    [[ -e $file ]] || continue
    name=${file##*/}
    cp "$file" "$RESULTS/${name%.*}-$release.${name##*.}"
  done
  sed "s/$/ (on the fresh Debian ${DEBIAN[$release]})/" "$FRESH/$release$FRESH_TREE/build/test-results/times" >>"$RESULTS/times" || true
}
