// The catalogue of the kinds of notices that a contact may get by mail (web/docs/alertas-por-correo.md), and
// sets of kinds.
// Pure.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace contacts {

/// In the order of the SET `contactos.avisos`.
enum class Kind : unsigned char {
  failing,            // a webhook has failed for an hour
  deactivation_near,  // half and nine tenths of the way to its deactivation
  deactivated,        // by a 410, by failures or by the operator
  recovered,          // it works again
  certificate,        // the receiver's certificate ends soon
  secret,             // the grace of a previous secret ends soon
  token,              // the token ends soon
  failed_deliveries,  // deliveries became `fallida`
};

inline constexpr std::size_t kind_count = 8;

/// Every kind, in catalogue order.
const std::array<Kind, kind_count>& all_kinds();

/// The kind's name in the API, "desactivacion_proxima".
std::string_view name(Kind kind);

/// Finds the kind of exactly this name (case-sensitive); nullopt if there is none.
std::optional<Kind> find_kind(std::string_view name);

/// A set of kinds, iterated in catalogue order.
class KindSet {
 public:
  static KindSet all();
  void insert(Kind kind) { bits_.set(static_cast<std::size_t>(kind)); }
  bool contains(Kind kind) const { return bits_.test(static_cast<std::size_t>(kind)); }
  bool empty() const { return bits_.none(); }
  std::vector<Kind> kinds() const;
  /// The database's SET spelling, "fallo,token"; empty for the empty set.
  std::string joined() const;
  /// Reads joined(). Skips names that are not in the catalogue, because a newer release may have written
  /// them.
  static KindSet from_joined(std::string_view text);
  bool operator==(const KindSet&) const = default;

 private:
  std::bitset<kind_count> bits_;
};

}  // namespace contacts
