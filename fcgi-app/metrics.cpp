#include "fcgi-app/metrics.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include "lib/platform/service_manager.hpp"

namespace api {
namespace {

using namespace std::chrono_literals;
using metrics::Labels;
using metrics::Metric;
using Kind = Metric::Kind;

constexpr std::array statuses{200, 201, 202, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 429, 500, 503};

/// A label for each route, one for requests without a route (an unknown path, or a method that the path does
/// not accept), and one for the link of a mail. The path itself is never a label, because clients can send
/// any number of paths.
std::vector<std::string> route_labels() {
  std::vector<std::string> labels;
  for (const Route& route : routes())
    labels.push_back(std::string(route.method) + " " + std::string(route.pattern));
  labels.emplace_back("other");
  labels.emplace_back("mail link");
  return labels;
}

std::vector<Labels> request_series() {
  std::vector<Labels> series;
  for (const auto& route : route_labels()) {
    for (const int status : statuses)
      series.push_back({{"route", route}, {"status", std::to_string(status)}});
    series.push_back({{"route", route}, {"status", "other"}});
  }
  return series;
}

std::vector<Labels> duration_series() {
  std::vector<Labels> series;
  for (const auto& route : route_labels()) series.push_back({{"route", route}});
  return series;
}

std::vector<Labels> error_series() {
  std::vector<Labels> series;
  series.reserve(store::error_kinds.size());
  for (const auto kind : store::error_kinds) series.push_back({{"kind", std::string(kind)}});
  return series;
}

std::vector<Metric> all_metrics() {
  return {
      {Kind::counter, "apientidades_api_requests_total",
       "API requests answered, by route and status (nginx's own refusals are not counted).",
       request_series()},
      {Kind::histogram,
       "apientidades_api_request_duration_seconds",
       "Time from reading the request to its answer, by route.",
       duration_series(),
       {500us, 1ms, 2500us, 5ms, 10ms, 25ms, 50ms, 100ms, 250ms, 500ms, 1s, 2500ms, 5s, 10s}},
      {Kind::counter, "apientidades_api_database_errors_total",
       "Failed statements: unavailable (no connection, no writes), conflict (deadlock, lock wait, "
       "certification, time limit), refused (others).",
       error_series()},
  };
}

std::string shared_file(const config::MetricsSettings& settings) {
  if (!settings.api_file.empty()) return settings.api_file;
  const auto folder = platform::runtime_directory();
  return folder ? *folder + "/metrics" : std::string();
}

std::size_t route_index(const Match& match) {
  return match.route == nullptr ? routes().size() : static_cast<std::size_t>(match.route - routes().data());
}

}  // namespace

metrics::Table Metrics::make_table(const config::MetricsSettings& settings, const platform::Log& log) {
  const auto file = shared_file(settings);
  if (!file.empty()) {
    try {
      return metrics::Table(all_metrics(), file);
    } catch (const std::system_error& error) {
      log.error("metrics file cannot be used; this process counts only its own requests",
                {{"key", "metrics.api_file"}, {"error", error.what()}});
    }
  }
  return metrics::Table(all_metrics());
}

Metrics::Metrics(const config::MetricsSettings& settings, const platform::Log& log)
    : table_(make_table(settings, log)) {
  for (std::size_t i = 0; i < request_series().size(); ++i)
    requests_.push_back(table_.counter("apientidades_api_requests_total", i));
  for (std::size_t i = 0; i < duration_series().size(); ++i)
    durations_.push_back(table_.histogram("apientidades_api_request_duration_seconds", i));
  for (std::size_t i = 0; i < error_series().size(); ++i)
    errors_.push_back(table_.counter("apientidades_api_database_errors_total", i));
}

void Metrics::count_request(const Match& match, int status, std::chrono::microseconds duration) const {
  count(route_index(match), status, duration);
}

void Metrics::count_mail_link(int status, std::chrono::microseconds duration) const {
  count(routes().size() + 1, status, duration);
}

void Metrics::count(std::size_t route, int status, std::chrono::microseconds duration) const {
  const auto known = std::ranges::find(statuses, status) - statuses.begin();  // past the end: other
  requests_[route * (statuses.size() + 1) + static_cast<std::size_t>(known)].add();
  durations_[route].observe(duration);
}

void Metrics::count_error(store::ErrorKind kind) const { errors_[static_cast<std::size_t>(kind)].add(); }

}  // namespace api
