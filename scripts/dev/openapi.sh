# shellcheck shell=bash
# What checks web/openapi.json: schemathesis (PyPI) and Redocly's linter (npm); and what checks our pages in chromium: Playwright (PyPI) and
# axe (npm). Each has a folder of its own under build and is pinned by the hashes of its files (tests/openapi, tests/browser). Fetching them
# runs nothing of theirs, and as root the user nobody fetches them.

OPENAPI_TOOLS=$ROOT/build/openapi-tools

# Without the network the tests that need them are skipped, and say so; with OPENAPI_REQUIRED=1 they fail.
prepare_openapi_tools() {
  export OPENAPI_TOOLS OPENAPI_REQUIRED=${OPENAPI_REQUIRED:-}
  [[ -z $DEV_NO_BUILD ]] || return 0
  make_tool schemathesis install_wheels "$ROOT/tests/openapi/requirements.txt"
  make_tool redocly install_npm "$ROOT/tests/openapi/redocly/package-lock.json"
  make_tool playwright install_wheels "$ROOT/tests/browser/requirements.txt"
  make_tool axe install_npm "$ROOT/tests/browser/axe/package-lock.json"
}

# make_tool NAME INSTALL PINS: anew when the file of its pins changes.
make_tool() {
  local folder=$OPENAPI_TOOLS/$1
  ! cmp -s "$3" "$folder/pins" || return 0
  say "installing $1 for the tests"
  rm -rf "$folder"
  (umask 022 && mkdir -p "$folder")
  if (umask 022 && "$2" "$3" "$folder") >"$folder/log" 2>&1; then
    cp "$3" "$folder/pins"
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

install_wheels() {
  "$PYTHON" -c 'import ensurepip' 2>/dev/null || install_packages python3-venv
  in_scratch fetch_and_install_wheels "$@"
}

# Nothing but wheels: to install one runs none of its code.
fetch_and_install_wheels() {
  local pins=(--require-hashes --no-deps --only-binary ':all:' -r requirements.txt)
  install -m 0644 "$1" requirements.txt || return
  unprivileged "$PYTHON" -m venv fetch || return
  unprivileged fetch/bin/pip download --no-cache-dir -d wheels "${pins[@]}" || return
  "$PYTHON" -m venv "$2/venv" && "$2/venv/bin/pip" install --no-cache-dir --no-index --find-links wheels "${pins[@]}"
}

install_npm() {
  command -v npm >/dev/null || install_packages nodejs npm
  in_scratch fetch_npm "$@"
}

fetch_npm() {
  install -m 0644 "${1%/*}"/package{,-lock}.json . || return
  unprivileged npm ci --ignore-scripts --no-audit --no-fund --cache "$PWD/cache" || return
  cp -R node_modules "$2"
}
