# shellcheck shell=bash
# Makes the stack's own certificate authority, and certificates for nginx, the receivers of tests and the database.
# database.pem is made last: if it exists, all do.

make_certificates() {
  local folder=$DEV_DIR/certs
  openssl x509 -checkend 86400 -noout -in "$folder/database.pem" >/dev/null 2>&1 && return
  say "making certificates"
  mkdir -p "$folder"
  (
    umask 077
    make_authority "$folder"
    make_certificate "$folder" server 'DNS:localhost,IP:127.0.0.1,IP:::1'
    make_certificate "$folder" receiver 'DNS:localhost,DNS:*.receptor.test,IP:127.0.0.1'
    make_certificate "$folder" database "DNS:localhost${DEV_DB_ADDRESS:+,IP:$DEV_DB_ADDRESS}"
  ) || die "openssl could not make the certificates"
}

make_authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -sha256 -days 365 \
    -subj '/CN=apientidades development CA' -keyout "$1/ca.key" -out "$1/ca.pem" \
    -addext basicConstraints=critical,CA:TRUE,pathlen:0 -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
}

# make_certificate FOLDER NAME SUBJECT_ALT_NAMES
make_certificate() {
  local folder=$1 name=$2 names=$3
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -sha256 -subj "/CN=$name" \
    -keyout "$folder/$name.key" -out "$folder/$name.csr" 2>/dev/null &&
    openssl x509 -req -in "$folder/$name.csr" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -CAcreateserial \
      -sha256 -days 364 -out "$folder/$name.pem" -extfile /dev/stdin 2>/dev/null <<EXTENSIONS
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = $names
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
EXTENSIONS
}
