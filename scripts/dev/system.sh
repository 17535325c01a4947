# shellcheck shell=bash
# The tests on a real systemd. The Debian that they boot is made once for each release, with nothing in it but systemd. What the
# package depends on is put into its apt cache, since what boots has no network.

system_image() { printf '%s\n' "$ROOT/.dev/image-$1"; }

# run_system --system|--system-if-possible RELEASE ARGUMENT…: the package on a Debian of that release.
run_system() {
  local how=$1 release=$2 package
  shift 2
  prepare_system "$how" "$release" || return 0
  package=$(command_package --release "$release") || die "no package to test"
  fetch_dependencies "$how" "$release" "$package" || return 0
  # One machine, chapter after chapter.
  SYSTEM_IMAGE=$(system_image "$release") SYSTEM_PACKAGE=$package run_on_machine "system-$release" tests/system/debian "$@"
}

# run_upgrade --system|--system-if-possible ARGUMENT…: a Debian 12 with its package becomes a Debian 13 with its own.
run_upgrade() {
  local how=$1 package next
  shift
  prepare_system "$how" bookworm || return 0
  package=$(command_package --release bookworm) || die "no package to begin with"
  next=$(command_package --release trixie) || die "no package to end with"
  fetch_dependencies "$how" bookworm "$package" || return 0
  SYSTEM_IMAGE=$(system_image bookworm) SYSTEM_PACKAGE=$package SYSTEM_NEXT_PACKAGE=$next SYSTEM_NEXT_SOURCES=$(debian_sources trixie) \
    run_on_machine upgrade tests/system/debian/test_next_release.py "$@"
}

# run_on_machine SUITE FOLDER ARGUMENT…
run_on_machine() {
  local suite=$1 PYTHON_SUITES=("$2") PYTEST_WORKERS=()
  shift 2
  run_python "$suite" "$@"
}

# False, having said why, where they cannot run and --system-if-possible was asked.
prepare_system() {
  local how=$1 release=$2 obstacle
  say "preparing a Debian ${DEBIAN[$release]} for the system tests (the first time takes some minutes)"
  obstacle=$(system_obstacle "$release")
  [[ -z $obstacle ]] || skip_system "$how" "$obstacle"
}

skip_system() {
  [[ $1 == --system-if-possible ]] || die "the system tests cannot run here: $2"
  say "the system tests are SKIPPED: $2"
  return 1
}

# Why the system tests of a release cannot run here, one line; nothing when they can. What can be made for them is made.
system_obstacle() {
  local image log=$ROOT/build/image.log
  image=$(system_image "$1")
  mkdir -p "${log%/*}"
  ((EUID == 0)) || { echo 'it needs root'; return; }
  (install_packages "${SYSTEM_PACKAGES[@]}") >"$log" 2>&1 ||
    { obstacle 'apt-get cannot install what it takes' "$log"; return; }
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

# fetch_dependencies HOW RELEASE PACKAGE.deb: what apt would install with it, into the image's cache.
fetch_dependencies() {
  local log=$ROOT/build/image.log
  fetch_into "$(system_image "$2")" "$3" >"$log" 2>&1 ||
    skip_system "$1" "$(obstacle 'apt-get cannot fetch what the package depends on' "$log")"
}

fetch_into() (
  lock_image "$1" || exit 1
  cp "$2" "$1/tmp/wanted.deb" || exit 1
  trap 'rm -f "$1/tmp/wanted.deb"' EXIT
  # The lists are as old as the image, and their packages may be gone from the mirror.
  apt_in "$1" install --download-only /tmp/wanted.deb ||
    { apt_in "$1" update && apt_in "$1" install --download-only /tmp/wanted.deb; }
)
