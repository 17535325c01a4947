// The metrics of a program, as one table, written in Prometheus' text format (0.0.4). All series exist from
// the start; nothing that a client or a receiver sends can add one.
//
// Counting takes no lock: one atomic addition for a counter, two for a histogram.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/metrics/memory.hpp"

namespace metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Metric {
  enum class Kind {
    counter,    // only grows; its name ends in _total
    gauge,      // any number
    histogram,  // of durations, in seconds
  };
  Kind kind;
  std::string name;
  std::string help;
  std::vector<Labels> series{{}};                   // by default one, without labels
  std::vector<std::chrono::microseconds> bounds{};  // upper bounds of a histogram's buckets, ascending
};

class Counter {
 public:
  explicit Counter(Cell& cell) : cell_(&cell) {}
  void add(std::uint64_t count = 1) const { cell_->fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t value() const { return cell_->load(std::memory_order_relaxed); }

 private:
  Cell* cell_;
};

class Gauge {
 public:
  explicit Gauge(Cell& cell) : cell_(&cell) {}
  void set(double value) const;
  double value() const;

 private:
  Cell* cell_;
};

class Histogram {
 public:
  Histogram(Cell* first, const std::vector<std::chrono::microseconds>& bounds)
      : first_(first), bounds_(&bounds) {}
  void observe(std::chrono::microseconds duration) const;

 private:
  Cell* first_;  // the sum in microseconds, a bucket for each bound, and a last one without bound
  const std::vector<std::chrono::microseconds>* bounds_;
};

/// The counters, gauges and histograms that a table returns are valid while it lives, and safe to use from
/// any thread.
class Table {
 public:
  /// A table for this process alone. Throws std::system_error.
  explicit Table(std::vector<Metric> metrics);
  /// A table with counts that all processes with the same metrics and the same file share. The table must
  /// have no gauges. Throws std::system_error.
  Table(std::vector<Metric> metrics, const std::string& shared_file);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// `series` is the index in Metric::series. Each throws std::out_of_range for a metric or series that is
  /// not in the table.
  Counter counter(std::string_view name, std::size_t series = 0) const;
  Gauge gauge(std::string_view name, std::size_t series = 0) const;
  Histogram histogram(std::string_view name, std::size_t series = 0) const;

  /// The whole table in Prometheus' text format.
  std::string text() const;

 private:
  friend class Collector;  // reads the cells for a scrape
  Cell* find(Metric::Kind kind, std::string_view name, std::size_t series) const;
  const Metric& metric(std::string_view name) const;

  std::vector<Metric> metrics_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace metrics
