// bench/api.py compares the API's writes with this control program, which makes durable commits of one row
// each, over as many connections as the requests to the API use. Prints a JSON object: the number of commits,
// the total seconds, and the median and 99th percentile of the time of one commit, in ms.
#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <iostream>
#include <thread>
#include <vector>

#include "lib/store/session/session.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::vector<double>;

struct Options {
  config::DatabaseSettings database;
  unsigned connections = 0;
  unsigned seconds = 0;
};

Options parse(int argc, char** argv) {
  namespace po = boost::program_options;
  Options options;
  po::options_description known;
  known.add_options()("socket", po::value(&options.database.socket)->required())(
      "database", po::value(&options.database.name)->required())(
      "user", po::value(&options.database.user)->required())(
      "connections", po::value(&options.connections)->required())("seconds",
                                                                  po::value(&options.seconds)->required());
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, known), values);
  po::notify(values);
  return options;
}

/// Returns the time that each commit took, in ms.
Milliseconds commit_until(Clock::time_point end, store::Session& session) {
  const std::string text(200, 'x');
  Milliseconds taken;
  for (auto start = Clock::now(); start < end;) {
    session.update("INSERT INTO bench_commits (texto) VALUES (?)", text);
    const auto now = Clock::now();
    taken.push_back(std::chrono::duration<double, std::milli>(now - start).count());
    start = now;
  }
  return taken;
}

Milliseconds commit_on_all(const Options& options) {
  std::vector<store::Session> sessions;
  for (unsigned i = 0; i < options.connections; ++i) {
    sessions.emplace_back(options.database, store::SessionOptions{options.database.user});
    sessions.back().connect();
  }
  const auto end = Clock::now() + std::chrono::seconds(options.seconds);
  std::vector<Milliseconds> taken(options.connections);
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < options.connections; ++i)
    threads.emplace_back([&, i] { taken[i] = commit_until(end, sessions[i]); });
  threads.clear();
  Milliseconds all;
  for (const Milliseconds& some : taken) all.insert(all.end(), some.begin(), some.end());
  return all;
}

double percentile(Milliseconds& values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    const auto started = Clock::now();
    Milliseconds taken = commit_on_all(options);
    const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
    if (taken.empty()) throw std::runtime_error("no commit at all");
    std::cout << "{\"requests\": " << taken.size() << ", \"seconds\": " << seconds
              << ", \"p50_ms\": " << percentile(taken, 0.5) << ", \"p99_ms\": " << percentile(taken, 0.99)
              << "}" << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "bench_commits: " << error.what() << '\n';
    return 1;
  }
}
