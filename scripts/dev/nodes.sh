# shellcheck shell=bash
# The nodes of a database cluster of any engine: db1, db2, db3, each in its own folder and on its own ports of loopback.
# An engine (galera.sh or group_replication.sh, beside this file) has the functions that `engine` calls; their names begin
# with the engine's name.

NODES=(db1 db2 db3)
NODE_SECONDS=180 # the longest that a node may take to recover, to join and, if it must, to copy all data from another node

cluster_kind() { cat "$DEV_DIR/cluster/kind" 2>/dev/null; }

# engine FUNCTION [ARGUMENTS]: calls a function of the cluster's engine. Every engine has these: database_address, install,
# start (starts all nodes), start_node, node_answers, cut (cuts a node off from the others), rejoin (ends the cut).
engine() {
  local kind
  kind=$(cluster_kind) || die "there is no cluster in $DEV_DIR: ./dev cluster --help"
  "${kind//-/_}_$1" "${@:2}"
}

node_socket() { printf '%s/%s.sock\n' "$(sockets_dir)" "$1"; }
node_client() {
  local node=$1
  shift
  server_client --connect-timeout=3 --socket="$(node_socket "$node")" --user=root "$@"
}

# True: the node is part of the cluster's majority and accepts work.
node_answers() { engine node_answers "$1"; }
node_answers_or_ended() { node_answers "$1" || ! part_alive "$1"; }

wait_for_member() {
  wait_for "$NODE_SECONDS" node_answers_or_ended "$1"
  node_answers "$1" || part_failed "$1" "it does not become part of the cluster"
}

db1_answers() { node_answers db1; }
db2_answers() { node_answers db2; }
db3_answers() { node_answers db3; }
start_db1() { start_node db1; }
start_db2() { start_node db2; }
start_db3() { start_node db3; }

start_node() {
  a_node_answers || die "no node is up: ./dev cluster $(cluster_kind) begins with the one that has the last transaction"
  engine start_node "$1"
  wait_for_member "$1"
}

a_node_answers() { first_node >/dev/null; }

first_node() {
  local node
  for node in "${NODES[@]}"; do
    [[ ! -S $(node_socket "$node") ]] || ! node_answers "$node" || { printf '%s\n' "$node" && return; }
  done
  return 1
}

# Prints the four ports of a node: one for SQL, one for the traffic between the nodes, and two that only Galera uses. The
# ports do not change, because the other nodes know them.
node_ports() {
  local record=$DEV_DIR/cluster/$1.ports
  [[ -s $record ]] || listening_ports 4 >"$record"
  cat "$record"
}

# listening_ports N: prints N free ports below the range from which the kernel gives ports to connections. While a node is
# down, the kernel could give the node's port to a connection if the port were in that range.
listening_ports() {
  "$PYTHON" - "$1" <<'PROGRAM'
import contextlib, random, socket, sys
with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
    end = int(file.read().split()[0])
with contextlib.ExitStack() as held:
    found = []
    while len(found) < int(sys.argv[1]):
        listener = held.enter_context(socket.socket())
        with contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", random.randrange(min(15000, end // 2), end)))
            found.append(listener.getsockname()[1])
    print(*found)
PROGRAM
}

# node_addresses FIELD: prints the addresses of all nodes, with commas between them. With FIELD 1 they have the ports
# for SQL, with FIELD 2 the ports for the traffic between the nodes.
node_addresses() {
  local node
  for node in "${NODES[@]}"; do
    printf '127.0.0.1:%s\n' "$(node_ports "$node" | cut -d ' ' -f "$1")"
  done | paste -s -d ,
}

node_configuration() { printf '%s\n' "$DEV_DIR/cluster/$1.cnf"; }

# Options that the engines share; an engine's own options come from standard input.
write_node_configuration() {
  local node=$1
  mkdir -p "$DEV_DIR/$node.tmp"
  cat >"$(node_configuration "$node")" <<CONF
[mysqld]
datadir = $DEV_DIR/$node
tmpdir = $DEV_DIR/$node.tmp
socket = $(node_socket "$node")
pid-file = $DEV_DIR/run/$node.pid
bind-address = 127.0.0.1
port = $(node_ports "$node" | cut -d ' ' -f 1)
skip-name-resolve
max-connections = 500
character-set-server = utf8mb4
innodb-flush-log-at-trx-commit = 1
$(cat)
CONF
}

signal_part() {
  local pid
  for pid in $(part_pids "$1"); do kill "-$2" "$pid"; done
}
