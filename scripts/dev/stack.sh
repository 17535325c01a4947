# shellcheck shell=bash
# The commands for the private stack as a whole (up, down, status, env) and for one of its parts (kill, start, pids, logs).

command_up() {
  (($# == 0)) || usage_error "'up' takes no arguments; DEV_PORT and DEV_DIR choose the port and the folder"
  build_programs
  install_database
  lock_stack
  if all_up; then
    say "already up: $(base_url)/apientidades/v1"
    say_where_pages_are
    return
  fi
  choose_port
  choose_db_port
  trap undo_up EXIT
  make_certificates
  start_database
  write_configuration
  prepare_database
  ensure fcgi
  ensure dispatcher
  ensure nginx
  wait_for 15 fcgi_answers || part_failed fcgi "an unauthenticated request gets $(https_status), not 401"
  trap - EXIT
  say "up: $(base_url)/apientidades/v1  (./dev env, ./dev status, ./dev down)"
  say_where_pages_are
}

say_where_pages_are() {
  say "documentation for the entities: $(base_url)/apientidades/docs/"
  say "portal: $(base_url)/apientidades/portal/"
}

STARTED=()

ensure() {
  part_alive "$1" && return
  STARTED+=("$1")
  "start_$1"
}

# A failed `up` ends what it has started; the logs stay.
undo_up() {
  local i
  for ((i = ${#STARTED[@]} - 1; i >= 0; i--)); do
    stop_part "${STARTED[i]}" --then-kill || true
  done
}

# Runs before any program is started, so that a port in use is reported first; a running nginx keeps its port.
choose_port() {
  part_alive nginx && return
  local port=${DEV_PORT:-8443}
  [[ $port =~ ^[1-9][0-9]{0,4}$ && $port -le 65535 ]] || die "DEV_PORT must be 1 to 65535, not '$port'"
  require_free_port "$port"
  printf '%s\n' "$port" >"$DEV_DIR/run/port"
}

choose_db_port() {
  part_alive db && return
  rm -f "$DEV_DIR/run/db_port"
  [[ -z ${DEV_DB_PORT:-} ]] || printf '%s\n' "$DEV_DB_PORT" >"$DEV_DIR/run/db_port"
}

command_down() {
  [[ -d $DEV_DIR/run ]] || { say "nothing to stop"; return; }
  lock_stack
  local part
  for part in nginx fcgi dispatcher "${DATABASE_PARTS[@]}"; do
    [[ -z $(part_pids "$part") ]] && continue
    say "stopping $part"
    stop_part "$part" --then-kill || die "$part does not end: $(part_pids "$part" | xargs)"
  done
  remove_sockets_dir
  rm -f "$DEV_DIR/run/port" "$DEV_DIR/run/db_port" "$DEV_DIR/run/metrics_port"
  say "down"
}

command_status() {
  local part all=0
  for part in "${PARTS[@]}"; do
    part_state "$part" || all=1
  done
  return "$all"
}

all_up() { command_status >/dev/null; }

part_state() {
  local part=$1 state=up
  if [[ -z $(part_pids "$part") ]]; then
    state=down
  elif ! part_alive "$part"; then
    state=incomplete # some of its processes have ended
  elif [[ $part != dispatcher ]] && ! "${part}_answers"; then
    state=unhealthy
  fi
  printf '%-10s %s  %s\n' "$part" "$state" "$(part_pids "$part" | xargs)"
  [[ $state == up ]]
}

base_url() { printf 'https://localhost:%s\n' "$(stack_port)"; }

command_env() {
  [[ -d $DEV_DIR/run ]] || die "there is no stack in $DEV_DIR: ./dev up"
  env_line BASE_URL "$(base_url)"
  env_line CA_CERT "$DEV_DIR/certs/ca.pem"
  env_line RECEIVER_CERT "$DEV_DIR/certs/receiver.pem"
  env_line RECEIVER_KEY "$DEV_DIR/certs/receiver.key"
  env_line DB_SOCKET "$(db_socket)"
  env_line DB_NAME "$DB_NAME"
  env_line METRICS_URL "http://127.0.0.1:$(metrics_port)/metrics"
  env_line SECRETS_DIR "$DEV_DIR/secrets"
}

env_line() { printf "%s='%s'\n" "$1" "${2//\'/\'\\\'\'}"; }

command_kill() {
  check_part "${1:-}"
  local part=$1 signal=${2:-}
  [[ -z $signal || $signal == -9 ]] || usage_error "the only signal to choose is -9, not '$signal'"
  lock_stack
  [[ -n $(part_pids "$part") ]] || die "$part is not running"
  stop_part "$part" ${signal:+--kill} || die "$part has not ended after $STOP_SECONDS s: ./dev kill $part -9"
}

command_start() {
  check_part "${1:-}"
  [[ $1 == db* || -s $DEV_DIR/apientidades.conf ]] || die "there is no stack in $DEV_DIR: ./dev up"
  lock_stack
  if part_alive "$1"; then
    say "$1 is already running"
    return
  fi
  "start_$1"
}

command_pids() {
  check_part "${1:-}"
  part_pids "$1"
}

command_logs() {
  check_part "${1:-}"
  [[ -z ${2:-} || $2 == -f ]] || usage_error "'logs' takes a part and -f, not '$2'"
  [[ -e $(part_log "$1") ]] || die "$1 has no log yet"
  if [[ ${2:-} == -f ]]; then
    exec tail -n 50 -f "$(part_log "$1")"
  fi
  cat "$(part_log "$1")"
}
