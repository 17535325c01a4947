# shellcheck shell=bash
# Makes the Debian package (by CPack) and its bill of materials, and checks the package with lintian. The same commit and
# the same versions of the build tools make the same bytes, whatever the folder, user, host, umask, locale, time zone and
# order of files.

command_package() {
  local version='' release=''
  while (($#)); do
    case $1 in
      --version)
        [[ ${2:-} =~ ^[0-9][A-Za-z0-9.+]*$ ]] || usage_error "--version takes a version without the release's ending, like 0.0.9"
        version=$2
        shift
        ;;
      --release)
        require_release "${2:-}"
        release=$2
        shift
        ;;
      *) usage_error "'package' takes --version V and --release R, not '$1'" ;;
    esac
    shift
  done
  if [[ -n $release && $release != "$(host_release)" ]]; then
    package_in_fresh "$release" "$version"
  else
    package_here "$version"
  fi
}

package_here() {
  install_packages "${BUILD_PACKAGES[@]}" "${PACKAGE_PACKAGES[@]}"
  local time
  time=$(source_date) || die "neither git nor packaging/changelog tells the time of this version: set SOURCE_DATE_EPOCH"
  local -x SOURCE_DATE_EPOCH=$time LC_ALL=C.UTF-8 TZ=UTC
  build_preset release "${PROGRAMS[@]}" manuals site
  make_package "$1"
}

# package_in_fresh RELEASE [VERSION]: builds on a fresh system of that Debian release. Uses the system that the tests of
# this run have made, if any, and does not remove it.
package_in_fresh() {
  local release=$1 version=$2 built result tests=${FRESH_MADE[$1]:-} output=$ROOT/build/package/built-$1
  prepare_fresh "$release" || die "a package of Debian ${DEBIAN[$release]} cannot be built here: $FRESH_OBSTACLE"
  mkdir -p "${output%/*}"
  in_fresh "$release" env ${SOURCE_DATE_EPOCH:+"SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH"} ./dev package ${version:+--version "$version"} >"$output" || exit 1
  built=$(<"$output")
  rm -f "$output"
  result=$ROOT/build/package/${built##*/}
  cp "$FRESH/$release$built" "$FRESH/$release${built%.deb}.cdx.json" "${result%/*}/" ||
    die "the package is not where it should be: $FRESH/$release$built"
  [[ -n $tests ]] || remove_fresh "$release"
  printf '%s\n' "$result"
}

# Prints the end of the package's version, which names the Debian release.
version_ending() { sed -n 's/^set(CPACK_DEBIAN_PACKAGE_VERSION ".*\(~deb[0-9]*\)")$/\1/p' "$ROOT/build/release/CPackConfig.cmake"; }

# Prints the time of all packed files: SOURCE_DATE_EPOCH if set, else the time of the commit, or, without a Git checkout,
# of the first entry in packaging/changelog.
source_date() {
  local date
  if [[ -n ${SOURCE_DATE_EPOCH:-} ]]; then
    [[ $SOURCE_DATE_EPOCH =~ ^[0-9]{1,10}$ ]] && printf '%s\n' "$SOURCE_DATE_EPOCH"
  elif [[ -e $ROOT/.git ]]; then
    git -c "safe.directory=$ROOT" -c log.showSignature=false -C "$ROOT" log -1 --format=%ct # the checkout may belong to another user
  else
    date=$(sed -n '/^ -- /{s/^ -- .*>  //p;q}' "$ROOT/packaging/changelog") && [[ -n $date ]] && date -d "$date" +%s
  fi
}

# make_package [VERSION]: prints the package's path. VERSION is for tests of upgrades; the programs keep their version.
make_package() {
  local version=$1 folder=$ROOT/build/package/cpack log=$ROOT/build/package.log package
  rm -rf "$folder" && mkdir -p "$folder"
  # Debian's umask, whatever the caller's: installed files must be readable.
  (umask 022 && cd "$folder" && cpack --config "$ROOT/build/release/CPackConfig.cmake" -B "$folder" \
    ${version:+-D "CPACK_DEBIAN_PACKAGE_VERSION=$version$(version_ending)"}) \
    >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "cpack failed (all of it: $log)"; }
  package=$(find "$folder" -maxdepth 1 -name '*.deb')
  pack_alike "$package" "$folder/tree" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "dpkg-deb failed (all of it: $log)"; }
  lintian --no-cfg --fail-on error --tag-display-limit 0 "$package" >"$log" 2>&1 ||
    { cat "$log" >&2; die "lintian finds errors in $package"; }
  say "lintian: $(grep -c '^W:' "$log") warnings ($log)"
  "$PYTHON" "$ROOT/scripts/dev/sbom.py" "$package" "$ROOT/build/release" >"${package%.deb}.cdx.json" ||
    die "there is no bill of materials of $package"
  mv "$package" "${package%.deb}.cdx.json" "$ROOT/build/package/" || die "the package cannot be moved to $ROOT/build/package"
  rm -rf "$folder"
  printf '%s\n' "$ROOT/build/package/${package##*/}"
}

# pack_alike PACKAGE FOLDER: packs the package again, in FOLDER, so that its bytes do not depend on the file system.
# CPack packs the files in the file system's order, and adds up the file system's sizes of folders in Installed-Size; dpkg-deb
# sorts the files.
pack_alike() (
  package=$1 tree=$2
  umask 022
  dpkg-deb -R "$package" "$tree" &&
    LC_ALL=C sort -k 2 -o "$tree/DEBIAN/md5sums" "$tree/DEBIAN/md5sums" &&
    sed -i "s/^Installed-Size: .*/Installed-Size: $(installed_size "$tree")/" "$tree/DEBIAN/control" &&
    # Sets the mode, because a new folder inherits setgid or a default ACL from the folder above. A folder of mode 0700, for
    # root alone, keeps its mode.
    find "$tree" -type d ! -perm 0700 -exec chmod 00755 {} + &&
    find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} + &&
    # With several threads the bytes may depend on the number of threads.
    DPKG_DEB_THREADS_MAX=1 dpkg-deb --root-owner-group -Zxz -b "$tree" "$package"
)

# Sizes as in Debian's policy: files by their length in whole KiB, and 1 KiB for everything else.
installed_size() {
  find "$1" -mindepth 1 -path "$1/DEBIAN" -prune -o -mindepth 1 -printf '%y %s\n' |
    awk '{ size += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print size }'
}
