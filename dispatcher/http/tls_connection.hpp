// Asks OpenSSL what libcurl does not tell about its TLS connections, and limits what they may cost.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <optional>

#include "lib/delivery/observation.hpp"

namespace dispatcher {

// Functions that take a CURL handle are for the pre-request callback (CURLOPT_PREREQFUNCTION): the handle
// then has its connection. Functions that take a TLS context are for CURLOPT_SSL_CTX_FUNCTION.

/// Notes a new connection, after its handshake, for the three functions that follow.
void remember_connection(CURL* handle, int fd, platform::MonotonicTime now);

/// How long ago the connection was made.
platform::MonotonicTime::duration age_of_connection(CURL* handle, platform::MonotonicTime now);

/// True: the kept connection is open, and no data has arrived since the last answer; a TLS 1.3 session ticket
/// is no data. Bytes that arrive without an outstanding request are no answer (RFC 9112 section 9.2), but
/// libcurl 7.88 takes them for the next answer. libcurl 8.14 looks for them in the socket alone, and so
/// misses those that OpenSSL has already read.
bool is_quiet(CURL* handle);

/// Tells why a kept connection is not quiet. True: data has arrived. False: the connection has ended.
bool holds_data(CURL* handle);

/// Lets the connection receive `bytes` further bytes of TLS records, and then ends it. Restarts the count of
/// handshake messages (limit_handshake()). Called before each request.
void allow_messages(CURL* handle, std::size_t bytes);

/// Facts of the receiver's verified certificate; nullopt: there is no TLS connection.
std::optional<delivery::TlsFacts> tls_facts(CURL* handle);

/// The end of validity of the receiver's verified certificate; nullopt: there is no TLS connection.
std::optional<platform::UtcTime> certificate_end(CURL* handle);

/// Makes the handshake set `*wanted` if the receiver asks for a client certificate; `*wanted` outlives the
/// handshake.
void note_wanted_certificate(void* tls_context, bool* wanted);

/// Limits how long a receiver's handshake can occupy the network's thread: no time-out interrupts OpenSSL.
/// - Certificates that take OpenSSL long to decode are refused. OpenSSL decodes certificates before it
///   verifies them.
/// - A connection on which handshake messages do not stop is ended. OpenSSL reads session tickets (TLS 1.3)
///   and HelloRequests (TLS 1.2) in a loop that it leaves only when no byte waits.
/// Also, a connection that we end does not wait for the receiver's close_notify.
void limit_handshake(void* tls_context);

}  // namespace dispatcher
