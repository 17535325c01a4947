// Asks OpenSSL what libcurl does not tell about its TLS connections.
#pragma once

#include <curl/curl.h>

#include <optional>

#include "lib/delivery/diagnosis.hpp"

namespace dispatcher {

// All but the last are for the pre-request callback (CURLOPT_PREREQFUNCTION), where the handle has its
// connection.

/// Notes the socket of a new connection for is_quiet(), after its handshake.
void remember_socket(CURL* handle, int fd);

/// True: a request may be sent on a kept connection, because nothing has arrived since the last answer and it
/// is open. Bytes that arrive without an outstanding request are no answer (RFC 9112 section 9.2), but
/// libcurl 7.88 takes them for the next one, and 8.14 checks the socket alone. A TLS 1.3 session ticket is no
/// data.
bool is_quiet(CURL* handle);

/// True: data has arrived on a kept connection that is not quiet. False: the connection has ended.
bool holds_data(CURL* handle);

/// Facts of the receiver's verified certificate; nullopt: there is no TLS connection.
std::optional<delivery::TlsFacts> tls_facts(CURL* handle);

/// For CURLOPT_SSL_CTX_FUNCTION. Sets `*wanted`, which outlives the handshake, if the receiver asks for a
/// client certificate.
void note_wanted_certificate(void* tls_context, bool* wanted);

}  // namespace dispatcher
