# shellcheck shell=bash
# The four programs: their configuration in this stack, and how they are started.

FCGI_PROCESSES=2
READY_SECONDS=30

write_configuration() {
  secret_of secrets.keys new_key >/dev/null
  cat >"$DEV_DIR/apientidades.conf" <<CONF
# Written by ./dev up; APIENTIDADES_<SECTION>_<KEY> in the environment overrides it.
[database]
$(database_address)
name = $DB_NAME

[secrets]
key_file = $DEV_DIR/secrets/secrets.keys

[delivery]
allowed_networks = 127.0.0.1/32
host_overrides = *.receptor.test=127.0.0.1
ca_file = $DEV_DIR/certs/ca.pem

[limits]
requests_per_address = 0
concurrent_requests_per_address = 0
requests_per_token = 0
test_requests_per_token = 0
pending_test_deliveries = 0
registrations = 0
replayed = 0
replay_requests = 0
diagnostics = 0
contact_codes = 0
test_bytes = 0

[metrics]
api_file = $DEV_DIR/run/api-metrics
CONF
}

database_address() {
  if [[ -z $(db_port) ]]; then
    printf 'socket = %s\n' "$(db_socket)"
  else
    printf 'hosts = %s:%s\ntls_ca = %s\n' "${DEV_DB_ADDRESS:-localhost}" "$(db_port)" "$DEV_DIR/certs/ca.pem"
  fi
}

new_key() { printf 'dev1:%s\n' "$(openssl rand -base64 32)"; }

program() {
  local found
  found=$(find "$BUILD/" -maxdepth 2 -type f -name "$1" -perm -u+x 2>/dev/null | head -n 1)
  [[ -n $found ]] || die "$1 is not built in $BUILD: run ./dev build $DEV_PRESET"
  printf '%s\n' "$found"
}

# as_user NAME COMMAND…: runs COMMAND with the database user of NAME (api, dispatcher, notices, admin), unless the environment sets
# another.
as_user() {
  local name=$1
  shift
  APIENTIDADES_DATABASE_USER=${APIENTIDADES_DATABASE_USER:-$(database_user "$name")} \
    APIENTIDADES_DATABASE_PASSWORD_FILE=${APIENTIDADES_DATABASE_PASSWORD_FILE:-$DEV_DIR/secrets/$name.password} \
    "$@"
}

start_fcgi() {
  local executable
  executable=$(program apientidades-fcgi) || exit 1
  as_user api launch fcgi --count "$FCGI_PROCESSES" --listen "$(sockets_dir)/fcgi.sock" --ready "$READY_SECONDS" -- \
    "$executable" --config "$DEV_DIR/apientidades.conf"
}

start_dispatcher() {
  local executable
  executable=$(program apientidades-dispatcher) || exit 1
  as_user dispatcher launch dispatcher --ready "$READY_SECONDS" -- "$executable" --config "$DEV_DIR/apientidades.conf"
}

run_admin() {
  local executable
  executable=$(program apientidades-admin) || exit 1
  # Without these options the folders would be those of an installed package.
  [[ ${1:-} != db ]] || set -- "$@" --migrations "$ROOT/sql/migrations"
  [[ "$*" != "nginx "* || "$*" == *" --folder"* ]] || set -- "$@" --folder "$DEV_DIR/nginx"
  as_user admin "$executable" --config "$DEV_DIR/apientidades.conf" "$@"
}

command_admin() {
  [[ -s $DEV_DIR/apientidades.conf ]] || die "there is no stack in $DEV_DIR: ./dev up"
  run_admin "$@"
}

command_notices() {
  [[ -s $DEV_DIR/apientidades.conf ]] || die "there is no stack in $DEV_DIR: ./dev up"
  local executable
  executable=$(program apientidades-notices) || exit 1
  as_user notices exec_notices "$executable" --config "$DEV_DIR/apientidades.conf" "$@"
}

# So that a signal to `dev` reaches the program.
exec_notices() { exec "$@"; }
