// Serves GET /metrics over HTTP (prometheus-cpp's exposer), for a program that may listen on a port.
#pragma once

#include <memory>
#include <string>

#include "lib/metrics/table.hpp"

namespace metrics {

class Endpoint {
 public:
  /// Serves the table, which must outlive this object, on `address` ("127.0.0.1:9464", "[::1]:9464"). The
  /// server has two threads, so that a slow reader does not block another one. Throws std::runtime_error when
  /// it cannot listen.
  Endpoint(const std::string& address, const Table& table);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace metrics
