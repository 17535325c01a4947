# shellcheck shell=bash
# The nodes of a MariaDB cluster with Galera: the functions that `engine` in nodes.sh (this folder) calls.

GALERA_PACKAGES=(galera-4 mariadb-backup socat lsof)
GALERA_PROVIDER=/usr/lib/galera/libgalera_smm.so
GALERA_TOOLS=$ROOT/.dev/galera-tools

# The scripts of the state transfer are in Debian's package mariadb-server. It is only unpacked, because its installation
# would also install a service.
galera_install() {
  install_packages "${GALERA_PACKAGES[@]}"
  local tools=$GALERA_TOOLS
  [[ ! -x $tools/usr/bin/wsrep_sst_mariabackup ]] || return 0
  say "fetching the state transfer's scripts"
  rm -rf "$tools.new" && mkdir -p "$tools.new"
  (cd "$tools.new" && apt-get -q download mariadb-server && dpkg-deb -x mariadb-server_*.deb . && rm -- *.deb) \
    >"$tools.log" 2>&1 || die "could not fetch the package mariadb-server: see $tools.log"
  rm -rf "$tools" && mv "$tools.new" "$tools"
}

galera_database_address() { printf 'hosts = %s\n' "$(node_addresses 1)"; }

# galera_status NODE NAME: prints a status variable of Galera; nothing when the node does not answer.
galera_status() {
  node_client "$1" -N -B -e "SHOW GLOBAL STATUS LIKE 'wsrep_$2'" 2>/dev/null | cut -f2
}
galera_node_answers() { [[ $(galera_status "$1" ready) == ON && $(galera_status "$1" local_state) == 4 ]]; }

galera_cut() { node_client "$1" -e "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'"; }
galera_rejoin() { node_client "$1" -e "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'"; }

configure_galera() {
  local node=$1 group incremental whole
  read -r _ group incremental whole <<<"$(node_ports "$node")"
  write_node_configuration "$node" <<CONF
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

# Makes the database of db1 only: the other nodes copy everything when they join.
make_first_galera_node() {
  local command
  [[ ! -d $DEV_DIR/db1 ]] || return 0
  say "making the database of db1"
  mapfile -t command < <(galera_command db1)
  rm -rf "$DEV_DIR"/db1.new "$DEV_DIR"/db{2,3}
  mkdir -p "$DEV_DIR/db1.tmp"
  mariadb-install-db --no-defaults "${command[@]:2}" --datadir="$DEV_DIR/db1.new" --tmpdir="$DEV_DIR/db1.tmp" \
    --skip-test-db --force --auth-root-authentication-method=normal >>"$(part_log db1)" 2>&1 ||
    part_failed db1 "mariadb-install-db failed"
  mv "$DEV_DIR/db1.new" "$DEV_DIR/db1"
}

# Prints the last transaction that a stopped node has, as UUID:NUMBER. After a kill, mariadbd --wsrep-recover must find that
# transaction.
galera_position() {
  local node=$1 state=$DEV_DIR/$1/grastate.dat uuid number command
  [[ -s $state ]] || return 0
  uuid=$(sed -n 's/^uuid: *//p' "$state") number=$(sed -n 's/^seqno: *//p' "$state")
  if [[ $number -lt 0 ]]; then
    mapfile -t command < <(galera_command "$node")
    "${command[@]}" --wsrep-recover --log-error="$DEV_DIR/$node.tmp/recovery.err" >/dev/null 2>&1 9>&- || true
    sed -n 's/.*Recovered position: *//p' "$DEV_DIR/$node.tmp/recovery.err" | tail -n 1
    rm -f "$DEV_DIR/$node.tmp/recovery.err"
  else
    printf '%s:%s\n' "$uuid" "$number"
  fi
}

galera_command() {
  printf '%s\n' mariadbd "--defaults-file=$(node_configuration "$1")"
  ((EUID != 0)) || printf '%s\n' --user=root
}

# galera_start_node NODE [OPTIONS OF mariadbd]: starts NODE, which joins the other nodes; with --wsrep-new-cluster it is the
# first node of a new cluster.
galera_start_node() {
  local node=$1 command position
  shift
  configure_galera "$node"
  mkdir -p "$DEV_DIR/$node"
  position=$(galera_position "$node")
  mapfile -t command < <(galera_command "$node")
  PATH=$GALERA_TOOLS/usr/bin:$PATH launch "$node" -- "${command[@]}" \
    ${position:+--wsrep-start-position="$position"} "$@"
}

# Starts all nodes that are down. If no node is up, starts the node with the last transaction first.
galera_start() {
  local node first=''
  make_first_galera_node
  for node in "${NODES[@]}"; do configure_galera "$node"; done
  if ! a_node_answers; then
    first=$(for node in "${NODES[@]}"; do
      printf '%s %s\n' "$(galera_position "$node" | sed 's/.*://')" "$node"
    done | sort -k1,1nr -k2,2 | head -n 1 | cut -d ' ' -f 2)
    part_alive "$first" && die "$first runs outside a cluster: stop it with ./dev cluster down"
    [[ ! -e $DEV_DIR/$first/grastate.dat ]] ||
      sed -i 's/^safe_to_bootstrap:.*/safe_to_bootstrap: 1/' "$DEV_DIR/$first/grastate.dat"
    rm -f "$DEV_DIR/$first/gvwstate.dat"
    STARTED+=("$first")
    galera_start_node "$first" --wsrep-new-cluster
    wait_for_member "$first"
  fi
  for node in "${NODES[@]}"; do
    [[ $node == "$first" ]] || ensure "$node"
  done
}
