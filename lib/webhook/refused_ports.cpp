#include "lib/webhook/refused_ports.hpp"

#include <algorithm>
#include <array>

namespace webhook {

namespace {

constexpr std::array<std::uint16_t, 83> bad_ports{
    0,    1,    7,    9,    11,   13,   15,   17,   19,   20,   21,   22,   23,   25,   37,   42,   43,
    53,   69,   77,   79,   87,   95,   101,  102,  103,  104,  109,  110,  111,  113,  115,  117,  119,
    123,  135,  137,  139,  143,  161,  179,  389,  427,  465,  512,  513,  514,  515,  526,  530,  531,
    532,  540,  548,  554,  556,  563,  587,  601,  636,  989,  990,  993,  995,  1719, 1720, 1723, 2049,
    3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080};

// All are below 32768, where Linux's ephemeral ports begin, so a receiver on an ephemeral port is never
// refused.
constexpr std::array<std::uint16_t, 21> databases_and_the_like{
    445,                               // SMB
    1433,  1434,  1521,  3050,  3306,  // SQL Server, Oracle, Firebird, MySQL
    3389,                              // RDP
    4567,  4568,                       // Galera
    5432,  5671,  5672,  5900,         // PostgreSQL, AMQP, VNC
    6379,  9042,  9092,  11211,        // Redis, Cassandra, Kafka, Memcached
    26257, 27017, 27018, 27019};       // CockroachDB, MongoDB

static_assert(std::ranges::is_sorted(bad_ports) && std::ranges::is_sorted(databases_and_the_like));

}  // namespace

bool is_refused_port(std::uint16_t port) {
  return std::ranges::binary_search(bad_ports, port) ||
         std::ranges::binary_search(databases_and_the_like, port);
}

}  // namespace webhook
