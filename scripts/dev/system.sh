# shellcheck shell=bash
# The tests on a real systemd. The Debian 12 that they boot is made once, by debootstrap from the mirror that this
# machine's apt uses, with nothing in it but systemd. What the package depends on is put into its apt cache, since what
# boots has no network.

IMAGE=$ROOT/.dev/image

# run_system --system|--system-if-possible ARGUMENT…: where they cannot run, the one fails and the other says why.
run_system() {
  local how=$1 obstacle package log=$ROOT/build/image.log
  shift
  say "preparing a Debian 12 for the system tests (the first time takes some minutes)"
  obstacle=$(system_obstacle)
  if [[ -n $obstacle ]]; then
    [[ $how == --system-if-possible ]] || die "the system tests cannot run here: $obstacle"
    say "the system tests are SKIPPED: $obstacle"
    return
  fi
  package=$(command_package) || die "no package to test"
  fetch_dependencies "$package" >"$log" 2>&1 || {
    obstacle=$(obstacle 'apt-get cannot fetch what the package depends on' "$log")
    [[ $how == --system-if-possible ]] || die "the system tests cannot run here: $obstacle"
    say "the system tests are SKIPPED: $obstacle"
    return
  }
  local PYTHON_SUITES=(tests/system/debian) PYTEST_WORKERS=() # one machine, chapter after chapter
  SYSTEM_IMAGE=$IMAGE SYSTEM_PACKAGE=$package run_python system "$@"
}

# Why the system tests cannot run here, one line; nothing when they can. What can be made for them is made.
system_obstacle() {
  ((EUID == 0)) || { echo 'it needs root'; return; }
  grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release || { echo 'this is not Debian 12'; return; }
  local log=$ROOT/build/image.log
  mkdir -p "${log%/*}"
  (install_packages "${SYSTEM_PACKAGES[@]}") >"$log" 2>&1 || { obstacle 'apt-get cannot install what it takes' "$log"; return; }
  make_image >"$log" 2>&1 || { obstacle 'debootstrap cannot make a Debian 12' "$log"; return; }
  "$PYTHON" "$ROOT/tests/support/machine.py" --try "$IMAGE" >"$log" 2>&1 || obstacle 'systemd does not boot in a container' "$log"
}

obstacle() { printf '%s: %s\n' "$1" "$(grep -v '^$' "$2" | tail -n 1)"; }

# Made aside and moved, so that what is there is whole. (set -e would not hold in here: its caller tests its status.)
make_image() (
  lock_image || exit 1
  [[ ! -d $IMAGE ]] || exit 0
  say "making a Debian 12 for the system tests"
  rm -rf --one-file-system "$IMAGE.new"
  trap 'rm -rf --one-file-system "$IMAGE.new"' EXIT
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  export http_proxy https_proxy
  debootstrap --variant=minbase --include=systemd-sysv,dbus,ca-certificates bookworm "$IMAGE.new" "$(debian_mirror)" \
    </dev/null || exit 1
  debian_sources >"$IMAGE.new/etc/apt/sources.list"
  apt-config dump | grep -i '::proxy' >"$IMAGE.new/etc/apt/apt.conf.d/99proxy"
  apt_in_image "$IMAGE.new" update && mv "$IMAGE.new" "$IMAGE"
)

lock_image() {
  mkdir -p "${IMAGE%/*}" && exec 9>"$IMAGE.lock" && flock -w 1800 9
}

# targets FORMAT: of Debian's own archives, as this machine's apt has last seen them.
targets() { apt-get indextargets --format "$1" 'Created-By: Packages' 'Origin: Debian' | sort -u; }

debian_mirror() {
  local found
  # shellcheck disable=SC2016
  found=$(targets '$(CODENAME) $(REPO_URI)' | awk '$1 == "bookworm" && $2 ~ /^https?:/ { print $2; exit }')
  printf '%s\n' "${found:-http://deb.debian.org/debian}"
}

debian_sources() {
  local found
  # shellcheck disable=SC2016
  found=$(targets 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)')
  printf '%s\n' "${found:-deb $(debian_mirror) bookworm main}"
}

# apt_in_image FOLDER ARGUMENT…: with this machine's network.
apt_in_image() {
  local folder=$1
  shift
  rm -f "$folder/etc/resolv.conf"
  cp /etc/resolv.conf "$folder/etc/resolv.conf"
  DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$folder" apt-get -q -y "$@" </dev/null
}

# fetch_dependencies PACKAGE.deb: what apt would install with it, into the image's cache.
fetch_dependencies() (
  lock_image || exit 1
  cp "$1" "$IMAGE/tmp/wanted.deb" || exit 1
  trap 'rm -f "$IMAGE/tmp/wanted.deb"' EXIT
  # The lists are as old as the image, and their packages may be gone from the mirror.
  apt_in_image "$IMAGE" install --download-only /tmp/wanted.deb ||
    { apt_in_image "$IMAGE" update && apt_in_image "$IMAGE" install --download-only /tmp/wanted.deb; }
)
