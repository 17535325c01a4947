#include "lib/metrics/endpoint.hpp"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <stdexcept>

#include "lib/metrics/collect.hpp"

namespace metrics {

namespace {

struct Source : prometheus::Collectable {
  explicit Source(const Table& t) : table(t) {}
  std::vector<prometheus::MetricFamily> Collect() const override { return Collector::collect(table); }
  const Table& table;
};

}  // namespace

struct Endpoint::Impl {
  Impl(const std::string& address, const Table& table)
      : source(std::make_shared<Source>(table)), exposer(address, 2) {
    exposer.RegisterCollectable(source);
  }
  std::shared_ptr<Source> source;
  prometheus::Exposer exposer;  // declared last: it is destroyed before the source that it reads
};

Endpoint::Endpoint(const std::string& address, const Table& table) {
  try {
    impl_ = std::make_unique<Impl>(address, table);
  } catch (const std::exception&) {  // the message of prometheus-cpp's HTTP server does not name the cause
    throw std::runtime_error("cannot listen on " + address + " (is it in use?)");
  }
}

Endpoint::~Endpoint() = default;

}  // namespace metrics
