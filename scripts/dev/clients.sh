# shellcheck shell=bash
# Makes clients of web/openapi.json with the generators of web/docs/clientes.md, and compiles the programs of tests/examples/clients that
# call with them, in a folder under build/examples for each language. The rules are those of examples.sh.

CLIENTS=$ROOT/tests/examples/clients

# OpenAPI Generator comes first: it also makes clients for the other languages. Without --long, only those generators run that
# need no Java and whose clients are not compiled to programs: the others take minutes, and read the same document.
prepare_clients() {
  local language
  if [[ -n ${long:-} ]]; then
    prepare_example clients-generator 17 java default-jdk-headless maven
    prepare_example clients-go 1.25 go golang-go
    prepare_example clients-java 17 java default-jdk-headless maven
  else
    for language in clients-{generator,go,java}; do leave_out "$language" 'only `./dev test --examples --long` makes it'; done
  fi
  prepare_example clients-python 3.11 python3 python3-venv
  prepare_example clients-typescript 20.19 node nodejs npm
}

# copy_clients LANGUAGE: copies the programs and the document into the current folder.
copy_clients() { cp -R "$CLIENTS/$1/." "$ROOT/web/openapi.json" . && chmod -R a+rwX .; }

# openapi_generator GENERATOR FOLDER [OPTION…]: makes a client of openapi.json. Returns 1 if OpenAPI Generator is not here, which
# its own tests say.
openapi_generator() {
  local jars=("$EXAMPLES"/clients-generator/lib/openapi-generator-cli-*.jar)
  [[ -f ${jars[0]} ]] || return
  install -m 0644 "${jars[0]}" generator.jar || return
  unprivileged java -XX:TieredStopAtLevel=1 -jar generator.jar generate -i openapi.json -g "$1" -o "$2" "${@:3}"
}

install_example_clients-generator() {
  in_scratch fetch_jars "$CLIENTS/generator" "$1" && in_scratch make_client_csharp "$1"
}

# There is no .NET in Debian: this client is made, and not compiled.
make_client_csharp() {
  copy_clients generator && openapi_generator csharp csharp || return
  cp -R csharp "$1"
}

install_example_clients-python() { in_scratch make_clients_python "$1"; }

make_clients_python() {
  fetch_and_install_wheels "$CLIENTS/python" "$1" && copy_clients python || return
  unprivileged fetch/bin/pip install --no-cache-dir --no-index --find-links wheels -r requirements.txt || return
  PATH=$PWD/fetch/bin:$PATH unprivileged fetch/bin/openapi-python-client generate --path openapi.json --meta none --output-path cliente || return
  ! openapi_generator python generated || cp -R generated/openapi_client "$1" || return
  cp -R cliente ./*.py openapi.json "$1"
}

install_example_clients-typescript() { in_scratch make_clients_typescript "$1"; }

make_clients_typescript() {
  fetch_node_modules "$CLIENTS/typescript" "$1" && copy_clients typescript || return
  PATH=$PWD/node_modules/.bin:$PATH
  unprivileged openapi-typescript openapi.json --output openapi_typescript/cliente.ts || return
  unprivileged openapi-ts --input openapi.json --output hey_api --client @hey-api/client-fetch || return
  unprivileged orval --input openapi.json --output orval/cliente.ts || return
  openapi_generator typescript-fetch typescript-fetch --additional-properties importFileExtension=.js || rm openapi_generator.ts
  unprivileged tsc --project . && cp -R built package.json openapi.json "$1"
}

install_example_clients-go() { in_scratch make_clients_go "$1"; }

make_clients_go() {
  local programs=(./oapi_codegen) go
  go=(unprivileged env HOME="$PWD" GOTOOLCHAIN=local GOFLAGS='-modcacherw -buildvcs=false' go)
  copy_clients go || return
  "${go[@]}" tool oapi-codegen -config oapi_codegen/config.yaml openapi.json || return
  if openapi_generator go openapi_generator/cliente; then
    rm -rf openapi_generator/cliente/{go.mod,go.sum,test}
    programs+=(./openapi_generator)
  fi
  "${go[@]}" build -o built/ "${programs[@]}" && cp -R built openapi.json "$1"
}

install_example_clients-java() { in_scratch make_client_java "$1"; }

make_client_java() {
  fetch_jars "$CLIENTS/java" "$1" && copy_clients java && openapi_generator java generated || return
  unprivileged javac -J-XX:TieredStopAtLevel=1 -nowarn -proc:none -d built -cp 'target/dependency/*' -sourcepath generated/src/main/java Cliente.java || return
  cp -R built openapi.json "$1"
}
