# shellcheck shell=bash
# What checks web/openapi.json: schemathesis (PyPI) and Redocly's linter (npm), pinned, each in a folder of its own under .dev.

REDOCLY=1.34.5 # of the last series for the Node.js of Debian 12
OPENAPI_TOOLS=$ROOT/.dev/openapi-tools

# Without the network the tests that need them are skipped, and say so; with OPENAPI_REQUIRED=1 they fail.
prepare_openapi_tools() {
  export OPENAPI_TOOLS OPENAPI_REQUIRED=${OPENAPI_REQUIRED:-}
  [[ -z $DEV_NO_BUILD ]] || return 0
  make_tool schemathesis "$(cat "$ROOT/tests/openapi/requirements.txt")" install_schemathesis
  make_tool redocly "$REDOCLY" install_redocly
}

# make_tool NAME PINS INSTALL: anew when its pins change.
make_tool() {
  local folder=$OPENAPI_TOOLS/$1
  [[ $(cat "$folder/pins" 2>/dev/null) != "$2" ]] || return 0
  say "installing $1 for the tests"
  rm -rf "$folder"
  mkdir -p "$folder"
  if ("$3" "$folder") >"$folder/log" 2>&1; then
    printf '%s\n' "$2" >"$folder/pins"
  else
    tail -n 3 "$folder/log" >&2
    if [[ -n ${OPENAPI_REQUIRED:-} ]]; then
      say "$1 could not be installed ($folder/log): its tests will fail (OPENAPI_REQUIRED)"
    else
      say "$1 could not be installed ($folder/log): its tests are SKIPPED"
    fi
  fi
}

install_schemathesis() {
  "$PYTHON" -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
  "$PYTHON" -m venv "$1/venv" && "$1/venv/bin/pip" install --no-deps -r "$ROOT/tests/openapi/requirements.txt"
}

install_redocly() {
  command -v npm >/dev/null || install_packages nodejs npm
  npm install --prefix "$1" --no-audit --no-fund --ignore-scripts "@redocly/cli@$REDOCLY"
}
