# shellcheck shell=bash
# Style and static analysis.

sources() { find "$ROOT"/{lib,fcgi-app,dispatcher,admin,bench,tests} -name '*.[ch]pp' "$@"; }

command_format() {
  install_packages "${LINT_PACKAGES[@]}"
  sources -exec clang-format -i {} +
}

command_lint() {
  local trouble=0
  install_packages "${BUILD_PACKAGES[@]}" "${LINT_PACKAGES[@]}"
  say "formatting"
  sources -exec clang-format --dry-run -Werror {} + || trouble=1
  say "shell scripts"
  shellcheck -e SC2034 "$ROOT/dev" "$ROOT"/scripts/dev/*.sh "$ROOT/.ci/run" || trouble=1
  say "clang-tidy (this takes minutes)"
  build_preset debug all
  sources -name '*.cpp' -print0 |
    xargs -0 -n 4 -P "$(nproc)" clang-tidy --quiet -p "$ROOT/build/debug" 2>/dev/null || trouble=1
  ((trouble == 0)) || die "mend what the lines above name"
  say "clean"
}
