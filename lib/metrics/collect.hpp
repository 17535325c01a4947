// Converts a table to prometheus-cpp's types. Internal to the library.
#pragma once

#include <prometheus/metric_family.h>

#include <span>
#include <vector>

#include "lib/metrics/table.hpp"

namespace metrics {

class Collector {
 public:
  static std::vector<prometheus::MetricFamily> collect(const Table& table);
};

}  // namespace metrics
