// What OpenSSL knows of libcurl's TLS connections, and libcurl does not tell.
#pragma once

#include <curl/curl.h>

#include <optional>

#include "lib/delivery/diagnosis.hpp"

namespace dispatcher {

// All but the last are for the pre-request callback (CURLOPT_PREREQFUNCTION), where the handle has its
// connection.

/// Notes the socket of a new connection, for is_quiet() to find; its handshake is over.
void remember_socket(CURL* handle, int fd);

/// Whether a request may be sent on a kept connection: nothing has come over it since its last answer, and it
/// is open. Bytes that arrive while no request is outstanding are no answer (RFC 9112 section 9.2), but
/// libcurl 7.88 takes them for the next one's; 8.14 looks at the socket alone. A session ticket (TLS 1.3) is
/// not data.
bool is_quiet(CURL* handle);

/// Data has come over a kept connection that is not quiet. False: it has ended.
bool holds_data(CURL* handle);

/// The receiver's certificate, which was found good; nullopt: there is no TLS connection.
std::optional<delivery::TlsFacts> tls_facts(CURL* handle);

/// For CURLOPT_SSL_CTX_FUNCTION: `*wanted`, which outlives the handshake, becomes true when the receiver asks
/// for a certificate of ours.
void note_wanted_certificate(void* tls_context, bool* wanted);

}  // namespace dispatcher
