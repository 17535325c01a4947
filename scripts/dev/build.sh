# shellcheck shell=bash
# Builds by CMake's presets. Prints CMake's output only if a build fails.

SITE=$ROOT/build/site
PROGRAMS=(apientidades-fcgi apientidades-dispatcher apientidades-notices apientidades-admin)

# build_preset PRESET TARGET…
build_preset() {
  local preset=$1 folder=$ROOT/build/$1 warnings=()
  shift
  [[ -z ${CI:-} ]] || warnings=(-DCMAKE_COMPILE_WARNING_AS_ERROR=ON) # the preset `release` does not set it
  [[ -z $DEV_NO_BUILD ]] || return 0
  is_tested_release "$(host_release)" || {
    warnings=(--compile-no-warning-as-error)
    say "this is neither Debian 12 nor 13: untested. Warnings do not stop the build, and a failure may be due to this system"
  }
  mkdir -p "$folder"
  (
    flock -w 3600 9 || die "another build of preset $preset does not end"
    say "building $* (preset $preset; the first time takes some minutes)"
    cd "$ROOT"
    quiet_build "$folder/dev-build.log" cmake --preset "$preset" "${warnings[@]}"
    quiet_build "$folder/dev-build.log" cmake --build --preset "$preset" --target "$@"
  ) 9>"$folder/dev-build.lock" || exit 1
}

quiet_build() {
  local log=$1
  shift
  "$@" 9>&- >"$log" 2>&1 || {
    tail -n 60 "$log" >&2
    die "the build failed (all of it: $log)"
  }
}

command_build() {
  install_packages "${BUILD_PACKAGES[@]}"
  [[ ${1:-} != fuzz ]] || { build_fuzz_targets; return; }
  local preset=${1:-release} targets=("${PROGRAMS[@]}")
  [[ $preset == release ]] || targets=(all)
  build_preset "$preset" "${targets[@]}"
}

build_programs() {
  install_packages "${BUILD_PACKAGES[@]}" "${RUN_PACKAGES[@]}"
  build_preset "$DEV_PRESET" "${PROGRAMS[@]}"
  build_site
}

# Builds the documentation for entities; with DEV_NO_BUILD=1 keeps the site of an earlier build.
build_site() {
  [[ -z $DEV_NO_BUILD ]] || return 0
  "$PYTHON" "$ROOT/scripts/build_site.py" "$SITE" || die "the documentation could not be built: see the line above"
}

command_site() {
  (($# == 0)) || usage_error "'site' takes no arguments"
  install_packages "${SITE_PACKAGES[@]}"
  build_site
  printf '%s\n' "$SITE"
}
