// Implements the quotas of confirmation codes of quotas.hpp: table `codigos_pedidos`.
#include <algorithm>

#include "lib/store/quotas/quotas.hpp"

namespace store {

namespace {

static_assert(most_codes_to_address == 6, "the CHECK codigos_plaza says it");

// A row ends after a day. One of the future was written before the clock went back.
constexpr std::string_view forget_of_entity = R"sql(
  DELETE FROM codigos_pedidos
  WHERE entidad_id = ?
    AND pedido_en NOT BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 DAY AND UTC_TIMESTAMP(3) + INTERVAL 1 HOUR)sql";
constexpr std::string_view forget_to_address = R"sql(
  DELETE FROM codigos_pedidos
  WHERE huella = UNHEX(SHA2(LOWER(?), 256))
    AND pedido_en NOT BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 DAY AND UTC_TIMESTAMP(3) + INTERVAL 1 HOUR)sql";
constexpr std::string_view codes_of_entity = R"sql(
  SELECT COUNT(*) AS usados,
    CEILING(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), MIN(pedido_en) + INTERVAL 1 DAY) / 1000000) AS falta_s
  FROM codigos_pedidos
  WHERE entidad_id = ?
    AND pedido_en BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 DAY AND UTC_TIMESTAMP(3) + INTERVAL 1 HOUR)sql";
constexpr std::string_view codes_to_address = R"sql(
  SELECT plaza, entidad_id = ? AS propio,
    CEILING(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), pedido_en + INTERVAL 1 DAY) / 1000000) AS falta_s
  FROM codigos_pedidos WHERE huella = UNHEX(SHA2(LOWER(?), 256))
  ORDER BY pedido_en)sql";
constexpr std::string_view count_code = R"sql(
  INSERT INTO codigos_pedidos (huella, plaza, entidad_id, pedido_en)
  VALUES (UNHEX(SHA2(LOWER(?), 256)), ?, ?, UTC_TIMESTAMP(3)))sql";

constexpr unsigned day_s = 86400;

unsigned wait_s(std::int64_t seconds) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(seconds, 1, day_s));
}

/// Returns a place that no code to the address has.
std::int64_t free_place(Session& session, EntityId entity, const std::string& address) {
  session.update(forget_to_address, address);
  const auto codes = session.query(codes_to_address, entity, address);
  const auto is_own = [](const Row& row) { return row.boolean("propio"); };
  if (std::ranges::count_if(codes, is_own) >= most_codes_to_address_of_entity)
    throw OverQuota(Quota::codes_to_address, wait_s(std::ranges::find_if(codes, is_own)->integer("falta_s")));
  for (std::int64_t place = 1; place <= most_codes_to_address; ++place)
    if (std::ranges::none_of(codes, [&](const Row& row) { return row.integer("plaza") == place; }))
      return place;
  throw OverQuota(Quota::codes_to_address, wait_s(codes.front().integer("falta_s")));
}

}  // namespace

QuotaLeft codes_left(Session& session, EntityId entity, std::uint64_t limit) {
  const auto rows = session.query(codes_of_entity, entity);
  const auto used = rows.at(0).unsigned_integer("usados");
  return {Quota::contact_codes, limit, limit - std::min<std::uint64_t>(used, limit),
          wait_s(rows.at(0).optional_integer("falta_s").value_or(day_s)), day_s};
}

void use_codes(Session& session, EntityId entity, std::uint64_t limit,
               const std::vector<std::string>& addresses) {
  session.update(forget_of_entity, entity);
  codes_left(session, entity, limit).require(addresses.size());
  std::vector<std::int64_t> places;
  for (const auto& address : addresses) places.push_back(free_place(session, entity, address));
  // After every refusal, because a refusal is committed.
  for (std::size_t i = 0; i < addresses.size(); ++i)
    session.update(count_code, addresses[i], places[i], entity);
}

}  // namespace store
