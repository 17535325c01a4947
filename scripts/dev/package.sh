# shellcheck shell=bash
# The Debian package, by CPack, and what lintian thinks of it.

command_package() {
  local version=''
  while (($#)); do
    case $1 in
      --version)
        [[ ${2:-} =~ ^[0-9][A-Za-z0-9.+~]*$ ]] || usage_error "--version takes a Debian version, like 0.0.9"
        version=$2
        shift
        ;;
      *) usage_error "'package' takes --version V, not '$1'" ;;
    esac
    shift
  done
  install_packages "${BUILD_PACKAGES[@]}" "${PACKAGE_PACKAGES[@]}"
  build_preset release "${PROGRAMS[@]}" manuals
  make_package "$version"
}

# make_package [VERSION]: prints its path. Another version is for tests of upgrades: the programs keep their own.
make_package() {
  local version=$1 folder=$ROOT/build/package log=$ROOT/build/package.log package
  rm -rf "$folder" && mkdir -p "$folder"
  # Debian's umask, whatever the caller's: what is installed must be readable.
  (umask 022 && cd "$folder" && cpack --config "$ROOT/build/release/CPackConfig.cmake" -B "$folder" ${version:+-R "$version"}) \
    >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "cpack failed (all of it: $log)"; }
  rm -rf "$folder/_CPack_Packages"
  package=$(find "$folder" -name '*.deb')
  lintian --no-cfg --fail-on error --tag-display-limit 0 "$package" >"$log" 2>&1 ||
    { cat "$log" >&2; die "lintian finds errors in $package"; }
  say "lintian: $(grep -c '^W:' "$log") warnings ($log)"
  printf '%s\n' "$package"
}
