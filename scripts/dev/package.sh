# shellcheck shell=bash
# The Debian package of a release, by CPack, what lintian thinks of it, and its SBOM (CycloneDX) beside it. Two builds of one commit
# are the same bytes.

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
  build_preset release "${PROGRAMS[@]}" manuals site
  make_package "$1"
}

# package_in_fresh RELEASE [VERSION]: on a fresh system of that release; on that of the tests, where they have just made one.
package_in_fresh() {
  local release=$1 version=$2 built result tests=${FRESH_MADE[$1]:-} output=$ROOT/build/package/built-$1
  prepare_fresh "$release" || die "a package of Debian ${DEBIAN[$release]} cannot be built here: $FRESH_OBSTACLE"
  mkdir -p "${output%/*}"
  in_fresh "$release" ./dev package ${version:+--version "$version"} >"$output" || exit 1
  built=$(<"$output")
  rm -f "$output"
  result=$ROOT/build/package/${built##*/}
  { cp "$FRESH/$release$built" "$result" && cp "$FRESH/$release${built%.deb}.cdx.json" "${result%.deb}.cdx.json"; } ||
    die "the package is not where it should be: $FRESH/$release$built"
  [[ -n $tests ]] || remove_fresh "$release"
  printf '%s\n' "$result"
}

# The end of the package's version, which says of which release it is.
version_ending() { sed -n 's/^set(CPACK_DEBIAN_PACKAGE_VERSION ".*\(~deb[0-9]*\)")$/\1/p' "$ROOT/build/release/CPackConfig.cmake"; }

# make_package [VERSION]: prints its path. Another version is for tests of upgrades: the programs keep their own.
make_package() {
  local version=$1 folder=$ROOT/build/package/cpack log=$ROOT/build/package.log package
  rm -rf "$folder" && mkdir -p "$folder"
  # Debian's umask, whatever the caller's: what is installed must be readable.
  (umask 022 && cd "$folder" && cpack --config "$ROOT/build/release/CPackConfig.cmake" -B "$folder" \
    ${version:+-D "CPACK_DEBIAN_PACKAGE_VERSION=$version$(version_ending)"}) \
    >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "cpack failed (all of it: $log)"; }
  package=$(find "$folder" -maxdepth 1 -name '*.deb')
  pack_again "$package" "$folder/tree"
  lintian --no-cfg --fail-on error --tag-display-limit 0 "$package" >"$log" 2>&1 ||
    { cat "$log" >&2; die "lintian finds errors in $package"; }
  say "lintian: $(grep -c '^W:' "$log") warnings ($log)"
  mv "$package" "$ROOT/build/package/" || die "the package cannot be moved to $ROOT/build/package"
  rm -rf "$folder"
  package=$ROOT/build/package/${package##*/}
  "$PYTHON" "$ROOT/scripts/dev/sbom.py" "$package" "$(source_date)" >"${package%.deb}.cdx.json" || die "the SBOM could not be made"
  printf '%s\n' "$package"
}

# What the package says that it is of: the time of the commit, or else of the change log.
source_date() {
  git -C "$ROOT" log -1 --format=%ct 2>/dev/null || dpkg-parsechangelog -l "$ROOT/packaging/changelog" -S Timestamp
}

# pack_again PACKAGE FOLDER: the same content with one time, in the order of the names, by one thread: CPack's own archives have the
# time of the build.
pack_again() {
  local date
  date=$(source_date) || die "neither git nor packaging/changelog says of when this source is"
  {
    dpkg-deb --raw-extract "$1" "$2" && find "$2" -exec touch --no-dereference --date="@$date" {} + &&
      SOURCE_DATE_EPOCH=$date dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$2" "$1" >/dev/null
  } || die "$1 could not be packed again"
  rm -rf "$2"
}
