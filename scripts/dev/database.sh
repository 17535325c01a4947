# shellcheck shell=bash
# The stack's own database server, MariaDB or MySQL, on a socket in a private folder. If DEV_DB_PORT is set, the server
# also listens on that port, with TLS. DEV_DB_OPTIONS: further options of the server, for tests.

DB_USERS=(api dispatcher notices admin evaluacion)
DB_CLIENT_HOSTS=(localhost) # where the programs connect from

db_socket() { printf '%s/db.sock\n' "$(sockets_dir)"; }
# Settings on which the statements of this tool and of `./dev sql` rely, whatever the server's settings are.
DB_SESSION="SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', character_set_client = utf8mb4,
  character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci, autocommit = 1, completion_type = 0,
  sql_safe_updates = 0, sql_select_limit = 18446744073709551615, max_join_size = 18446744073709551615, sql_big_selects = 1
  /*M! , max_statement_time = 0, tx_read_only = 0 */ /*!80000 , max_execution_time = 0, transaction_read_only = 0 */"
db_client() { server_client --socket="$(db_socket)" --user=root "$@"; }
server_client() {
  mariadb --no-defaults --default-character-set=utf8mb4 --init-command="$DB_SESSION" --binary-mode --local-infile=0 "$@"
}
db_answers() { db_client -e 'SELECT 1' >/dev/null 2>&1; }

start_database() { ensure db; }

# The content of a data folder says which server it belongs to; DEV_DATABASE chooses only for a new one.
database_kind() {
  local kind=${DEV_DATABASE:-mariadb}
  [[ $kind == mariadb || $kind == mysql ]] || die "DEV_DATABASE must be mariadb or mysql, not '$kind'"
  if [[ -d $DEV_DIR/db ]]; then
    local found=mariadb
    [[ ! -e $DEV_DIR/db/mysql.ibd ]] || found=mysql
    [[ $found == "${DEV_DATABASE:-$found}" ]] || die "$DEV_DIR/db is of $found, not of $kind: remove it, or choose another DEV_DIR"
    kind=$found
  fi
  printf '%s\n' "$kind"
}

# Installs MySQL if it is the chosen server. MariaDB is among the packages that every stack installs.
install_database() {
  local kind
  kind=$(database_kind) || exit 1
  [[ $kind == mariadb ]] || install_mysql
}

read -ra DB_OPTIONS <<<"${DEV_DB_OPTIONS:-}"

start_db() {
  choose_server
  make_data_folder
  choose_network
  # MySQL's lock file holds the pid of the last server. MySQL does not start while that process exists, even
  # as a zombie.
  rm -f "$(db_socket).lock"
  launch db -- "${SERVER[@]}" --datadir="$DEV_DIR/db" --tmpdir="$(db_tmpdir)" \
    --socket="$(db_socket)" --pid-file="$DEV_DIR/run/db.pid" "${NETWORK[@]}" --skip-name-resolve \
    --max-connections=500 --character-set-server=utf8mb4 --innodb-flush-log-at-trx-commit=1 "${DB_OPTIONS[@]}"
  wait_for 60 db_answers_or_ended
  db_answers || part_failed db "it does not answer on $(db_socket)"
}

# Makes and prints a folder for the temporary tables of this server alone: a server that starts removes all temporary tables
# in its folder, even those of another running server.
db_tmpdir() {
  mkdir -p "$DEV_DIR/db.tmp"
  printf '%s\n' "$DEV_DIR/db.tmp"
}

db_answers_or_ended() { db_answers || ! part_alive db; }

# Sets the array SERVER to the chosen server's command.
choose_server() {
  local kind
  kind=$(database_kind) || exit 1
  SERVER=(mariadbd --no-defaults)
  ((EUID != 0)) || SERVER+=(--user=root)
  [[ $kind == mariadb ]] || choose_mysqld
}

db_port() { cat "$DEV_DIR/run/db_port" 2>/dev/null || printf '%s\n' "${DEV_DB_PORT:-}"; }

choose_network() {
  local port
  port=$(db_port)
  NETWORK=(--skip-networking)
  [[ -n $port ]] || return 0
  make_certificates
  NETWORK=(--bind-address="${DEV_DB_ADDRESS:-127.0.0.1}" --port="$port" --ssl-ca="$DEV_DIR/certs/ca.pem"
    --ssl-cert="$DEV_DIR/certs/database.pem" --ssl-key="$DEV_DIR/certs/database.key")
}

# Makes the folder as db.new and then renames it, so that an interrupted first start leaves no incomplete db. --force:
# the machine's own name need not resolve, because programs connect by the socket or an address.
make_data_folder() {
  [[ ! -d $DEV_DIR/db ]] || return 0
  say "making the database"
  rm -rf "$DEV_DIR/db.new"
  if [[ ${SERVER[0]} == mariadbd ]]; then
    set -- mariadb-install-db "${SERVER[@]:1}" --skip-test-db --force --auth-root-authentication-method=normal
  else
    set -- "${SERVER[@]}" --initialize-insecure
  fi
  "$@" --datadir="$DEV_DIR/db.new" --tmpdir="$(db_tmpdir)" >>"$(part_log db)" 2>&1 ||
    part_failed db "the data folder could not be made"
  mv "$DEV_DIR/db.new" "$DEV_DIR/db"
}

# Makes users, schema and rights with the files of a real installation. If the server listens on a port, also makes the users
# for connections to that port.
prepare_database() {
  local name
  db_client <<<"CREATE DATABASE IF NOT EXISTS $DB_NAME" || die "could not create the database"
  for name in "${DB_USERS[@]}"; do
    make_database_user "$name" || die "could not create the database user $(database_user "$name")"
  done
  apply_grants admin
  run_admin db migrate >&2 || die "apientidades-admin db migrate failed: see the line above"
  for name in triggers routines sessions; do
    db_client "$DB_NAME" <"$ROOT/sql/grants/$name.sql" || die "could not apply sql/grants/$name.sql: see the line above"
  done
  for name in api dispatcher notices evaluacion; do
    apply_grants "$name"
  done
}

# The users of our programs have the prefix apientidades_; the evaluation system's user has none.
database_user() { if [[ $1 == evaluacion ]]; then echo evaluacion; else echo "apientidades_$1"; fi; }

make_database_user() {
  local name=$1 user password host
  user=$(database_user "$name")
  password=$(secret_of "$name.password" openssl rand -hex 24)
  for host in $(db_client_hosts); do
    db_client <<SQL || return 1
CREATE USER IF NOT EXISTS '$user'@'$host' IDENTIFIED BY '$password';
ALTER USER '$user'@'$host' IDENTIFIED BY '$password' $([[ $host == localhost || -z $(db_port) ]] || echo REQUIRE SSL);
SQL
  done
}

db_client_hosts() {
  printf '%s\n' "${DB_CLIENT_HOSTS[@]}"
  [[ -z $(db_port) ]] || if [[ -n ${DEV_DB_ADDRESS:-} ]]; then echo %; else echo 127.0.0.1; fi
}

# apply_grants USER: runs the user's file of sql/grants once for each host from which programs connect, with that host in the
# place of 'localhost'.
apply_grants() {
  local host
  for host in $(db_client_hosts); do
    grants_for "$1" "$host" | db_client "$DB_NAME" ||
      die "could not apply sql/grants/$1.sql: see the line above"
  done
}

# grants_for USER HOST
grants_for() {
  local text
  text=$(<"$ROOT/sql/grants/$1.sql") || return 1
  printf '%s\n' "${text//"'localhost'"/"'$2'"}"
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
