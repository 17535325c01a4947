# shellcheck shell=bash
# A stack with a database cluster: it has the parts db1, db2 and db3 instead of db, and the file cluster/kind in its folder
# (.dev/cluster). With DEV_DIR set to that folder, every other command works as with one server.

CLUSTER_SECONDS=1800 # limit of `./dev cluster test galera` and `./dev cluster test group-replication`
CLUSTER_TEST_PACKAGES=(haproxy)

cluster_usage() {
  cat <<'HELP'
Usage: ./dev cluster COMMAND      a stack in .dev/cluster, like that of `./dev up`, on a database cluster on loopback

  galera              start three MariaDB nodes with Galera (db1, db2, db3), and the service in front of them
  group-replication   the same with three MySQL nodes (Debian unstable's: see DEV_DATABASE), each of them a primary
  status              one line for each part
  kill NODE [-9]      end a node (or another part) and wait for its end
  start NODE          start it again: it copies from the others what it missed, or everything if its folder is gone
  cut NODE            cut it off from the others; it runs on, and refuses work
  rejoin NODE         end the cut
  freeze NODE         stop it (SIGSTOP); its connections stay open
  thaw NODE           let it run on
  sql NODE [TEXT]     SQL as root on that node
  env, admin ARG…, pids PART, logs PART [-f], down      as without `cluster`
  test KIND           galera or group-replication: the delivery engine while nodes are killed, cut off, frozen and
                      brought back, and behind HAProxy (minutes)
  test hosts          requests and deliveries while application hosts (network namespaces; needs root) are cut off and lost (minutes)

DEV_DIR and DEV_PORT choose the folder (.dev/cluster) and the port (8443).
HELP
}

is_cluster() { [[ -s $DEV_DIR/cluster/kind ]]; }

# What differs with a database cluster.
# shellcheck disable=SC2317 # these functions replace those that other files call
use_cluster() {
  is_cluster || return 0
  DATABASE_PARTS=("${NODES[@]}")
  PARTS=("${DATABASE_PARTS[@]}" fcgi dispatcher nginx)
  DB_CLIENT_HOSTS=(localhost 127.0.0.1)
  db_socket() { node_socket "$(first_node || printf db1)"; }
  start_database() { engine start; }
  database_address() { engine database_address; }
}

command_cluster() {
  local verb=${1:---help}
  shift || true
  case $verb in
    -h | --help | help) cluster_usage ;;
    galera | group-replication) cluster_up "$verb" ;;
    test) cluster_test "$@" ;;
    status | down | env | admin | kill | start | pids | logs) "command_$verb" "$@" ;;
    cut | rejoin | freeze | thaw | sql) node_verb "$verb" "$@" ;;
    *) usage_error "unknown command 'cluster $verb' (./dev cluster --help lists them)" ;;
  esac
}

cluster_up() {
  local kind
  [[ ! -d $DEV_DIR/db ]] || die "$DEV_DIR holds a stack with one server: choose another folder with DEV_DIR"
  kind=$(cluster_kind) || kind=$1
  [[ $kind == "$1" ]] || die "$DEV_DIR holds a cluster of $kind: choose another folder with DEV_DIR"
  (
    lock_stack
    mkdir -p "$DEV_DIR/cluster"
    printf '%s\n' "$1" >"$DEV_DIR/cluster/kind"
    engine install
  ) || exit 1
  use_cluster
  command_up
}

node_verb() {
  local verb=$1 node=${2:-}
  shift 2 || true
  [[ " ${NODES[*]} " == *" $node "* ]] || usage_error "'$node' is no node: ${NODES[*]}"
  [[ -n $(part_pids "$node") ]] || die "$node is not running"
  case $verb in
    cut | rejoin) engine "$verb" "$node" ;;
    freeze) signal_part "$node" STOP ;;
    thaw) signal_part "$node" CONT ;; # it is part of the cluster again once `status` says so
    sql) node_client "$node" -N -B "$DB_NAME" ${1:+-e "$*"} ;;
  esac
}

cluster_test() {
  [[ ${1:-} != hosts ]] || hosts_test "${@:2}"
  [[ $# -eq 1 && ($1 == galera || $1 == group-replication) ]] || usage_error "'cluster test' takes galera, group-replication or hosts"
  build_programs
  install_packages "${TEST_PACKAGES[@]}" "${CLUSTER_TEST_PACKAGES[@]}"
  "${1//-/_}_install"
  cd "$ROOT" || exit 1
  export DEV_NO_BUILD=1 TEST_CLUSTER=$1
  unset DEV_DIR DEV_PORT
  exec timeout "$CLUSTER_SECONDS" "$PYTHON" -m pytest -q -s -p no:cacheprovider tests/cluster
}
