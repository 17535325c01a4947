#include "fcgi-app/handlers/handlers.hpp"
#include "fcgi-app/handlers/page.hpp"
#include "lib/store/audit/audit.hpp"

namespace api {
namespace {

/// Null for what is no JSON: only a row that was written by hand has it.
json::Value parsed(const std::string& detail) try {
  return json::parse(detail);
} catch (const json::ParseError&) {
  return {};
}

void write_entry(json::Writer& writer, const store::OwnAuditEntry& entry) {
  writer.begin_object();
  writer.member("id", entry.id);
  writer.member("cuando", entry.at);
  writer.member("accion", entry.action);
  writer.member("webhook", entry.webhook);
  writer.member("token", entry.token);
  writer.member("detalle", parsed(entry.detail));
  writer.member("veces", entry.times);
  writer.member("ultima", entry.last);
  writer.end_object();
}

}  // namespace

Response list_activity(const Call& call) {
  const Query query(call.query, {"token", "limite", "cursor"});
  const auto token = query.text("token");
  const auto request = read_page_request(
      call, query, "actividad " + to_string(call.caller.id) + (token ? " de " + *token : ""));
  const auto before = request.before ? std::optional<store::AuditId>(*request.before) : std::nullopt;
  const auto page = store::read_audit_page(call.session, call.caller.id, request.limit, before, token);
  json::Writer writer;
  writer.begin_object();
  writer.name("actividad");
  writer.begin_array();
  for (const auto& entry : page.entries) write_entry(writer, entry);
  writer.end_array();
  return page_response(writer, call, query, request,
                       page.next ? std::optional(page.next->number()) : std::nullopt);
}

}  // namespace api
