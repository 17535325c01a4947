// Ids are types of their own. This file asserts at compile time what must not compile.
#include "lib/webhook/ids.hpp"

#include <boost/test/unit_test.hpp>

#include <concepts>
#include <cstdint>
#include <sstream>
#include <type_traits>
#include <unordered_set>

#include "lib/delivery/ids.hpp"
#include "lib/store/types.hpp"

namespace {

using webhook::DeliveryId;
using webhook::EntityId;
using webhook::NotificationId;
using webhook::ReplayId;
using webhook::TokenId;
using webhook::WebhookId;

template <class One, class Other>
concept mixes = std::convertible_to<One, Other> || std::constructible_from<Other, One> ||
    requires(One one, Other other) {
  one == other;
} || requires(One one, Other other) {
  one = other;
};

template <class One, class... Others>
constexpr bool apart = (!mixes<One, Others> && ...) && (!mixes<Others, One> && ...);

static_assert(apart<EntityId, WebhookId, NotificationId, DeliveryId, TokenId, ReplayId>);
static_assert(apart<WebhookId, NotificationId, DeliveryId, TokenId, ReplayId>);
static_assert(apart<NotificationId, DeliveryId, TokenId, ReplayId>);
static_assert(apart<DeliveryId, TokenId, ReplayId>);
static_assert(apart<TokenId, ReplayId>);

/// A function that takes the two ids in their usual order.
using Function = void (*)(EntityId entity, WebhookId webhook);
static_assert(std::invocable<Function, EntityId, WebhookId>);
static_assert(!std::invocable<Function, WebhookId, EntityId>);

// A signed number converts to an id. An unsigned number (a count, a lease token) or a bool does not. Only
// number() makes a number of an id.
static_assert(std::convertible_to<std::int64_t, EntityId> && std::convertible_to<int, EntityId>);
static_assert(!std::convertible_to<std::uint64_t, EntityId> && !std::convertible_to<bool, EntityId>);
static_assert(!std::convertible_to<EntityId, std::int64_t> &&
              !std::constructible_from<std::int64_t, EntityId>);

// The libraries' names for an id mean one type.
static_assert(std::same_as<delivery::WebhookId, WebhookId> && std::same_as<store::WebhookId, WebhookId>);

// Ids cost nothing: they are passed like their numbers.
static_assert(sizeof(EntityId) == sizeof(std::int64_t) && std::is_trivially_copyable_v<EntityId>);

}  // namespace

BOOST_AUTO_TEST_SUITE(ids)

BOOST_AUTO_TEST_CASE(are_ordered_hashed_and_written_as_their_numbers) {
  BOOST_TEST(WebhookId(4) == 4);
  BOOST_TEST(WebhookId(-4) < WebhookId(4));
  BOOST_TEST(EntityId().number() == 0);
  BOOST_TEST(WebhookId(4).next() == 5);
  BOOST_TEST(WebhookId(4).previous() == 3);
  BOOST_TEST(to_string(DeliveryId(12)) == "12");
  std::ostringstream text;
  text << DeliveryId(12);
  BOOST_TEST(text.str() == "12");
  BOOST_TEST((std::unordered_set<EntityId>{1, 2, 1}.size()) == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
