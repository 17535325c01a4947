# shellcheck shell=bash
# The Debian releases on which the project is tested, and minimal systems of them, made by debootstrap from the mirror
# that this machine's apt uses.

declare -A DEBIAN=([bookworm]=12 [trixie]=13)

host_release() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release; }

is_tested_release() { [[ -n ${1:-} && -n ${DEBIAN[$1]:-} ]]; }

other_release() { if [[ $(host_release) == trixie ]]; then echo bookworm; else echo trixie; fi; }

require_release() {
  is_tested_release "${1:-}" || usage_error "--release takes one of: $(printf '%s\n' "${!DEBIAN[@]}" | sort | tr '\n' ' ')"
}

# make_debian FOLDER RELEASE PACKAGE,…: makes, in FOLDER.new, a minimal system that has the packages. Then renames FOLDER.new
# to FOLDER, so a FOLDER that exists is complete. debootstrap runs in a mount namespace, so that nothing stays mounted. Each
# step is checked here, because bash ignores set -e in a function when the caller tests its exit status, as the callers do.
make_debian() {
  local folder=$1 release=$2 packages=$3
  local -x http_proxy='' https_proxy=''
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  [[ -n $http_proxy ]] || unset http_proxy
  [[ -n $https_proxy ]] || unset https_proxy
  mkdir -p "${folder%/*}" && rm -rf --one-file-system "$folder.new" || return 1
  unshare --mount --propagation private debootstrap --variant=minbase --include="$packages" "$release" "$folder.new" "$(debian_mirror)" </dev/null &&
    debian_sources "$release" >"$folder.new/etc/apt/sources.list" &&
    { apt-config dump | grep -i '::proxy' >"$folder.new/etc/apt/apt.conf.d/99proxy" || true; } &&
    apt_in "$folder.new" update &&
    mv "$folder.new" "$folder" && return
  rm -rf --one-file-system "$folder.new"
  return 1
}

# targets FORMAT: prints, as FORMAT says, each package index of Debian's own archives that this machine's apt uses.
targets() { apt-get indextargets --format "$1" 'Created-By: Packages' 'Origin: Debian' | sort -u; }

debian_mirror() {
  local found
  # shellcheck disable=SC2016
  found=$(targets '$(CODENAME) $(REPO_URI)' | awk -v release="$(host_release)" '$1 == release && $2 ~ /^https?:/ { print $2; exit }')
  printf '%s\n' "${found:-http://deb.debian.org/debian}"
}

# debian_sources RELEASE: prints this machine's apt sources, with RELEASE in place of this machine's release.
debian_sources() {
  local release=$1 host found
  host=$(host_release)
  # shellcheck disable=SC2016
  found=$(targets 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' | sed -n "s/^\(deb http[^ ]* \)$host\(-[a-z]*\)\{0,1\} /\1$release\2 /p")
  printf '%s\n' "${found:-deb $(debian_mirror) $release main}"
}

# apt_in FOLDER ARGUMENT…: runs apt-get in the system in FOLDER, with this machine's /etc/resolv.conf.
apt_in() {
  local folder=$1
  shift
  rm -f "$folder/etc/resolv.conf"
  cp /etc/resolv.conf "$folder/etc/resolv.conf"
  DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$folder" apt-get -q -y "$@" </dev/null
}
