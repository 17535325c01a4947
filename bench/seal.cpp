// Seals one secret for many webhooks, so that `./dev bench crowds` can register tens of thousands of webhooks
// by SQL; registering them through the API would take a minute. Prints one line for each webhook: its id, the
// key's id, and the sealed secret in hexadecimal.
#include <boost/algorithm/hex.hpp>
#include <boost/program_options.hpp>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "lib/webhook/sealed_secret.hpp"

namespace {

struct Options {
  std::string key_file;
  std::string secret;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

Options parse(int argc, char** argv) {
  namespace po = boost::program_options;
  Options options;
  po::options_description known;
  known.add_options()("key-file", po::value(&options.key_file)->required())(
      "secret", po::value(&options.secret)->required())("first", po::value(&options.first)->required())(
      "count", po::value(&options.count)->required());
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, known), values);
  po::notify(values);
  return options;
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = parse(argc, argv);
    const auto keys = webhook::KeyRing::parse(content(options.key_file), options.key_file);
    for (auto id = options.first; id < options.first + options.count; ++id) {
      const auto sealed = keys.seal(id, options.secret);
      std::cout << id << ' ' << sealed.key_id << ' ' << boost::algorithm::hex(sealed.ciphertext) << '\n';
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_seal: " << error.what() << '\n';
    return 1;
  }
}
