# shellcheck shell=bash
# The nodes of a MySQL cluster with Group Replication: the functions that `engine` in nodes.sh (this folder) calls. Each node
# is a primary, so programs write on any node, as with Galera.

GROUP_NAME=6f1d3a52-4c0e-4b7a-9d58-0e6a7c21b9f4
GROUP_USER=replicacion # the user with which a node copies missing transactions from another node
GROUP_MAJORITY="SELECT SUM(member_state = 'ONLINE') * 2 > COUNT(*) AND SUM(member_id = @@server_uuid AND member_state = 'ONLINE')
  AND NOT @@super_read_only FROM performance_schema.replication_group_members"

group_replication_install() { install_mysql; }

# The programs send a password of MySQL (caching_sha2_password) over TCP only through verified TLS, even on loopback. So they
# need database.tls_ca.
group_replication_database_address() {
  printf 'hosts = %s\ntls_ca = %s\n' "$(node_addresses 1 | sed 's/127\.0\.0\.1/localhost/g')" "$DEV_DIR/certs/ca.pem"
}

group_replication_node_answers() { [[ $(node_client "$1" -N -B -e "$GROUP_MAJORITY" 2>/dev/null) == 1 ]]; }

cut_file() { printf '%s\n' "$DEV_DIR/cluster/$1.cut"; }
group_replication_cut() { : >"$(cut_file "$1")"; }

# A node that was expelled, or left the group because it had no majority, tries to join again by itself only after minutes.
group_replication_rejoin() {
  rm -f "$(cut_file "$1")"
  node_answers "$1" || join_group "$1"
}

# The node is read-only until it is part of the group, so that no client writes on a node that is alone.
configure_group_replication() {
  local node=$1 group
  group=$(node_ports "$node" | cut -d ' ' -f 2)
  make_certificates
  write_node_configuration "$node" <<CONF
server-id = ${node#db}
report-host = 127.0.0.1
gtid-mode = ON
enforce-gtid-consistency = ON
super-read-only = ON
ssl-ca = $DEV_DIR/certs/ca.pem
ssl-cert = $DEV_DIR/certs/database.pem
ssl-key = $DEV_DIR/certs/database.key
plugin-load-add = group_replication.so
group-replication-group-name = $GROUP_NAME
group-replication-start-on-boot = OFF
group-replication-local-address = 127.0.0.1:$group
group-replication-group-seeds = $(node_addresses 2)
group-replication-single-primary-mode = OFF
group-replication-enforce-update-everywhere-checks = ON
group-replication-ssl-mode = REQUIRED
group-replication-recovery-use-ssl = ON
group-replication-member-expel-timeout = 0
group-replication-unreachable-majority-timeout = 5
CONF
}

# Makes an empty database: the node copies everything from the others when it joins.
make_group_node() {
  local node=$1
  [[ ! -d $DEV_DIR/$node ]] || return 0
  say "making the database of $node"
  rm -rf "$DEV_DIR/$node.new"
  mysqld_command --no-defaults
  "${SERVER[@]}" --initialize-insecure --datadir="$DEV_DIR/$node.new" --tmpdir="$DEV_DIR/$node.tmp" >>"$(part_log "$node")" 2>&1 ||
    part_failed "$node" "the data folder could not be made"
  mv "$DEV_DIR/$node.new" "$DEV_DIR/$node"
}

make_cut_off() {
  local source=$ROOT/scripts/dev/cut_off.cpp library=$DEV_DIR/cluster/cut_off.so
  [[ $library -nt $source ]] || g++ -std=c++20 -O2 -Wall -Wextra -Wpedantic -Werror -shared -fPIC -o "$library" "$source" ||
    die "could not build $source"
}

# Starts the server, which is not yet part of the group.
launch_group_node() {
  local node=$1
  configure_group_replication "$node"
  make_cut_off
  make_group_node "$node"
  # The lock file of the socket holds the pid of the last mysqld. mysqld does not start while a process has that pid. After a
  # kill the file is still there, and any process may have got the pid.
  rm -f "$(cut_file "$node")" "$(node_socket "$node").lock"
  mysqld_command "--defaults-file=$(node_configuration "$node")"
  CUT_OFF=$(cut_file "$node") CUT_OFF_PORTS=$(node_addresses 2 | sed 's/127\.0\.0\.1://g') LD_PRELOAD=$DEV_DIR/cluster/cut_off.so \
    launch "$node" -- "${SERVER[@]}"
  wait_for "$NODE_SECONDS" node_connects_or_ended "$node"
  node_connects "$node" || part_failed "$node" "it does not answer on $(node_socket "$node")"
}

node_connects() { node_client "$1" -e 'SELECT 1' >/dev/null 2>&1; }
node_connects_or_ended() { node_connects "$1" || ! part_alive "$1"; }

group_replication_start_node() {
  launch_group_node "$1"
  join_group "$1"
}

join_group() {
  node_client "$1" -e 'STOP GROUP_REPLICATION; SET GLOBAL offline_mode = OFF'
  start_group_replication "$1" OFF
}

# start_group_replication NODE BOOTSTRAP: BOOTSTRAP is ON for the node that begins the group. That node, too, is given
# the name and password of GROUP_USER, so that it can join again by itself if it is expelled.
start_group_replication() {
  node_client "$1" <<SQL || part_failed "$1" "it cannot become part of the group"
SET GLOBAL group_replication_bootstrap_group = $2;
START GROUP_REPLICATION USER = '$GROUP_USER', PASSWORD = '$(group_password)';
SET GLOBAL group_replication_bootstrap_group = OFF;
SQL
}
group_password() { secret_of "$GROUP_USER.password" openssl rand -hex 16; }

# Makes NODE the first of the group; the others copy from it what they lack.
form_group() {
  start_group_replication "$1" ON
  wait_for_member "$1"
  node_client "$1" <<SQL || die "could not create the user $GROUP_USER on $1"
CREATE USER IF NOT EXISTS '$GROUP_USER'@'127.0.0.1' IDENTIFIED BY '$(group_password)';
GRANT REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN ON *.* TO '$GROUP_USER'@'127.0.0.1';
SQL
}

# Prints the group's transactions that a node has, also those received but not yet applied.
group_transactions() {
  node_client "$1" -N -B -r -e "SELECT CONCAT(@@gtid_executed, ',', COALESCE((SELECT received_transaction_set
    FROM performance_schema.replication_connection_status WHERE channel_name = 'group_replication_applier'), ''))" | tr -d '\n'
}

# Prints a node that has every transaction that any other node has.
node_with_all() {
  local node other all
  for node in "${NODES[@]}"; do
    all=$(group_transactions "$node")
    for other in "${NODES[@]}"; do
      [[ $(node_client "$node" -N -B -e "SELECT GTID_SUBSET('$(group_transactions "$other")', '$all')") == 1 ]] || continue 2
    done
    printf '%s\n' "$node"
    return
  done
  die "no node has all transactions of the others: choose the first one by hand"
}

group_replication_start() {
  local node first
  for node in "${NODES[@]}"; do
    part_alive "$node" && continue
    STARTED+=("$node")
    launch_group_node "$node"
  done
  if ! a_node_answers; then
    first=$(node_with_all) || exit 1
    form_group "$first"
  fi
  for node in "${NODES[@]}"; do
    node_answers "$node" && continue
    join_group "$node"
    wait_for_member "$node"
  done
}
