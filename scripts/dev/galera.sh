# shellcheck shell=bash
# Three MariaDB nodes with Galera on loopback, each in a folder and on ports of its own: db1, db2, db3.

GALERA_NODES=(db1 db2 db3)
GALERA_PACKAGES=(galera-4 mariadb-backup socat lsof)
GALERA_PROVIDER=/usr/lib/galera/libgalera_smm.so
GALERA_TOOLS=$ROOT/.dev/galera-tools
NODE_SECONDS=180 # to recover, to join and, if it must, to take a copy of everything

# Debian keeps the scripts of the state transfer in mariadb-server, which would also install a service: only they are taken.
install_galera() {
  install_packages "${GALERA_PACKAGES[@]}"
  local tools=$GALERA_TOOLS
  [[ ! -x $tools/usr/bin/wsrep_sst_mariabackup ]] || return 0
  say "fetching the state transfer's scripts"
  rm -rf "$tools.new" && mkdir -p "$tools.new"
  (cd "$tools.new" && apt-get -q download mariadb-server && dpkg-deb -x mariadb-server_*.deb . && rm -- *.deb) \
    >"$tools.log" 2>&1 || die "could not fetch the package mariadb-server: see $tools.log"
  rm -rf "$tools" && mv "$tools.new" "$tools"
}

node_socket() { printf '%s/%s.sock\n' "$(sockets_dir)" "$1"; }
node_client() {
  local node=$1
  shift
  mariadb --no-defaults --default-character-set=utf8mb4 --connect-timeout=3 --socket="$(node_socket "$node")" --user=root "$@"
}

# node_status NODE NAME: a status variable of Galera's; nothing when the node does not answer.
node_status() {
  node_client "$1" -N -B -e "SHOW GLOBAL STATUS LIKE 'wsrep_$2'" 2>/dev/null | cut -f2
}
node_answers() { [[ $(node_status "$1" ready) == ON && $(node_status "$1" local_state) == 4 ]]; }
node_answers_or_ended() { node_answers "$1" || ! part_alive "$1"; }

db1_answers() { node_answers db1; }
db2_answers() { node_answers db2; }
db3_answers() { node_answers db3; }
start_db1() { start_node db1; }
start_db2() { start_node db2; }
start_db3() { start_node db3; }

# The ports of a node: SQL, the group, incremental and whole state transfer. They stay its own: the others know them.
node_ports() {
  local record=$DEV_DIR/cluster/$1.ports
  [[ -s $record ]] || listening_ports 4 >"$record"
  cat "$record"
}

# N free ports below those that the kernel gives to connections, which may take one while its node is down.
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

# node_addresses FIELD: of all nodes, with commas between them; 1 is SQL, 2 the group.
node_addresses() {
  local node
  for node in "${GALERA_NODES[@]}"; do
    printf '127.0.0.1:%s\n' "$(node_ports "$node" | cut -d ' ' -f "$1")"
  done | paste -s -d ,
}

write_node_configuration() {
  local node=$1 sql group incremental whole
  read -r sql group incremental whole <<<"$(node_ports "$node")"
  mkdir -p "$DEV_DIR/$node.tmp"
  cat >"$DEV_DIR/cluster/$node.cnf" <<CONF
[mysqld]
datadir = $DEV_DIR/$node
tmpdir = $DEV_DIR/$node.tmp
socket = $(node_socket "$node")
pid-file = $DEV_DIR/run/$node.pid
bind-address = 127.0.0.1
port = $sql
skip-name-resolve
max-connections = 500
character-set-server = utf8mb4
innodb-flush-log-at-trx-commit = 1
binlog-format = ROW
innodb-autoinc-lock-mode = 2
wsrep-on = ON
wsrep-provider = $GALERA_PROVIDER
wsrep-cluster-name = apientidades
wsrep-cluster-address = gcomm://$(node_addresses 2)
wsrep-node-name = $node
wsrep-node-address = 127.0.0.1
wsrep-provider-options = "base_host=127.0.0.1;base_port=$group;gmcast.listen_addr=tcp://127.0.0.1:$group;ist.recv_addr=127.0.0.1:$incremental;gcache.size=64M"
wsrep-sst-method = mariabackup
wsrep-sst-receive-address = 127.0.0.1:$whole
wsrep-sst-auth = root:
CONF
}

# Only the first node's: the others begin by taking everything from it.
make_first_node() {
  [[ ! -d $DEV_DIR/db1 ]] || return 0
  say "making the database of db1"
  rm -rf "$DEV_DIR"/db1.new "$DEV_DIR"/db{2,3}
  mkdir -p "$DEV_DIR/db1.tmp"
  mariadb-install-db "${MARIADB_AS_ROOT[@]}" --datadir="$DEV_DIR/db1.new" --tmpdir="$DEV_DIR/db1.tmp" \
    --skip-test-db --force --auth-root-authentication-method=normal >>"$(part_log db1)" 2>&1 ||
    part_failed db1 "mariadb-install-db failed"
  mv "$DEV_DIR/db1.new" "$DEV_DIR/db1"
}

# The last transaction that a stopped node has, as UUID:NUMBER; after a kill its own recovery tells.
node_position() {
  local node=$1 state=$DEV_DIR/$1/grastate.dat uuid number
  [[ -s $state ]] || return 0
  uuid=$(sed -n 's/^uuid: *//p' "$state") number=$(sed -n 's/^seqno: *//p' "$state")
  if [[ $number -lt 0 ]]; then
    run_node "$node" --wsrep-recover --log-error="$DEV_DIR/$node.tmp/recovery" >/dev/null 2>&1 || true
    sed -n 's/.*Recovered position: *//p' "$DEV_DIR/$node.tmp/recovery" | tail -n 1
    rm -f "$DEV_DIR/$node.tmp/recovery"
  else
    printf '%s:%s\n' "$uuid" "$number"
  fi
}

node_command() {
  printf '%s\n' mariadbd "--defaults-file=$DEV_DIR/cluster/$1.cnf"
  ((EUID != 0)) || printf '%s\n' --user=root
}

run_node() {
  local node=$1 command
  shift
  mapfile -t command < <(node_command "$node")
  "${command[@]}" "$@" 9>&-
}

# start_node NODE [OPTIONS OF mariadbd]: joins the others, or, given --wsrep-new-cluster, is the first.
start_node() {
  local node=$1 command position
  shift
  (($#)) || a_node_answers || die "no node is up: ./dev cluster galera begins with the one that has the last transaction"
  write_node_configuration "$node"
  mkdir -p "$DEV_DIR/$node"
  position=$(node_position "$node")
  mapfile -t command < <(node_command "$node")
  PATH=$GALERA_TOOLS/usr/bin:$PATH launch "$node" -- "${command[@]}" \
    ${position:+--wsrep-start-position="$position"} "$@"
  wait_for "$NODE_SECONDS" node_answers_or_ended "$node"
  node_answers "$node" || part_failed "$node" "it does not become part of the cluster"
}

a_node_answers() { first_node >/dev/null; }

first_node() {
  local node
  for node in "${GALERA_NODES[@]}"; do
    [[ ! -S $(node_socket "$node") ]] || ! node_answers "$node" || { printf '%s\n' "$node" && return; }
  done
  return 1
}

# All that are down; when none is up, the one that has the last transaction begins.
start_galera() {
  local node first=''
  make_first_node
  for node in "${GALERA_NODES[@]}"; do write_node_configuration "$node"; done
  if ! a_node_answers; then
    first=$(for node in "${GALERA_NODES[@]}"; do
      printf '%s %s\n' "$(node_position "$node" | sed 's/.*://')" "$node"
    done | sort -k1,1nr -k2,2 | head -n 1 | cut -d ' ' -f 2)
    part_alive "$first" && die "$first runs and is not part of a cluster: ./dev cluster down first"
    [[ ! -e $DEV_DIR/$first/grastate.dat ]] ||
      sed -i 's/^safe_to_bootstrap:.*/safe_to_bootstrap: 1/' "$DEV_DIR/$first/grastate.dat"
    rm -f "$DEV_DIR/$first/gvwstate.dat"
    STARTED+=("$first")
    start_node "$first" --wsrep-new-cluster
  fi
  for node in "${GALERA_NODES[@]}"; do
    [[ $node == "$first" ]] || ensure "$node"
  done
}
