# shellcheck shell=bash
# Installs tools for the tests. schemathesis (PyPI) and Redocly's linter (npm) check web/openapi.json. Playwright (PyPI)
# and axe (npm) check our pages in chromium. The schema of CycloneDX, for the bill of materials, is installed with
# schemathesis. Each tool has its own folder under build/openapi-tools and is pinned by the hashes of its files
# (tests/openapi, tests/browser). Fetching a tool runs none of its code. If root runs `dev`, the user `nobody` fetches it.

OPENAPI_TOOLS=$ROOT/build/openapi-tools

# Without network, the tests that need these tools are skipped, and say so; with OPENAPI_REQUIRED=1 they fail.
prepare_openapi_tools() {
  [[ -z $DEV_NO_BUILD ]] || return 0
  make_tool "$OPENAPI_TOOLS/schemathesis" "$(cat "$ROOT/tests/openapi/requirements.txt")" install_schemathesis "${OPENAPI_REQUIRED:-}"
  make_tool "$OPENAPI_TOOLS/redocly" "$(cat "$ROOT/tests/openapi/redocly/package-lock.json")" install_redocly "${OPENAPI_REQUIRED:-}"
  make_tool "$OPENAPI_TOOLS/playwright" "$(cat "$ROOT/tests/browser/requirements.txt")" install_playwright "${OPENAPI_REQUIRED:-}"
  make_tool "$OPENAPI_TOOLS/axe" "$(cat "$ROOT/tests/browser/axe/package-lock.json")" install_axe "${OPENAPI_REQUIRED:-}"
}

# make_tool FOLDER PINS INSTALL REQUIRED: runs INSTALL for FOLDER, unless FOLDER has been made from the same PINS. REQUIRED
# only affects the message if INSTALL fails.
make_tool() {
  local folder=$1 name=${1##*/}
  [[ $(cat "$folder/pins" 2>/dev/null) != "$2" ]] || return 0
  say "installing $name for the tests"
  rm -rf "$folder"
  (umask 022 && mkdir -p "$folder")
  if (umask 022 && "$3" "$folder") >"$folder/log" 2>&1; then
    printf '%s\n' "$2" >"$folder/pins"
  else
    tail -n 3 "$folder/log" >&2
    if [[ -n $4 ]]; then
      say "$name could not be installed ($folder/log): its tests will fail"
    else
      say "$name could not be installed ($folder/log): its tests are SKIPPED"
    fi
  fi
}

# in_scratch COMMAND…: runs COMMAND in an empty folder, which is also its home and which `nobody` may write to; removes
# the folder afterwards.
in_scratch() {
  local scratch
  scratch=$(mktemp -d) || return
  ((EUID != 0)) || chown nobody "$scratch"
  if (cd "$scratch" && HOME=$scratch "$@"); then rm -rf "$scratch"; else rm -rf "$scratch" && return 1; fi
}

unprivileged() {
  if ((EUID == 0)); then runuser -u nobody -- "$@"; else "$@"; fi
}

install_schemathesis() { install_wheels "$ROOT/tests/openapi" "$1"; }
install_playwright() { install_wheels "$ROOT/tests/browser" "$1"; }
install_redocly() { install_npm "$ROOT/tests/openapi/redocly" "$1"; }
install_axe() { install_npm "$ROOT/tests/browser/axe" "$1"; }

# install_wheels SOURCE FOLDER: SOURCE is the folder that has the pins. The functions below take the same arguments.
install_wheels() {
  "$PYTHON" -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
  in_scratch fetch_and_install_wheels "$@"
}

# Only wheels, because installing one runs none of its code.
fetch_and_install_wheels() {
  local pins=(--require-hashes --no-deps --only-binary ':all:' -r requirements.txt)
  install -m 0644 "$1/requirements.txt" . || return
  unprivileged "$PYTHON" -m venv fetch || return
  unprivileged fetch/bin/pip download --no-cache-dir -d wheels "${pins[@]}" || return
  "$PYTHON" -m venv "$2/venv" && "$2/venv/bin/pip" install --no-cache-dir --no-index --find-links wheels "${pins[@]}"
}

install_npm() {
  command -v npm >/dev/null || install_packages nodejs npm
  in_scratch fetch_node_modules "$@"
}

fetch_node_modules() {
  install -m 0644 "$1"/package{,-lock}.json . || return
  unprivileged npm ci --ignore-scripts --no-audit --no-fund --cache "$PWD/cache" || return
  cp -R node_modules "$2"
}
