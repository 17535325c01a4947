#include "lib/store/notices/notices.hpp"

#include <algorithm>
#include <set>

#include "lib/store/session/batches.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/rows_by_key.hpp"
#include "lib/store/session/sql_text.hpp"

namespace store {

namespace {

constexpr std::string_view known_episodes = R"sql(
  SELECT contacto_id, tipo, episodio FROM avisos WHERE contacto_id IN)sql";
constexpr std::string_view insert_notices = R"sql(
  INSERT INTO avisos (contacto_id, entidad_id, webhook_id, tipo, episodio, datos, proximo_intento) VALUES)sql";
constexpr std::string_view notice_row = "(?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND)";
/// Not `id = id`: MySQL refuses that for a row that the same statement has numbered (error 1869).
constexpr std::string_view unless_there = "ON DUPLICATE KEY UPDATE estado = avisos.estado";
constexpr std::string_view notice_by_key = R"sql(
  SELECT 1 FROM avisos WHERE contacto_id = ? AND tipo = ? AND episodio = ?)sql";

/// Not by creado_en: a notice may wait for longer, if its address got the mails of other entities each hour.
constexpr std::string_view give_up_waiting = R"sql(
  UPDATE avisos FORCE INDEX (avisos_por_enviar) SET estado = 'fallido', error = 'not sent in two days', proximo_intento = UTC_TIMESTAMP(3)
  WHERE estado = 'pendiente' AND proximo_intento < UTC_TIMESTAMP(3) - INTERVAL ? DAY
  ORDER BY proximo_intento LIMIT ?)sql";
/// Not while a run may be sending it.
constexpr std::string_view give_up_tried = R"sql(
  UPDATE avisos FORCE INDEX (avisos_por_enviar) SET estado = 'fallido', error = IF(error = '', 'not sent in two days', error),
    proximo_intento = UTC_TIMESTAMP(3)
  WHERE estado = 'enviando' AND proximo_intento <= UTC_TIMESTAMP(3) AND creado_en < UTC_TIMESTAMP(3) - INTERVAL ? DAY
  ORDER BY proximo_intento LIMIT ?)sql";
/// A certificate of more than 14 days ahead is a renewed one.
constexpr std::string_view ended_notices = R"sql(
  SELECT a.id FROM avisos a FORCE INDEX (avisos_por_enviar)
  LEFT JOIN webhooks w ON w.id = a.webhook_id LEFT JOIN webhook_ejecuciones x ON x.webhook_id = a.webhook_id
  LEFT JOIN tokens_acceso k ON a.tipo = 'token' AND k.id = CAST(JSON_VALUE(a.datos, '$.token') AS SIGNED)
  WHERE a.estado = 'pendiente' AND (
    a.tipo = 'fallo' AND (w.plaza IS NULL OR w.activo AND COALESCE(x.fallos, 0) = 0)
    OR a.tipo = 'desactivacion_proxima' AND (w.plaza IS NULL OR NOT w.activo OR COALESCE(x.fallos, 0) = 0)
    OR a.tipo = 'desactivado' AND (w.plaza IS NULL OR w.activo)
    OR a.tipo = 'secreto' AND NOT COALESCE(w.plaza IS NOT NULL AND w.secreto_anterior_hasta > UTC_TIMESTAMP(3), FALSE)
    OR a.tipo = 'token' AND NOT COALESCE(k.revocado IS NULL AND k.caduca > UTC_TIMESTAMP(3), FALSE)
    OR a.tipo = 'certificado' AND NOT COALESCE(w.plaza IS NOT NULL AND x.certificado_caduca > UTC_TIMESTAMP(3)
                                               AND x.certificado_caduca <= UTC_TIMESTAMP(3) + INTERVAL 14 DAY, FALSE))
  LIMIT ?)sql";
constexpr std::string_view discard_by_id = R"sql(
  UPDATE avisos SET estado = 'descartado', error = 'it ended before the mail' WHERE estado = 'pendiente' AND id IN)sql";
constexpr std::string_view forget_old = R"sql(
  DELETE FROM avisos WHERE creado_en < UTC_TIMESTAMP(3) - INTERVAL ? DAY ORDER BY creado_en LIMIT ?)sql";

constexpr std::string_view listed = R"sql(
  SELECT a.id, a.contacto_id, c.correo, a.entidad_id, a.webhook_id, a.tipo, a.estado, a.intentos, a.datos,
    CAST(a.creado_en AS CHAR) AS creado_en, CAST(a.proximo_intento AS CHAR) AS proximo_intento,
    CAST(a.enviado_en AS CHAR) AS enviado_en, a.mensaje, a.error
  FROM avisos a LEFT JOIN contactos c ON c.id = a.contacto_id)sql";
constexpr std::string_view with_id = " WHERE a.id = ?";
constexpr std::string_view notice_by_id = joined<listed, with_id>;
constexpr std::string_view that_match = R"sql(
  WHERE (? IS NULL OR a.entidad_id = ?) AND (? IS NULL OR a.webhook_id = ?) AND (? IS NULL OR a.estado = ?)
    AND (? IS NULL OR a.creado_en >= ?)
  ORDER BY a.id DESC LIMIT ?)sql";
constexpr std::string_view matching_notices = joined<listed, that_match>;

/// An unconfirmed address may be wrong, so a code that was not accepted is not the operator's.
constexpr std::string_view counts = R"sql(
  SELECT
    (SELECT COUNT(*) FROM avisos WHERE estado IN ('pendiente', 'enviando')) AS esperan,
    TIMESTAMPDIFF(SECOND, LEAST(
      UTC_TIMESTAMP(3), COALESCE((SELECT MIN(proximo_intento) FROM avisos WHERE estado = 'pendiente'), UTC_TIMESTAMP(3)),
      COALESCE((SELECT MIN(creado_en) FROM avisos WHERE estado = 'enviando' AND tipo <> 'codigo'), UTC_TIMESTAMP(3))),
      UTC_TIMESTAMP(3)) AS antiguo_s,
    (SELECT COUNT(*) FROM avisos WHERE enviado_en > UTC_TIMESTAMP(3) - INTERVAL 1 DAY) AS enviados,
    (SELECT COUNT(*) FROM avisos a JOIN contactos c ON c.id = a.contacto_id
     WHERE a.estado = 'fallido' AND a.proximo_intento > UTC_TIMESTAMP(3) - INTERVAL 3 DAY AND a.tipo <> 'codigo'
       AND c.confirmado_en IS NOT NULL AND c.rechazado_en IS NULL) AS fallidos,
    (SELECT COUNT(*) FROM contactos WHERE rechazado_en IS NOT NULL) AS rechazados)sql";

using Key = std::tuple<std::int64_t, std::string, std::string>;

std::set<Key> read_known(Session& session, const std::vector<NewNotice>& notices) {
  std::vector<ContactId> contacts;
  for (const auto& notice : notices) contacts.push_back(notice.contact);
  std::ranges::sort(contacts);
  contacts.erase(std::unique(contacts.begin(), contacts.end()), contacts.end());
  std::set<Key> known;
  for (const auto& row : query_ids(session, known_episodes, contacts, {}))
    known.emplace(row.integer("contacto_id"), row.text("tipo"), row.text("episodio"));
  return known;
}

ListedNotice read_listed(const Row& row) {
  return {row.integer("id"),
          row.integer("contacto_id"),
          row.optional_text("correo"),
          row.optional_integer("entidad_id"),
          row.optional_integer("webhook_id"),
          row.text("tipo"),
          row.text("estado"),
          row.integer("intentos"),
          row.time("creado_en"),
          row.time("proximo_intento"),
          row.optional_time("enviado_en"),
          row.optional_text("mensaje"),
          row.text("error"),
          row.text("datos")};
}

}  // namespace

/// Reads first which are there, because nearly all are, and each row that meets a duplicate would use up an
/// id.
std::uint64_t add_notices(Session& session, const std::vector<NewNotice>& notices) {
  if (notices.empty()) return 0;
  const auto known = read_known(session, notices);
  std::vector<Parameter> rows;
  std::uint64_t added = 0;
  for (const auto& one : notices) {
    if (known.contains({one.contact.number(), one.kind, one.episode})) continue;
    append_row(rows, one.contact, one.entity, one.webhook, one.kind, one.episode, one.data,
               microseconds(one.delay));
    ++added;
  }
  if (added > 0)
    transaction(session, [&] { upsert_rows(session, insert_notices, notice_row, rows, unless_there); });
  return added;
}

bool has_notice(Session& session, ContactId contact, std::string_view kind, std::string_view episode) {
  return !session.query(notice_by_key, contact, kind, episode).empty();
}

std::uint64_t give_up_old(Session& session) {
  std::uint64_t given_up = 0;
  for (const auto give_up : {give_up_waiting, give_up_tried})
    given_up += session.update(give_up, std::int64_t{notice_patience.count()}, batch_rows);
  return given_up;
}

std::uint64_t discard_ended(Session& session) {
  return in_batches(session, [&] {
    const auto ended = ids_in<NoticeId>(session.query(ended_notices, batch_rows));
    return ended.empty() ? 0 : update_ids(session, discard_by_id, ended, {});
  });
}

std::uint64_t forget_old_notices(Session& session) {
  return session.update(forget_old, std::int64_t{notices_kept.count()}, batch_rows);
}

std::vector<ListedNotice> list_notices(Session& session, const ListFilter& filter) {
  std::vector<ListedNotice> result;
  for (const auto& row :
       session.query(matching_notices, filter.entity, filter.entity, filter.webhook, filter.webhook,
                     filter.state, filter.state, filter.since, filter.since, filter.limit))
    result.push_back(read_listed(row));
  std::ranges::reverse(result);
  return result;
}

std::optional<ListedNotice> find_notice(Session& session, NoticeId id) {
  const auto rows = session.query(notice_by_id, id);
  if (rows.empty()) return std::nullopt;
  return read_listed(rows.front());
}

NoticeCounts count_notices(Session& session) {
  const auto rows = session.query(counts);
  const auto& row = rows.at(0);
  return {row.integer("esperan"), row.integer("antiguo_s"), row.integer("enviados"), row.integer("fallidos"),
          row.integer("rechazados")};
}

}  // namespace store
