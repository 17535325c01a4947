# shellcheck shell=bash
# MySQL, which Debian 12 and 13 do not have: debootstrap fetches it once from Debian unstable, into a folder of its own.
# The server runs with the loader and the libraries of that folder. So it needs neither chroot nor root, and its data
# and its socket are where MariaDB's would be.

MYSQL_TREE=$ROOT/.dev/mysql

install_mysql() {
  ! has_mysql_tree || return 0
  [[ -z $DEV_NO_BUILD ]] || die "there is no MySQL in $MYSQL_TREE: DEV_DATABASE=mysql ./dev up, without DEV_NO_BUILD, makes it"
  mkdir -p "$ROOT/.dev"
  (
    flock -w 1800 9 || die "another ./dev has been making $MYSQL_TREE for half an hour"
    has_mysql_tree || make_mysql_tree
  ) 9>"$ROOT/.dev/mysql.lock" || exit 1
}

# True if the tree has the server and, unlike trees of earlier versions of this script, its clients.
has_mysql_tree() { [[ -x $MYSQL_TREE/usr/sbin/mysqld && -x $MYSQL_TREE/usr/bin/mysqldump ]]; }

# Made elsewhere and renamed, so that an interrupted run leaves no incomplete tree.
make_mysql_tree() {
  local mirror proxy='' log=$ROOT/.dev/mysql.log new=$MYSQL_TREE.new
  install_packages debootstrap
  mirror=$(debian_mirror)
  say "fetching MySQL of Debian unstable from $mirror (some minutes, once; 600 MB in $MYSQL_TREE)"
  eval "$(apt-config shell proxy Acquire::http::Proxy)" # of this machine's apt
  as_root rm -rf --one-file-system "$new" "$MYSQL_TREE"
  as_root env ${proxy:+"http_proxy=$proxy"} debootstrap --variant=minbase --include=mysql-server-core,mysql-client-core \
    sid "$new" "$mirror" >"$log" 2>&1 9>&- || {
    tail -n 10 "$log" >&2
    die "debootstrap could not fetch MySQL from $mirror (no network? a container that may not mount?): its output is in $log"
  }
  as_root rm -rf "$new"/var/cache/apt/archives "$new"/var/lib/apt/lists
  as_root mv "$new" "$MYSQL_TREE"
}

# mysqld_command OPTION…: sets the array SERVER to the server's command. The options come first, because mysqld accepts
# --no-defaults and --defaults-file only there.
mysqld_command() {
  local libraries
  libraries=$MYSQL_TREE/usr/lib/$(uname -m)-linux-gnu
  SERVER=("$libraries"/ld-linux-*.so.? --library-path "$libraries" "$MYSQL_TREE/usr/sbin/mysqld" "$@"
    --basedir="$MYSQL_TREE/usr" --lc-messages-dir="$MYSQL_TREE/usr/share/mysql" --secure-file-priv=
    --character-sets-dir="$MYSQL_TREE/usr/share/mysql/charsets" --plugin-dir="$MYSQL_TREE/usr/lib/mysql/plugin"
    --mysqlx=OFF)
  ((EUID != 0)) || SERVER+=(--user=root)
}

# choose_mysqld: sets SERVER for a stack without a cluster. Like MariaDB by default, the server writes no binary log.
choose_mysqld() { mysqld_command --no-defaults --skip-log-bin; }
