# shellcheck shell=bash
# A newcomer's machine: a minimal system of a release with nothing but ca-certificates and git added, and a clone of what is
# committed here. Its commands run in namespaces of mounts and processes of their own, so that nothing is left mounted or running
# however they end.

FRESH=$ROOT/.dev/fresh
FRESH_TREE=/root/apientidades
declare -A FRESH_MADE # by release: in this run
FRESH_NAMESPACES=(unshare --mount --propagation private --pid --fork --kill-child)
# shellcheck disable=SC2016
FRESH_ENTER='root=$1 tree=$2 && shift 2 && mount --bind "$root" "$root" && cd "$root" && mount -t proc proc proc &&
  mount --rbind /sys sys && mount --rbind /dev dev && mount -t tmpfs tmpfs run && cp /etc/resolv.conf /etc/hosts etc/ &&
  pivot_root . . && umount -l . && exec env -i -C "$tree" HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb ${CI:+CI="$CI"} "$@"'

# Why there can be none here, one line; nothing when there can.
fresh_obstacle() {
  local log=$ROOT/build/fresh.log
  mkdir -p "${log%/*}"
  ((EUID == 0)) || { echo 'it needs root'; return; }
  (install_packages "${FRESH_PACKAGES[@]}") >"$log" 2>&1 || { obstacle 'apt-get cannot install what it takes' "$log"; return; }
  "${FRESH_NAMESPACES[@]}" mount -t tmpfs tmpfs "$ROOT/build" >"$log" 2>&1 || obstacle 'a mount namespace is not permitted' "$log"
}

# make_fresh RELEASE: from nothing.
make_fresh() {
  local release=$1 log=$ROOT/build/fresh.log
  say "making a fresh Debian ${DEBIAN[$release]}, and cloning this tree into it"
  [[ -z $(git -C "$ROOT" status --porcelain) ]] || say "what is not committed is not in the clone"
  remove_fresh "$release"
  fill_fresh "$release" >"$log" 2>&1 || {
    tail -n 10 "$log" >&2
    die "a fresh Debian ${DEBIAN[$release]} could not be made (all of it: $log)"
  }
  FRESH_MADE[$release]=1
}

fill_fresh() {
  make_debian "$FRESH/$1" "$1" ca-certificates,git &&
    git -c safe.directory='*' clone -q --no-hardlinks "$ROOT" "$FRESH/$1$FRESH_TREE"
}

remove_fresh() { rm -rf --one-file-system "${FRESH:?}/$1"; }

# in_fresh RELEASE COMMAND…: in the clone.
in_fresh() {
  local root=$FRESH/$1
  shift
  "${FRESH_NAMESPACES[@]}" bash -c "$FRESH_ENTER" fresh "$root" "$FRESH_TREE" "$@" </dev/null
}

# run_fresh RELEASE ARGUMENT…: the demo and `./dev test ARGUMENT…` as a newcomer begins; their cases are counted with the others'.
run_fresh() {
  local release=$1 status=0
  shift
  make_fresh "$release"
  say "./dev demo on a fresh Debian ${DEBIAN[$release]}"
  in_fresh "$release" ./dev demo || status=$?
  write_suite "demo-$release" "$status" "$(case_of demo "$status")"
  say "unless all passes, what runs there stays in $FRESH/$release$FRESH_TREE"
  say "./dev test $* on a fresh Debian ${DEBIAN[$release]}"
  in_fresh "$release" ./dev test "$@" || true # it is in the results
  collect_fresh "$release"
}

collect_fresh() {
  local release=$1 file name found=''
  for file in "$FRESH/$release$FRESH_TREE"/build/test-results/*.{xml,status}; do
    [[ -e $file ]] || continue
    name=${file##*/}
    cp "$file" "$RESULTS/${name%.*}-$release.${name##*.}"
    found=1
  done
  [[ -n $found ]] || write_suite "test-$release" 1 "$(case_of test 1)"
}
