# shellcheck shell=bash
# The Debian 12 that the system tests boot: made once by debootstrap from the mirror that this machine's apt uses, with
# nothing in it but systemd. What the package depends on is put into its apt cache, since what boots has no network.

IMAGE=$ROOT/.dev/image

# Why the system tests cannot run here, one line; nothing when they can. What can be made for them is made.
system_obstacle() {
  ((EUID == 0)) || { echo 'it needs root'; return; }
  [[ $(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-}") == 'debian 12' ]] || { echo 'this is not Debian 12'; return; }
  local log=$ROOT/build/image.log
  mkdir -p "${log%/*}"
  (install_packages "${SYSTEM_PACKAGES[@]}") >"$log" 2>&1 || { obstacle 'apt-get cannot install what it takes' "$log"; return; }
  make_image >"$log" 2>&1 || { obstacle 'debootstrap cannot make a Debian 12' "$log"; return; }
  "$PYTHON" "$ROOT/tests/support/machine.py" --try "$IMAGE" >"$log" 2>&1 || obstacle 'systemd does not boot in a container' "$log"
}

obstacle() { printf '%s: %s\n' "$1" "$(grep -v '^$' "$2" | tail -n 1)"; }

make_image() (
  set -e
  mkdir -p "$ROOT/.dev"
  exec 9>"$ROOT/.dev/image.lock"
  flock -w 1800 9
  [[ ! -d $IMAGE ]] || return 0
  say "making a Debian 12 for the system tests"
  rm -rf --one-file-system "$IMAGE.new"
  trap 'rm -rf --one-file-system "$IMAGE.new"' EXIT
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  export http_proxy https_proxy
  debootstrap --variant=minbase --include=systemd-sysv,dbus,ca-certificates bookworm "$IMAGE.new" "$(debian_mirror)" </dev/null
  debian_sources >"$IMAGE.new/etc/apt/sources.list"
  apt-config dump | grep -i '::proxy' >"$IMAGE.new/etc/apt/apt.conf.d/99proxy" || true
  apt_in_image "$IMAGE.new" update
  mv "$IMAGE.new" "$IMAGE"
)

debian_mirror() {
  local found
  found=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Origin: Debian' |
    awk '$2 == "bookworm" && $1 ~ /^https?:/ { print $1; exit }')
  printf '%s\n' "${found:-http://deb.debian.org/debian}"
}

# Debian's own archives as this machine reaches them, whatever else it has.
debian_sources() {
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u
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
  set -e
  exec 9>"$ROOT/.dev/image.lock"
  flock -w 1800 9
  cp "$1" "$IMAGE/tmp/wanted.deb"
  trap 'rm -f "$IMAGE/tmp/wanted.deb"' EXIT
  # The lists are as old as the image, and their packages may be gone from the mirror.
  apt_in_image "$IMAGE" install --download-only /tmp/wanted.deb ||
    { apt_in_image "$IMAGE" update && apt_in_image "$IMAGE" install --download-only /tmp/wanted.deb; }
)
