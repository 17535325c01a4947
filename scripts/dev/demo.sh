# shellcheck shell=bash
# ./dev demo: runs scripts/demo.py, which shows the service's main job, on a stack of its own, and always removes that stack.

command_demo() {
  [[ ${1:-} != --mysql ]] || { export DEV_DATABASE=mysql && shift; }
  (($# == 0)) || usage_error "'demo' takes no arguments but --mysql"
  build_programs
  export DEV_NO_BUILD=1 DEV_DIR=$ROOT/.dev/demo DEV_PORT
  DEV_PORT=$(free_port)
  local status=0
  trap '"$ROOT/dev" down; rm -rf "$DEV_DIR"' EXIT
  trap 'exit 130' INT TERM
  "$ROOT/dev" down 2>/dev/null && rm -rf "$DEV_DIR" # remains of an interrupted demo
  "$ROOT/dev" up
  "$PYTHON" "$ROOT/scripts/demo.py" || status=$?
  exit "$status"
}
