# shellcheck shell=bash
# What checks web/openapi.json: schemathesis (PyPI; beside it the schema of CycloneDX) and Redocly's linter (npm), each in a folder of its own
# under build. Both are pinned by the hashes of their files (tests/openapi). Fetching them runs nothing of theirs, and as root the user nobody
# fetches and runs them.

OPENAPI_TOOLS=$ROOT/build/openapi-tools

# Without the network the tests that need them are skipped, and say so; with OPENAPI_REQUIRED=1 they fail.
prepare_openapi_tools() {
  export OPENAPI_TOOLS OPENAPI_REQUIRED=${OPENAPI_REQUIRED:-}
  [[ -z $DEV_NO_BUILD ]] || return 0
  make_tool schemathesis "$(cat "$ROOT/tests/openapi/requirements.txt")" install_schemathesis
  make_tool redocly "$(cat "$ROOT/tests/openapi/redocly/package-lock.json")" install_redocly
}

# make_tool NAME PINS INSTALL: anew when its pins change.
make_tool() {
  local folder=$OPENAPI_TOOLS/$1
  [[ $(cat "$folder/pins" 2>/dev/null) != "$2" ]] || return 0
  say "installing $1 for the tests"
  rm -rf "$folder"
  (umask 022 && mkdir -p "$folder")
  if (umask 022 && "$3" "$folder") >"$folder/log" 2>&1; then
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

# in_scratch COMMAND…: in an empty folder that its user may write to, its home, too; the folder is gone afterwards.
in_scratch() {
  local scratch
  scratch=$(mktemp -d) || return
  ((EUID != 0)) || chown nobody "$scratch"
  if (cd "$scratch" && HOME=$scratch "$@"); then rm -rf "$scratch"; else rm -rf "$scratch" && return 1; fi
}

unprivileged() {
  if ((EUID == 0)); then runuser -u nobody -- "$@"; else "$@"; fi
}

install_schemathesis() {
  "$PYTHON" -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
  in_scratch fetch_and_install_wheels "$1"
}

# Nothing but wheels: to install one runs none of its code.
fetch_and_install_wheels() {
  local pins=(--require-hashes --no-deps --only-binary ':all:' -r requirements.txt)
  install -m 0644 "$ROOT/tests/openapi/requirements.txt" . || return
  unprivileged "$PYTHON" -m venv fetch || return
  unprivileged fetch/bin/pip download --no-cache-dir -d wheels "${pins[@]}" || return
  "$PYTHON" -m venv "$1/venv" && "$1/venv/bin/pip" install --no-cache-dir --no-index --find-links wheels "${pins[@]}"
}

install_redocly() {
  command -v npm >/dev/null || install_packages nodejs npm
  in_scratch fetch_redocly "$1"
}

fetch_redocly() {
  install -m 0644 "$ROOT"/tests/openapi/redocly/package{,-lock}.json . || return
  unprivileged npm ci --ignore-scripts --no-audit --no-fund --cache "$PWD/cache" || return
  cp -R node_modules "$1"
}
