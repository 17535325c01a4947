# shellcheck shell=bash
# Debian packages: each step of `dev` installs those of its packages that this machine lacks, and prints their names.

SITE_PACKAGES=(python3 python3-jinja2 python3-markdown-it python3-yaml)
BUILD_PACKAGES=(g++ cmake ninja-build pkg-config libfcgi-dev rapidjson-dev libssl-dev libcurl4-openssl-dev
  libc-ares-dev libgoogle-perftools-dev libmysqlcppconn-dev libboost-program-options-dev libboost-test-dev libsystemd-dev
  libidn2-dev prometheus-cpp-dev "${SITE_PACKAGES[@]}")
RUN_PACKAGES=(nginx mariadb-server-core mariadb-client-core python3 curl openssl ca-certificates procps)
TEST_PACKAGES=(python3-pytest python3-pytest-xdist python3-aiosmtpd faketime iproute2 nftables prometheus prometheus-blackbox-exporter mariadb-client chromium-headless-shell firefox-esr)
BENCH_PACKAGES=(wrk valgrind)
PACKAGE_PACKAGES=(binutils dpkg-dev file git gzip lintian python3)
FRESH_PACKAGES=(debootstrap util-linux git)
SYSTEM_PACKAGES=(debootstrap systemd-container util-linux)
LINT_PACKAGES=(clang-format clang-tidy shellcheck)

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

install_packages() {
  [[ -z $DEV_NO_BUILD ]] || return 0
  local package missing=()
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  say "installing ${missing[*]}"
  apt_install "${missing[@]}" || die "could not install ${missing[*]}: see the lines above"
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    command -v sudo >/dev/null || die "needs root or sudo for: $*"
    sudo "$@"
  fi
}

# Installs packages without starting their services: the stack runs its own nginx and MariaDB, and Debian's nginx service would
# take the machine's port 80. If the machine has a policy-rc.d already, that file decides instead which services start.
apt_install() {
  command -v apt-get >/dev/null || die "this is not Debian: install by hand $*"
  as_root bash -s -- "$@" >&2 <<'ROOT'
    set -e
    exec 9</var/lib/apt/lists && flock -w 1800 9 # one `dev` at a time: apt-get update does not wait for another
    export DEBIAN_FRONTEND=noninteractive
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
      trap 'rm -f "$policy"' EXIT
      printf '#!/bin/sh\nexit 101\n' >"$policy"
      chmod +x "$policy"
    fi
    quietly() { out=$("$@" 2>&1 9<&-) || { printf '%s\n' "$out" | tail -n 20; exit 1; }; }
    quietly apt-get -q -o DPkg::Lock::Timeout=300 update </dev/null
    quietly apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "$@" </dev/null
ROOT
}
