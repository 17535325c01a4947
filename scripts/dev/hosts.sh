# shellcheck shell=bash
# The tests on several application hosts. HOSTS_NAMESPACES starts the tests in new namespaces of mounts, networks and
# processes; in these, each host is a network namespace. All processes in them end with the tests, however the tests end,
# and the networks reach nothing outside.

HOSTS_SECONDS=900
HOSTS_PACKAGES=(iproute2 util-linux libnginx-mod-stream)
HOSTS_NAMESPACES=(unshare --mount --net --pid --fork --kill-child --mount-proc)
# unshare ignores SIGTERM. So it runs below `timeout`, which passes a SIGTERM on to its whole process group: this includes
# the tests. If they have not ended 30 s later, `timeout` kills unshare, and with it all that runs inside.
HOSTS_RUNNER=(timeout -k 30 "$HOSTS_SECONDS" "${HOSTS_NAMESPACES[@]}" sh -c 'mount -t tmpfs tmpfs /run && "$@"' hosts)
HOSTS_TRIAL='mount -t tmpfs tmpfs /run && ip netns add one && ip -n one link add cable type veth peer name other &&
  ip -n one link add lan type bridge && ip -n one link set cable master lan up'

# Prints in one line why these tests cannot run here; nothing if they can.
hosts_obstacle() {
  local found
  ((EUID == 0)) || { echo 'only root may make network namespaces'; return; }
  (install_packages "${HOSTS_PACKAGES[@]}") >&2 || { echo "apt-get cannot install ${HOSTS_PACKAGES[*]}"; return; }
  found=$("${HOSTS_NAMESPACES[@]}" sh -c "$HOSTS_TRIAL" 2>&1) ||
    printf 'network namespaces with veth and bridge are not permitted here: %s\n' "$(tail -n 1 <<<"$found")"
}

# ./dev cluster test hosts [PYTEST ARGUMENTS]
hosts_test() {
  local obstacle
  build_programs
  install_packages "${TEST_PACKAGES[@]}"
  obstacle=$(hosts_obstacle)
  [[ -z $obstacle ]] || die "the tests on several hosts cannot run here: $obstacle"
  cd "$ROOT" || exit 1
  export DEV_NO_BUILD=1 TEST_HOSTS=1
  unset DEV_DIR DEV_PORT
  exec "${HOSTS_RUNNER[@]}" "$PYTHON" -m pytest -q -s -p no:cacheprovider tests/cluster/test_hosts.py "$@"
}

# A suite of ./dev test --long.
run_hosts() {
  local obstacle
  obstacle=$(hosts_obstacle)
  if [[ -n $obstacle ]]; then
    say "the tests on several hosts are SKIPPED: $obstacle"
    return
  fi
  local PYTHON_SUITES=(tests/cluster/test_hosts.py) PYTEST_WORKERS=() PYTHON_RUNNER=("${HOSTS_RUNNER[@]}")
  local -x TEST_HOSTS=1
  run_python hosts
}
