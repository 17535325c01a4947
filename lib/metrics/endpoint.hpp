// GET /metrics over HTTP, for a program that has a network (prometheus-cpp's exposer).
#pragma once

#include <memory>
#include <string>

#include "lib/metrics/table.hpp"

namespace metrics {

class Endpoint {
 public:
  /// Serves the table, which outlives it, on `address` ("127.0.0.1:9464", "[::1]:9464") with threads of its
  /// own: two, so that one slow reader does not keep out the next. Throws std::runtime_error when the address
  /// cannot be listened on.
  Endpoint(const std::string& address, const Table& table);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace metrics
