# shellcheck shell=bash
# A MariaDB server of the stack's own, on a socket in a private folder, without network.

DB_USERS=(api dispatcher admin evaluacion)
DB_CLIENT_HOSTS=(localhost) # where the programs connect from

db_socket() { printf '%s/db.sock\n' "$(sockets_dir)"; }
db_client() { mariadb --no-defaults --default-character-set=utf8mb4 --socket="$(db_socket)" --user=root "$@"; }
db_answers() { db_client -e 'SELECT 1' >/dev/null 2>&1; }

start_database() { ensure db; }
database_address() { printf 'socket = %s\n' "$(db_socket)"; }

start_db() {
  make_data_folder
  launch db -- mariadbd "${MARIADB_AS_ROOT[@]}" --datadir="$DEV_DIR/db" --tmpdir="$(db_tmpdir)" \
    --socket="$(db_socket)" --pid-file="$DEV_DIR/run/mariadbd.pid" --skip-networking --skip-name-resolve \
    --max-connections=500 --character-set-server=utf8mb4 --innodb-flush-log-at-trx-commit=1
  wait_for 60 db_answers_or_ended
  db_answers || part_failed db "it does not answer on $(db_socket)"
}

# Of its own: a server that starts removes the temporary tables that it finds, also another server's in use.
db_tmpdir() {
  mkdir -p "$DEV_DIR/db.tmp"
  printf '%s\n' "$DEV_DIR/db.tmp"
}

db_answers_or_ended() { db_answers || ! part_alive db; }

MARIADB_AS_ROOT=(--no-defaults)
((EUID != 0)) || MARIADB_AS_ROOT+=(--user=root)

# Made aside and moved, so that an interrupted first start is no half-made folder.
# --force: a machine whose own name does not resolve is good enough for sockets.
make_data_folder() {
  [[ ! -d $DEV_DIR/db ]] || return 0
  say "making the database"
  rm -rf "$DEV_DIR/db.new"
  mariadb-install-db "${MARIADB_AS_ROOT[@]}" --datadir="$DEV_DIR/db.new" --tmpdir="$(db_tmpdir)" \
    --skip-test-db --force --auth-root-authentication-method=normal >>"$(part_log db)" 2>&1 ||
    part_failed db "mariadb-install-db failed"
  mv "$DEV_DIR/db.new" "$DEV_DIR/db"
}

# Users, schema and rights, by the very files of a real installation.
prepare_database() {
  local name
  db_client <<<"CREATE DATABASE IF NOT EXISTS $DB_NAME" || die "could not create the database"
  for name in "${DB_USERS[@]}"; do
    make_database_user "$name" || die "could not create the database user $(database_user "$name")"
  done
  apply_grants admin
  run_admin db migrate >&2 || die "apientidades-admin db migrate failed: see the line above"
  for name in api dispatcher evaluacion; do
    apply_grants "$name"
  done
}

# The evaluation system's user is not one of ours, and is called by its own name.
database_user() { if [[ $1 == evaluacion ]]; then echo evaluacion; else echo "apientidades_$1"; fi; }

make_database_user() {
  local name=$1 user password host
  user=$(database_user "$name")
  password=$(secret_of "$name.password" openssl rand -hex 24)
  for host in "${DB_CLIENT_HOSTS[@]}"; do
    db_client <<SQL || return 1
CREATE USER IF NOT EXISTS '$user'@'$host' IDENTIFIED BY '$password';
ALTER USER '$user'@'$host' IDENTIFIED BY '$password';
SQL
  done
}

apply_grants() {
  local host
  for host in "${DB_CLIENT_HOSTS[@]}"; do
    sed "s/'localhost'/'$host'/" "$ROOT/sql/grants/$1.sql" | db_client "$DB_NAME" ||
      die "could not apply sql/grants/$1.sql: see the line above"
  done
}

# secret_of FILE COMMAND…: the content of a file of secrets/, made by the command the first time.
secret_of() {
  local file=$DEV_DIR/secrets/$1
  shift
  [[ -s $file ]] || (umask 077 && "$@" >"$file.new" && mv "$file.new" "$file")
  cat "$file"
}

command_sql() {
  [[ -S $(db_socket) ]] || die "the database is not running: ./dev up"
  if (($#)); then
    db_client -N -B "$DB_NAME" -e "$*"
  else
    db_client -N -B "$DB_NAME"
  fi
}
