// A list of ids of any kind, as plain numbers, to pass to a statement.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "lib/platform/id.hpp"
#include "lib/store/session/row.hpp"

namespace store {

/// The numbers of ids; made from one id, or from several ids or numbers.
class Keys {
 public:
  Keys(std::vector<std::int64_t> numbers) : numbers_(std::move(numbers)) {}
  template <class Kind>
  Keys(const std::vector<platform::Id<Kind>>& ids) : Keys(ids.begin(), ids.end()) {}
  template <class Kind>
  Keys(platform::Id<Kind> id) : numbers_{id.number()} {}
  template <std::input_iterator Iterator>
  Keys(Iterator first, Iterator last) {
    for (; first != last; ++first) add(*first);
  }

  auto begin() const { return numbers_.begin(); }
  auto end() const { return numbers_.end(); }

 private:
  void add(std::int64_t number) { numbers_.push_back(number); }
  template <class Kind>
  void add(platform::Id<Kind> id) {
    numbers_.push_back(id.number());
  }

  std::vector<std::int64_t> numbers_;
};

/// The ids in the column `id`, in the order of the rows; or as a set: ids_in<WebhookId, std::set>(rows).
template <class Id = std::int64_t, template <class...> class Container = std::vector>
Container<Id> ids_in(const Rows& rows) {
  Container<Id> ids;
  for (const auto& row : rows) ids.insert(ids.end(), row.integer("id"));
  return ids;
}

}  // namespace store
