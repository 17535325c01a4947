#include "lib/contacts/kinds.hpp"

#include <algorithm>
#include <iterator>

namespace contacts {

namespace {

// Indexed by the value of Kind.
constexpr std::array<std::string_view, kind_count> names{
    "fallo", "desactivacion_proxima", "desactivado", "recuperado", "certificado", "secreto",
    "token", "entregas_fallidas",
};

constexpr std::array<Kind, kind_count> catalogue = [] {
  std::array<Kind, kind_count> kinds{};
  for (std::size_t i = 0; i < kind_count; ++i) kinds[i] = static_cast<Kind>(i);
  return kinds;
}();

}  // namespace

const std::array<Kind, kind_count>& all_kinds() { return catalogue; }

std::string_view name(Kind kind) { return names.at(static_cast<std::size_t>(kind)); }

std::optional<Kind> find_kind(std::string_view name) {
  const auto found = std::ranges::find(catalogue, name, contacts::name);
  return found == catalogue.end() ? std::nullopt : std::optional(*found);
}

KindSet KindSet::all() {
  KindSet result;
  result.bits_.set();
  return result;
}

std::vector<Kind> KindSet::kinds() const {
  std::vector<Kind> result;
  std::ranges::copy_if(catalogue, std::back_inserter(result), [this](Kind kind) { return contains(kind); });
  return result;
}

std::string KindSet::joined() const {
  std::string text;
  for (const Kind kind : kinds()) {
    if (!text.empty()) text += ',';
    text += name(kind);
  }
  return text;
}

KindSet KindSet::from_joined(std::string_view text) {
  KindSet result;
  while (!text.empty()) {
    const auto name = text.substr(0, text.find(','));
    if (const auto kind = find_kind(name)) result.insert(*kind);
    text.remove_prefix(std::min(text.size(), name.size() + 1));
  }
  return result;
}

}  // namespace contacts
