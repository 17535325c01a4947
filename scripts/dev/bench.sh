# shellcheck shell=bash
# Runs the benchmarks of bench/, which make stacks of their own and take them down.

command_bench() {
  local argument
  for argument in "$@"; do
    [[ $argument != -h && $argument != --help ]] || run_benchmarks --help
  done
  (run_benchmarks --only-arguments "$@") || exit 2
  build_programs
  install_packages "${BENCH_PACKAGES[@]}"
  build_preset "$DEV_PRESET" bench_control bench_lean bench_hello bench_commits bench_seal
  export DEV_NO_BUILD=1
  run_benchmarks "$@"
}

run_benchmarks() {
  cd "$ROOT" || exit 1
  export DEV_PRESET PYTHONDONTWRITEBYTECODE=1
  exec "$PYTHON" -m bench "$@"
}
