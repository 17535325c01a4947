# shellcheck shell=bash
# The tests on a real systemd. The image that they boot is made once for each release of Debian, with little but systemd.
# Our package's dependencies are put into the image's apt cache, because the booted system has no network.

# package_of RELEASE: prints the path of this run's package, which the suites of both releases share.
package_of() (
  made=$RESULTS/package-$1
  exec {lock}>"$made.lock" && flock "$lock" || exit 1
  [[ -s $made ]] || { command_package --release "$1" >"$made.new" && mv "$made.new" "$made"; } || exit 1
  cat "$made"
)

system_image() { printf '%s\n' "$ROOT/.dev/image-$1"; }

# run_system --system|--system-if-possible RELEASE ARGUMENT…: tests the package on a Debian of that release.
run_system() {
  local how=$1 release=$2 package
  shift 2
  prepare_system "$how" "system-$release" "$release" || return 0
  if package=$(package_of "$release") && fetch_dependencies "$release" "$package"; then
    # One machine runs all files of the folder in order.
    SYSTEM_IMAGE=$(system_image "$release") SYSTEM_PACKAGE=$package run_on_machine "system-$release" tests/system/debian "$@"
  else
    no_suite "" "system-$release" "the system tests on a Debian ${DEBIAN[$release]}" "the package or its dependencies are missing"
  fi
}

# run_upgrade --system|--system-if-possible ARGUMENT…: upgrades a Debian 12 to Debian 13, and our package for Debian 12 to
# that for Debian 13.
run_upgrade() {
  local how=$1 package next
  shift
  prepare_system "$how" upgrade bookworm || return 0
  if package=$(package_of bookworm) && next=$(package_of trixie) && fetch_dependencies bookworm "$package"; then
    SYSTEM_IMAGE=$(system_image bookworm) SYSTEM_PACKAGE=$package SYSTEM_NEXT_PACKAGE=$next \
      run_on_machine upgrade tests/system/debian/test_next_release.py "$@"
  else
    no_suite "" upgrade "the upgrade of Debian 12 to 13" "the package or its dependencies are missing"
  fi
}

# run_on_machine SUITE FOLDER ARGUMENT…
run_on_machine() {
  local suite=$1 PYTHON_SUITES=("$2") PYTEST_WORKERS=()
  shift 2
  run_python "$suite" "$@"
}

# prepare_system HOW SUITE RELEASE: false if the tests cannot run here. It then says why, and counts a failure unless HOW
# is --system-if-possible.
prepare_system() {
  local how=$1 suite=$2 release=$3 obstacle
  say "preparing a Debian ${DEBIAN[$release]} for the system tests (the first time takes some minutes)"
  obstacle=$(system_obstacle "$release" "$suite")
  [[ -z $obstacle ]] || {
    no_suite "$how" "$suite" "the system tests on a Debian ${DEBIAN[$release]}" "$obstacle"
    return 1
  }
}

# system_obstacle RELEASE SUITE: prints, in one line, why the system tests of a release cannot run here; prints nothing if they
# can. Installs the packages and makes the image that they need.
system_obstacle() {
  local image log=$ROOT/build/image-$2.log
  image=$(system_image "$1")
  mkdir -p "${log%/*}"
  ((EUID == 0)) || { echo 'it needs root'; return; }
  (install_packages "${SYSTEM_PACKAGES[@]}" "${RUN_PACKAGES[@]}" "${TEST_PACKAGES[@]}") >"$log" 2>&1 ||
    { obstacle 'apt-get cannot install the packages that they need' "$log"; return; }
  make_image "$image" "$1" >"$log" 2>&1 || { obstacle "debootstrap cannot make a Debian ${DEBIAN[$1]}" "$log"; return; }
  "$PYTHON" "$ROOT/tests/support/machine.py" --try "$image" >"$log" 2>&1 || obstacle 'systemd does not boot in a container' "$log"
}

obstacle() { printf '%s: %s\n' "$1" "$(grep -v '^$' "$2" | tail -n 1)"; }

make_image() (
  lock_image "$1" || exit 1
  [[ -d $1 ]] || make_debian "$1" "$2" systemd-sysv,dbus,ca-certificates
)

lock_image() {
  mkdir -p "${1%/*}" && exec 9>"$1.lock" && flock -w 1800 9
}

# fetch_dependencies RELEASE PACKAGE.deb: puts what apt would install with PACKAGE.deb, and the mail server that a test installs,
# into the image's apt cache.
fetch_dependencies() {
  local log=$ROOT/build/dependencies-$1.log
  fetch_into "$(system_image "$1")" "$2" >"$log" 2>&1 && return
  tail -n 10 "$log" >&2
  say "a Debian ${DEBIAN[$1]} does not have what the package depends on, or its mirror does not answer (all of it: $log)"
  return 1
}

fetch_into() (
  lock_image "$1" || exit 1
  cp "$2" "$1/tmp/wanted.deb" || exit 1
  trap 'rm -f "$1/tmp/wanted.deb"' EXIT
  # apt's lists of packages are as old as the image, and the mirror may no longer have the packages that they name.
  apt_in "$1" install --download-only /tmp/wanted.deb postfix ||
    { apt_in "$1" update && apt_in "$1" install --download-only /tmp/wanted.deb postfix; }
)
