#include "lib/metrics/table.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <bit>
#include <sstream>
#include <stdexcept>

#include "lib/metrics/collect.hpp"

namespace metrics {

namespace {

using std::chrono::microseconds;

std::size_t cells_of_series(const Metric& metric) {
  return metric.kind == Metric::Kind::histogram ? metric.bounds.size() + 2 : 1;
}

std::size_t cells_of(const std::vector<Metric>& metrics) {
  std::size_t count = 0;
  for (const auto& metric : metrics) count += metric.series.size() * cells_of_series(metric);
  return count;
}

/// Describes the cells: the names, bounds and labels of the metrics.
std::string layout_of(const std::vector<Metric>& metrics) {
  std::string layout;
  for (const auto& metric : metrics) {
    layout += metric.name;
    for (const auto bound : metric.bounds) layout += ' ' + std::to_string(bound.count());
    for (const auto& labels : metric.series) {
      layout += '{';
      for (const auto& [name, value] : labels) layout.append(name).append("=").append(value).append(",");
      layout += '}';
    }
    layout += '\n';
  }
  return layout;
}

prometheus::MetricType type_of(Metric::Kind kind) {
  switch (kind) {
    case Metric::Kind::counter:
      return prometheus::MetricType::Counter;
    case Metric::Kind::gauge:
      return prometheus::MetricType::Gauge;
    case Metric::Kind::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

double seconds(microseconds duration) { return std::chrono::duration<double>(duration).count(); }

std::uint64_t load(const Cell& cell) { return cell.load(std::memory_order_relaxed); }

/// Computes the count as the sum of the buckets, so that count and buckets agree even when a thread is
/// counting or a process was killed while it counted.
prometheus::ClientMetric::Histogram read_histogram(const Cell* first,
                                                   const std::vector<microseconds>& bounds) {
  prometheus::ClientMetric::Histogram histogram;
  histogram.sample_sum = seconds(microseconds(load(first[0])));
  for (std::size_t i = 0; i <= bounds.size(); ++i) {
    histogram.sample_count += load(first[i + 1]);
    if (i < bounds.size()) histogram.bucket.push_back({histogram.sample_count, seconds(bounds[i])});
  }
  return histogram;
}

prometheus::ClientMetric read_series(const Metric& metric, const Labels& labels, const Cell* cell) {
  prometheus::ClientMetric result;
  for (const auto& [name, value] : labels) result.label.push_back({name, value});
  switch (metric.kind) {
    case Metric::Kind::counter:
      result.counter.value = static_cast<double>(load(*cell));
      break;
    case Metric::Kind::gauge:
      result.gauge.value = std::bit_cast<double>(load(*cell));
      break;
    case Metric::Kind::histogram:
      result.histogram = read_histogram(cell, metric.bounds);
      break;
  }
  return result;
}

}  // namespace

void Gauge::set(double value) const {
  cell_->store(std::bit_cast<std::uint64_t>(value), std::memory_order_relaxed);
}

double Gauge::value() const { return std::bit_cast<double>(cell_->load(std::memory_order_relaxed)); }

void Histogram::observe(microseconds duration) const {
  const auto bucket = std::ranges::lower_bound(*bounds_, duration) - bounds_->begin();
  first_[0].fetch_add(static_cast<std::uint64_t>(std::max(duration, microseconds(0)).count()),
                      std::memory_order_relaxed);
  first_[bucket + 1].fetch_add(1, std::memory_order_relaxed);
}

Table::Table(std::vector<Metric> metrics)
    : metrics_(std::move(metrics)), memory_(std::make_unique<Memory>(cells_of(metrics_))) {}

Table::Table(std::vector<Metric> metrics, const std::string& shared_file)
    : metrics_(std::move(metrics)),
      memory_(std::make_unique<Memory>(shared_file, cells_of(metrics_), layout_of(metrics_))) {}

Table::~Table() = default;

const Metric& Table::metric(std::string_view name) const {
  const auto found = std::ranges::find(metrics_, name, &Metric::name);
  if (found == metrics_.end()) throw std::out_of_range("no metric " + std::string(name));
  return *found;
}

Cell* Table::find(Metric::Kind kind, std::string_view name, std::size_t series) const {
  const Metric& wanted = metric(name);
  if (wanted.kind != kind || series >= wanted.series.size())
    throw std::out_of_range("no such series of metric " + std::string(name));
  std::size_t at = 0;
  for (const auto& other : metrics_) {
    if (&other == &wanted) break;
    at += other.series.size() * cells_of_series(other);
  }
  return &memory_->cells()[at + series * cells_of_series(wanted)];
}

Counter Table::counter(std::string_view name, std::size_t series) const {
  return Counter(*find(Metric::Kind::counter, name, series));
}
Gauge Table::gauge(std::string_view name, std::size_t series) const {
  return Gauge(*find(Metric::Kind::gauge, name, series));
}
Histogram Table::histogram(std::string_view name, std::size_t series) const {
  return {find(Metric::Kind::histogram, name, series), metric(name).bounds};
}

std::vector<prometheus::MetricFamily> Collector::collect(const Table& table) {
  std::vector<prometheus::MetricFamily> families;
  const Cell* cell = table.memory_->cells().data();
  for (const auto& metric : table.metrics_) {
    auto& family = families.emplace_back();
    family.name = metric.name;
    family.help = metric.help;
    family.type = type_of(metric.kind);
    for (const auto& labels : metric.series) {
      family.metric.push_back(read_series(metric, labels, cell));
      cell += cells_of_series(metric);
    }
  }
  return families;
}

std::string Table::text() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, Collector::collect(*this));
  return std::move(out).str();
}

}  // namespace metrics
