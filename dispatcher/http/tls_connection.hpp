// Asks OpenSSL what libcurl does not tell about its TLS connections.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <optional>

#include "lib/delivery/diagnosis.hpp"

namespace dispatcher {

// The functions with a handle are for the pre-request callback (CURLOPT_PREREQFUNCTION), where the handle has
// its connection; those with a context are for CURLOPT_SSL_CTX_FUNCTION.

/// Notes a new connection, after its handshake, for the three functions that follow.
void remember_connection(CURL* handle, int fd, platform::MonotonicTime now);

/// How long ago the connection was made.
platform::MonotonicTime::duration age_of_connection(CURL* handle, platform::MonotonicTime now);

/// True: the kept connection is open, and no data has arrived since the last answer; a TLS 1.3 session ticket
/// is no data. Bytes that arrive without an outstanding request are no answer (RFC 9112 section 9.2), but
/// libcurl 7.88 takes them for the next answer, and 8.14 checks only the socket.
bool is_quiet(CURL* handle);

/// Tells why a kept connection is not quiet. True: data has arrived. False: the connection has ended.
bool holds_data(CURL* handle);

/// Begins the count of limit_handshake() anew, and ends the connection after `bytes` bytes of TLS records.
/// Called before each request.
void allow_messages(CURL* handle, std::size_t bytes);

/// Facts of the receiver's verified certificate; nullopt: there is no TLS connection.
std::optional<delivery::TlsFacts> tls_facts(CURL* handle);

/// Makes the handshake set `*wanted` if the receiver asks for a client certificate; `*wanted` outlives the
/// handshake.
void note_wanted_certificate(void* tls_context, bool* wanted);

/// Limits what a receiver's handshake can cost the network's thread, where time-outs do not limit it:
/// - Certificates that take OpenSSL long to decode are refused: it decodes them before it verifies them.
/// - A connection on which handshake messages do not stop is ended. OpenSSL reads session tickets (TLS 1.3)
///   and HelloRequests (TLS 1.2) in a loop that it leaves only when no byte waits.
/// Also, a connection that we end does not wait for the receiver's close_notify.
void limit_handshake(void* tls_context);

}  // namespace dispatcher
