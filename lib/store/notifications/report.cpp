#include "store/notifications/report.hpp"

#include <algorithm>

namespace store {

namespace {

constexpr unsigned page_size = 1000;

constexpr std::string_view next_reported = R"sql(
  SELECT r.notificacion_id, r.entidad_id, t.nombre, r.clave, CAST(r.ocurrida_en AS CHAR) AS ocurrida_en, r.estado,
    r.webhooks, r.entregadas, r.pendientes, r.retenidas, CAST(r.primera_entrega AS CHAR) AS primera_entrega,
    r.ultimo_error
  FROM notificaciones_resultado r LEFT JOIN entidades t ON t.id = r.entidad_id
  WHERE r.evento = ? AND r.ocurrida_en >= ? AND (r.ocurrida_en > ? OR r.notificacion_id > ?)
    AND (? IS NULL OR r.ocurrida_en < ?)
  ORDER BY r.ocurrida_en, r.notificacion_id LIMIT ?)sql";

ReportedNotification read_reported(const Row& row) {
  return {row.integer("notificacion_id"),
          row.integer("entidad_id"),
          row.optional_text("nombre"),
          row.optional_text("clave"),
          row.time("ocurrida_en"),
          row.text("estado"),
          row.integer("webhooks"),
          row.integer("entregadas"),
          row.integer("pendientes"),
          row.integer("retenidas"),
          row.optional_time("primera_entrega"),
          row.optional_text("ultimo_error").value_or("")};
}

}  // namespace

std::vector<ReportedNotification> read_report(Session& session, ReportPage& page) {
  std::vector<ReportedNotification> result;
  const auto from = std::max(page.since, page.after);
  for (const auto& row :
       session.query(next_reported, page.event, from, from, page.after >= page.since ? page.after_id : 0,
                     page.until, page.until, page_size))
    result.push_back(read_reported(row));
  if (!result.empty()) {
    page.after = result.back().occurred;
    page.after_id = result.back().id;
  }
  return result;
}

}  // namespace store
