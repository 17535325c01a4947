# shellcheck shell=bash
# The main job, shown on a stack of its own that is always taken down. scripts/demo.py does the showing.

command_demo() {
  [[ ${1:-} != --mysql ]] || { export DEV_DATABASE=mysql && shift; }
  (($# == 0)) || usage_error "'demo' takes no arguments but --mysql"
  build_programs
  export DEV_NO_BUILD=1 DEV_DIR=$ROOT/.dev/demo DEV_PORT
  DEV_PORT=$(free_port)
  local status=0
  trap '"$ROOT/dev" down; rm -rf "$DEV_DIR"' EXIT
  trap 'exit 130' INT TERM
  "$ROOT/dev" down 2>/dev/null && rm -rf "$DEV_DIR" # what an interrupted demo may have left
  "$ROOT/dev" up
  "$PYTHON" "$ROOT/scripts/demo.py" || status=$?
  exit "$status"
}
