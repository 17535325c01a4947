#include "lib/store/backlog/pauses.hpp"

#include "lib/store/session/microseconds.hpp"
#include "lib/webhook/target_url.hpp"

namespace store {

namespace {

constexpr std::string_view current_pauses = R"sql(
  SELECT pausada, NULL AS tipo, NULL AS objeto, NULL AS hasta, NULL AS falta_ms, NULL AS desde, NULL AS motivo
  FROM control_envio WHERE id = 1
  UNION ALL
  SELECT NULL, tipo, objeto, CAST(hasta AS CHAR),
    TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), hasta) DIV 1000, CAST(desde AS CHAR), motivo
  FROM pausas_envio WHERE hasta IS NULL OR hasta > UTC_TIMESTAMP(3))sql";

constexpr std::string_view forget_ended = R"sql(
  DELETE FROM pausas_envio WHERE hasta <= UTC_TIMESTAMP(3))sql";
constexpr std::string_view write_pause = R"sql(
  INSERT INTO pausas_envio (tipo, objeto, hasta, motivo) VALUES (?, ?, UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND, ?)
  ON DUPLICATE KEY UPDATE desde = UTC_TIMESTAMP(3), hasta = VALUES(hasta), motivo = VALUES(motivo))sql";
constexpr std::string_view end_pause = R"sql(
  DELETE FROM pausas_envio WHERE tipo = ? AND objeto = ? AND (hasta IS NULL OR hasta > UTC_TIMESTAMP(3)))sql";

Paused paused_of(std::string_view name_) {
  if (name_ == name(Paused::entity)) return Paused::entity;
  return name_ == name(Paused::webhook) ? Paused::webhook : Paused::host;
}

}  // namespace

std::string_view name(Paused what) {
  switch (what) {
    case Paused::entity:
      return "entidad";
    case Paused::webhook:
      return "webhook";
    case Paused::host:
      return "host";
  }
  return {};
}

bool covers(const Pause& pause, EntityId entity, WebhookId webhook, std::string_view url) {
  switch (pause.what) {
    case Paused::entity:
      return pause.object == to_string(entity);
    case Paused::webhook:
      return pause.object == to_string(webhook);
    case Paused::host:
      return pause.object == webhook::comparable_host(url);
  }
  return false;
}

Pauses read_pauses(Session& session) {
  Pauses pauses{false, {}};
  for (const auto& row : session.query(current_pauses)) {
    if (row.null("tipo")) {
      pauses.everything = row.boolean("pausada");
      continue;
    }
    const auto left = row.optional_integer("falta_ms");
    pauses.parts.push_back({paused_of(row.text("tipo")), row.text("objeto"), row.optional_time("hasta"),
                            left ? std::optional(platform::Milliseconds(*left)) : std::nullopt,
                            row.time("desde"), row.text("motivo")});
  }
  return pauses;
}

void pause_part(Session& session, Paused what, std::string_view object,
                std::optional<platform::Milliseconds> length, std::string_view reason) {
  transaction(session, [&] {
    session.update(forget_ended);
    session.update(write_pause, name(what), object, microseconds(length), reason);
  });
}

bool resume_part(Session& session, Paused what, std::string_view object) {
  return session.update(end_pause, name(what), object) > 0;
}

}  // namespace store
