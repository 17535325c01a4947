#include "lib/store/replays/range_walk.hpp"

#include <algorithm>
#include <string_view>

#include "lib/store/replays/candidates.hpp"

namespace store {

namespace {

constexpr std::size_t looked_at = 2000;  // rows per page at most
constexpr std::size_t first_look = 32;
constexpr std::size_t growth = 4;  // each read of a page is larger by this factor
/// find_start() ends when so few ids are left, because read_page() reads them quickly.
constexpr DeliveryId near_enough = 1000;

constexpr std::string_view ends_of_webhook = R"sql(
  SELECT COALESCE(MIN(id), 1) AS primera, COALESCE(MAX(id), 0) AS ultima
  FROM entregas FORCE INDEX (entregas_de_webhook) WHERE webhook_id = ?)sql";
constexpr std::string_view first_from = R"sql(
  SELECT id, COALESCE(creada_en < ? - INTERVAL 1 DAY, FALSE) AS antes
  FROM entregas FORCE INDEX (entregas_de_webhook) WHERE webhook_id = ? AND id >= ? ORDER BY id LIMIT 1)sql";

constexpr std::string_view page_of_webhook = R"sql(
  SELECT e.id, COALESCE(e.creada_en >= ? + INTERVAL 1 DAY, FALSE) AS joven, )sql";
constexpr std::string_view in_page = R"sql( AS encaja
  FROM (SELECT id FROM entregas FORCE INDEX (entregas_de_webhook)
        WHERE webhook_id = ? AND id > ? ORDER BY id LIMIT ?) v
  STRAIGHT_JOIN entregas e FORCE INDEX (PRIMARY) ON e.id = v.id
  STRAIGHT_JOIN notificaciones_pendientes n FORCE INDEX (PRIMARY) ON n.id = e.notificacion_id
  ORDER BY e.id)sql";

/// Chooses matching rows; returns false when the page needs no further read.
bool choose(const Rows& rows, std::size_t room, ReplayPage& page) {
  for (const auto& row : rows) {
    if (row.boolean("joven")) {
      page.last = true;
      return false;
    }
    if (row.boolean("encaja")) {
      if (page.chosen.size() == room) return false;
      page.chosen.push_back(row.integer("id"));
    }
    page.looked_up_to = row.integer("id");
  }
  return true;
}

}  // namespace

ReplayRange bounded(ReplayRange range) {
  range.since = std::max(range.since, UtcTime{});
  if (range.until) range.until = std::max(*range.until, UtcTime{});
  return range;
}

DeliveryId find_start(Session& session, WebhookId webhook, UtcTime since) {
  const auto ends = session.query(ends_of_webhook, webhook);
  auto before = ends.at(0).integer("primera") - 1;
  auto after = ends.at(0).integer("ultima") + 1;
  while (after - before > near_enough) {
    const auto middle = before + (after - before) / 2;
    const auto rows = session.query(first_from, since, webhook, middle);
    if (!rows.empty() && rows.front().boolean("antes"))
      before = rows.front().integer("id");
    else
      after = middle;
  }
  return before;
}

ReplayPage read_page(Session& session, WebhookId webhook, const ReplayRange& range, DeliveryId after,
                     std::size_t room) {
  ReplayPage page{{}, after, false};
  std::size_t looked = 0;
  for (auto size = first_look; looked < looked_at; size = std::min(size * growth, looked_at - looked)) {
    const auto rows = session.query(with_fits_replay(page_of_webhook, in_page), range.until, range.failed,
                                    range.delivered, range.since, range.until, range.events, range.events,
                                    webhook, page.looked_up_to, std::int64_t(size));
    if (!choose(rows, room, page)) return page;
    if (rows.size() < size) {
      page.last = true;
      return page;
    }
    looked += rows.size();
  }
  return page;
}

}  // namespace store
