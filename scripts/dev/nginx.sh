# shellcheck shell=bash
# nginx with the files of a real installation (nginx/); only paths, addresses, ports and the server's name are replaced.

start_nginx() {
  local port
  port=$(stack_port)
  require_free_port "$port"
  render_nginx "$port"
  launch nginx -- nginx -e "$(part_log nginx)" -c "$DEV_DIR/nginx/nginx.conf"
  wait_for 15 nginx_answers_or_ended
  nginx_answers || part_failed nginx "no answer on https://localhost:$port"
}

nginx_answers_or_ended() { nginx_answers || ! part_alive nginx; }

require_free_port() {
  port_is_free "$1" || die "port $1 is in use: stop what listens there, or choose another: DEV_PORT=9443 ./dev up"
}

# Prints the port on which the stack's nginx serves metrics: a free one, the same until `./dev down`.
metrics_port() {
  local record=$DEV_DIR/run/metrics_port
  [[ -s $record ]] || free_port >"$record"
  cat "$record"
}

port_is_free() {
  "$PYTHON" - "$1" 2>/dev/null <<'PROGRAM'
import socket, sys
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
PROGRAM
}

render_nginx() {
  local folder=$DEV_DIR/nginx file
  mkdir -p "$folder/temp"
  for file in "$ROOT"/nginx/apientidades.conf "$ROOT"/nginx/snippets/*.conf; do
    substitute_paths "$1" <"$file" >"$folder/${file##*/}"
  done
  run_admin nginx limits --folder "$folder" >/dev/null || die "the limits could not be written: see the line above"
  run_admin nginx origins --folder "$folder" >/dev/null || die "the origins could not be written: see the line above"
  main_nginx_conf >"$folder/nginx.conf"
}

substitute_paths() {
  local ipv6="listen [::1]:$1 "
  grep -qs '^0\{31\}1 ' /proc/net/if_inet6 || ipv6='# no IPv6 here: '
  sed -e "s|listen 443 |listen 127.0.0.1:$1 |" \
    -e "s|listen \[::\]:443 |$ipv6|" \
    -e "s|listen 127.0.0.1:9465;|listen 127.0.0.1:$(metrics_port);|" \
    -e "s|server_name .*;|server_name localhost;|" \
    -e "s|/etc/nginx/snippets/|$DEV_DIR/nginx/|" \
    -e "s|/etc/apientidades/tls/fullchain.pem|$DEV_DIR/certs/server.pem|" \
    -e "s|/etc/apientidades/tls/privkey.pem|$DEV_DIR/certs/server.key|" \
    -e "s|/var/lib/apientidades/docs|$ROOT/build/site|" \
    -e "s|/usr/share/apientidades/web/|$ROOT/web/|" \
    -e "s|/run/apientidades/fcgi.sock|$(sockets_dir)/fcgi.sock|" \
    -e "s|/run/apientidades-bodies|$DEV_DIR/nginx/temp/body|" \
    -e "s|/var/log/nginx/apientidades.error.log|$(part_log nginx)|" \
    -e "s|/var/log/nginx/apientidades.access.log|$DEV_DIR/log/nginx-access.log|"
}

# Prints the stack's nginx.conf, which replaces Debian's. This is possible because apientidades.conf needs no setting of
# Debian's.
main_nginx_conf() {
  local user='' temp=$DEV_DIR/nginx/temp
  ((EUID != 0)) || user='user root;' # the workers read files that only root may read
  cat <<CONF
$user
daemon off;
worker_processes 2;
worker_rlimit_nofile 8192;
pid $DEV_DIR/run/nginx.pid;
error_log $(part_log nginx);
events {
    worker_connections 4096;
}
http {
    client_body_temp_path $temp/body;
    proxy_temp_path $temp/proxy;
    fastcgi_temp_path $temp/fastcgi;
    uwsgi_temp_path $temp/uwsgi;
    scgi_temp_path $temp/scgi;
    include $DEV_DIR/nginx/apientidades.conf;
}
CONF
}

# Prints the status of an unauthenticated request through the whole path; 000 if there is no answer.
https_status() {
  curl -q -s -o /dev/null -w '%{http_code}' --noproxy '*' --max-time 10 --cacert "$DEV_DIR/certs/ca.pem" \
    "https://localhost:$(stack_port)/apientidades/v1/webhooks" || true
}

nginx_answers() { [[ $(https_status) != 000 ]]; }
fcgi_answers() { ! part_alive nginx || [[ $(https_status) == 401 ]]; }
