#include "lib/store/notifications/report.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/store/notifications/shifted_times.hpp"
#include "lib/store/session/rows_by_key.hpp"

namespace store {

namespace {

constexpr unsigned page_size = 1000;

// A page takes two statements. The previous page may have ended among rows with the same time: the first
// statement reads the rest of these rows, and the second reads rows with later times. A single statement with
// a range on the time would read all rows of that time again. These are many if one event concerns many
// entities.
//
// Some sql_modes of the writer's session allow a day that does not exist (30 February). Rows with such a day
// are left out, because UtcTime has no such day; the dispatcher rejects them.

constexpr std::string_view of_the_same_instant = R"sql(
  SELECT n.id, CAST(n.ocurrida_en AS CHAR) AS ocurrida_en
  FROM notificaciones_pendientes n FORCE INDEX (notificaciones_por_evento)
  WHERE n.evento = ? AND n.ocurrida_en = ? AND n.id > ? AND n.origen = 'evaluacion' ORDER BY n.id LIMIT ?)sql";
constexpr std::string_view of_later_ones = R"sql(
  SELECT n.id, CAST(n.ocurrida_en AS CHAR) AS ocurrida_en
  FROM notificaciones_pendientes n FORCE INDEX (notificaciones_por_evento)
  WHERE n.evento = ? AND n.ocurrida_en > ? AND (? IS NULL OR n.ocurrida_en < ?) AND n.origen = 'evaluacion'
    AND DAY(n.ocurrida_en) BETWEEN 1 AND DAY(LAST_DAY(n.ocurrida_en))
  ORDER BY n.ocurrida_en, n.id LIMIT ?)sql";

constexpr std::string_view reported_by_id = R"sql(
  SELECT r.notificacion_id, r.entidad_id, t.nombre, CAST(r.ocurrida_en AS CHAR) AS ocurrida_en, r.estado,
    r.webhooks, r.entregadas, r.pendientes, r.fallidas, r.retenidas, r.canceladas, r.caducadas, r.ultimo_error,
    (SELECT CAST(n.terminada_en AS CHAR) FROM notificaciones_pendientes n
     WHERE n.id = r.notificacion_id AND n.no_antes_de IS NULL) AS terminada_en
  FROM notificaciones_resultado r LEFT JOIN entidades t ON t.id = r.entidad_id
  WHERE r.notificacion_id IN)sql";

ReportedNotification read_reported(const Row& row) {
  const auto taken_up = row.optional_time("terminada_en");
  return {row.integer("notificacion_id"),
          row.integer("entidad_id"),
          row.optional_text("nombre"),
          row.time("ocurrida_en"),
          row.text("estado"),
          row.integer("webhooks"),
          row.integer("entregadas"),
          row.integer("pendientes"),
          row.integer("fallidas"),
          row.integer("retenidas"),
          row.integer("canceladas"),
          row.optional_text("ultimo_error").value_or(""),
          taken_up ? whole_hours_between(row.time("ocurrida_en"), *taken_up) : std::nullopt,
          row.integer("caducadas")};
}

/// Reads the ids and times of the next page.
Rows read_page(Session& session, const ReportPage& page) {
  const bool begun = page.after >= page.since;
  const auto instant = begun ? page.after : page.since;
  if (page.until && instant >= *page.until) return {};
  auto rows = session.query(of_the_same_instant, page.event, instant, begun ? page.after_id : 0, page_size);
  if (rows.size() == page_size) return rows;
  const auto left = page_size - static_cast<unsigned>(rows.size());
  std::ranges::move(session.query(of_later_ones, page.event, instant, page.until, page.until, left),
                    std::back_inserter(rows));
  return rows;
}

}  // namespace

std::vector<ReportedNotification> read_report(Session& session, ReportPage& page) {
  std::vector<ReportedNotification> result;
  // If all rows of a page were purged after their ids had been read, reads the next page.
  while (result.empty()) {
    const auto rows = read_page(session, page);
    if (rows.empty()) break;
    page.after = rows.back().time("ocurrida_en");
    page.after_id = rows.back().integer("id");
    for (const auto& row : query_ids(session, reported_by_id, ids_in(rows), {}))
      result.push_back(read_reported(row));
  }
  std::ranges::sort(result, {}, [](const auto& one) { return std::pair(one.occurred, one.id); });
  return result;
}

}  // namespace store
