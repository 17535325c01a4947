# shellcheck shell=bash
# Prepares what the receivers of examples/, those in frameworks included, need: in a folder under build/examples for each
# language. The files in examples/ pin the versions of their libraries; Laravel is Debian's. A toolchain on PATH is used;
# otherwise Debian's is installed, if it is new enough. If root runs `dev`, the user `nobody` fetches and compiles everything.

EXAMPLES=$ROOT/build/examples
EXAMPLE_PACKAGES=(php-cli php-mysql php-laravel-framework python3-pymysql python3-sqlalchemy python3-django
  python3-mysqldb python3-psycopg2 postgresql)

# If an example cannot be prepared, its tests are skipped, and a line says so. With EXAMPLES_REQUIRED=1 they fail, unless
# the toolchain is missing or too old.
prepare_examples() {
  [[ -z $DEV_NO_BUILD ]] || return 0
  install_packages "${EXAMPLE_PACKAGES[@]}"
  prepare_example python 3.11 python3 python3-venv
  prepare_example javascript 18 node nodejs npm
  prepare_example java 17 java default-jdk-headless maven
  prepare_example go 1.23 go golang-go
  prepare_example rust 1.85 rustc cargo
  prepare_clients
}

# prepare_example LANGUAGE VERSION PROGRAM PACKAGE…: prepares the example in LANGUAGE. PROGRAM, which is in the first
# PACKAGE, must have at least VERSION.
prepare_example() {
  local language=$1 minimum=$2 program=$3 version
  shift 3
  if command -v "$program" >/dev/null; then version=$(version_of "$program"); else version=$(debian_version "$1"); fi
  if ! dpkg --compare-versions "${version:-0}" ge "$minimum"; then
    say "the example $language is SKIPPED: it needs $program $minimum, and here it is ${version:-missing}"
    leave_out "$language" "$program is ${version:-missing}: it must be $minimum or later"
    return
  fi
  has_toolchain "$language" || install_packages "$@"
  make_tool "$EXAMPLES/$language" "$(pins_of_example "$language" "$version")" "install_example_$language" "${EXAMPLES_REQUIRED:-}"
}

# leave_out LANGUAGE REASON: its tests are skipped, and say REASON.
leave_out() {
  rm -rf "${EXAMPLES:?}/$1"
  (umask 022 && mkdir -p "$EXAMPLES/$1")
  printf '%s\n' "$2" >"$EXAMPLES/$1/skipped"
}

has_toolchain() {
  case ${1#clients-} in
    python) "$PYTHON" -c 'import ensurepip' ;;
    javascript | typescript) hash node npm ;;
    java | generator) hash java mvn ;;
    go) hash go ;;
    rust) hash rustc cargo ;;
  esac 2>/dev/null
}

version_of() {
  case $1 in
    go) go env GOVERSION ;;
    *) "$1" --version 2>/dev/null ;;
  esac | grep -oE '[0-9]+(\.[0-9]+)*' | head -n 1
}

# debian_version PACKAGE: prints the version of the program in Debian's PACKAGE. default-jdk-headless 2:1.21-76 has Java 21.
debian_version() {
  local version
  version=$(apt-cache policy "$1" | sed -nE 's/^ *Candidate: ([0-9]+:)?([0-9.]+).*/\2/p')
  [[ $1 != default-jdk* ]] || version=${version#1.}
  printf '%s\n' "$version"
}

# The example is made again when one of these files, or the version of the toolchain, changes.
pins_of_example() {
  echo "$1 $2"
  local made=("$ROOT/examples/$1" "$ROOT/examples/evaluacion/$1" "$ROOT"/tests/support/{failing_example.py,secret_keys})
  [[ $1 != clients-* ]] || made=("$CLIENTS/${1#clients-}" "$ROOT/web/openapi.json")
  [[ $1 != clients-* || $1 == clients-generator ]] || made+=("$EXAMPLES/clients-generator/pins")
  find "${made[@]}" -type f -exec sha256sum {} + 2>/dev/null | sort
}

install_example_python() {
  mkdir -p "$1/django" && in_scratch fetch_and_install_wheels "$ROOT/examples/python" "$1" &&
    in_scratch fetch_and_install_wheels "$ROOT/examples/python/django" "$1/django"
}

install_example_javascript() {
  mkdir -p "$1/express" && in_scratch fetch_node_modules "$ROOT/examples/javascript" "$1" &&
    in_scratch fetch_node_modules "$ROOT/examples/javascript/express" "$1/express" &&
    mkdir -p "$1/typeorm" && in_scratch fetch_node_modules "$ROOT/examples/evaluacion/javascript/typeorm" "$1/typeorm"
}

install_example_java() {
  in_scratch fetch_jars "$ROOT/examples/java" "$1" && in_scratch fetch_jars "$ROOT/examples/evaluacion/java" "$1" &&
    in_scratch fetch_jars "$ROOT/examples/evaluacion/java/hibernate" "$1/hibernate" &&
    in_scratch fetch_jars "$ROOT/examples/evaluacion/java/spring" "$1/evaluacion-spring" && in_scratch compile_spring "$1/spring"
}

fetch_jars() {
  install -m 0644 "$1/pom.xml" . || return
  unprivileged mvn -B -q "-Dmaven.repo.local=$PWD/m2" dependency:copy-dependencies || return
  mkdir -p "$2/lib" && cp target/dependency/*.jar "$2/lib"
}

compile_spring() {
  cp -R "$ROOT"/examples/java/spring/{pom.xml,src} . && chmod -R a+rX pom.xml src || return
  unprivileged mvn -B -q "-Dmaven.repo.local=$PWD/m2" compile dependency:copy-dependencies || return
  mkdir -p "$1" && cp -R target/classes "$1" && cp -R target/dependency "$1/lib"
}

install_example_go() { in_scratch compile_go "$1"; }

compile_go() {
  install -m 0644 "$ROOT"/examples/go/{receptor.go,go.mod,go.sum} . && copy_failing go receptor.go cmd/failing/receptor.go || return
  install -D -m 0644 -t cmd/keys "$ROOT/tests/support/secret_keys/keys.go" || return
  install -D -m 0644 -t framework "$ROOT"/examples/go/gin/{receptor.go,go.mod,go.sum} || return
  # Without MessagePack, which receivers do not read, Gin compiles in half the time.
  build_go -o . . ./cmd/failing ./cmd/keys && (cd framework && build_go -tags nomsgpack -o ../gin .) || return
  install -m 0755 receptor failing keys gin "$1"
}

build_go() { unprivileged env HOME="$HOME" GOTOOLCHAIN=local GOFLAGS='-modcacherw -buildvcs=false' go build "$@"; }

# copy_failing LANGUAGE SOURCE COPY: writes a copy of the example in which `procesar`, the function that processes a
# notification, fails for some ids. The tests run this copy as a second program.
copy_failing() {
  mkdir -p "${3%/*}" && "$PYTHON" "$ROOT/tests/support/failing_example.py" "$1" <"$2" >"$3"
}

install_example_rust() { in_scratch compile_rust "$(rustc --print sysroot)" "$1"; }

# compile_rust TOOLCHAIN FOLDER
compile_rust() {
  cp -R "$ROOT"/examples/rust/{Cargo.toml,Cargo.lock,src,axum} . && copy_failing rust src/main.rs src/bin/failing.rs || return
  install -m 0644 "$ROOT/tests/support/secret_keys/keys.rs" src/bin/keys.rs && chmod -R a+rX . || return
  build_rust "$1" && build_rust "$1" --manifest-path axum/Cargo.toml || return
  install -m 0755 target/debug/{receptor,failing,keys,receptor-axum} "$2"
}

# build_rust TOOLCHAIN ARGUMENT…
build_rust() {
  with_rust "$1" unprivileged env HOME="$HOME" CARGO_HOME="$HOME/cargo" CARGO_TARGET_DIR="$HOME/target" cargo build --locked "${@:2}"
}

# with_rust FOLDER COMMAND…: runs COMMAND with the toolchain in FOLDER. If `nobody` cannot reach FOLDER (in root's
# home), mounts FOLDER on /mnt in a private namespace.
with_rust() {
  local folder=$1
  shift
  if unprivileged test -x "$folder/bin/cargo"; then
    PATH=$folder/bin:$PATH "$@"
  else
    export -f unprivileged
    # shellcheck disable=SC2016
    unshare --mount --propagation private bash -c 'mount --bind "$1" /mnt && shift && PATH=/mnt/bin:$PATH "$@"' bash "$folder" "$@"
  fi
}
