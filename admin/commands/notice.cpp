// notice list|show|resend|test

#include "admin/commands.hpp"
#include "admin/errors.hpp"
#include "admin/input/filter.hpp"
#include "admin/output/render.hpp"
#include "lib/crypto/crypto.hpp"
#include "lib/mail/message.hpp"
#include "lib/mail/smtp.hpp"
#include "lib/store/notices/notices.hpp"
#include "lib/text/email_address.hpp"

namespace admin {

namespace {

constexpr std::string_view states[] = {"pendiente", "enviando", "enviado", "fallido", "descartado"};

json::Object to_row(const store::ListedNotice& notice) {
  const bool waits = notice.state == "pendiente" || notice.state == "enviando";
  return {{"id", notice.id},
          {"entidad_id", notice.entity},
          {"webhook_id", notice.webhook},
          {"tipo", notice.kind},
          {"correo", notice.address},
          {"estado", notice.state},
          {"intentos", notice.tries},
          {"creado_en", time_value(notice.created)},
          {"proximo_intento", time_value(waits ? std::optional(notice.next) : std::nullopt)},
          {"enviado_en", time_value(notice.sent)},
          {"error", notice.error}};
}

Result list(Context& context, const Arguments& arguments) {
  const auto filter = read_filter(arguments, states, platform::utc_now());
  return list_result(store::list_notices(context.session, one_more(filter)), filter, to_row);
}

store::ListedNotice require_notice(store::Session& session, store::NoticeId id) {
  const auto notice = store::find_notice(session, id);
  if (!notice) throw Failure("there is no notice " + to_string(id) + ": `notice list` shows them");
  return *notice;
}

Result show(Context& context, const Arguments& arguments) {
  const auto notice = require_notice(context.session, arguments.required_id());
  auto row = to_row(notice);
  row.emplace_back("contacto_id", notice.contact);
  row.emplace_back("mensaje", notice.mail);
  row.emplace_back("datos", notice.data);
  return {std::move(row)};
}

Result resend_all_refused(store::Session& session) {
  const auto lifted = store::resend_refused(session);
  return {json::Object{{"direcciones", static_cast<std::int64_t>(lifted.contacts)},
                       {"avisos", static_cast<std::int64_t>(lifted.notices)}},
          std::to_string(lifted.contacts) + " addresses are no longer marked; " +
              std::to_string(lifted.notices) +
              " notices are sent with the next run of apientidades-notices."};
}

Result resend(Context& context, const Arguments& arguments) {
  if (arguments.has("refused") == arguments.has("id"))
    throw UsageError("expected either the ID of a notice or --refused");
  if (arguments.has("refused")) return resend_all_refused(context.session);
  const store::NoticeId id = arguments.required_id();
  require_notice(context.session, id);
  const auto resent = store::resend_notice(context.session, id);
  if (resent == store::Resent::under_way)
    throw Failure("notice " + to_string(id) + " is in a mail that is under way: it is enviando");
  if (resent == store::Resent::unwanted)
    throw Failure("notice " + to_string(id) +
                  " cannot be sent: its contact is gone, is not confirmed or does not want this kind, or its "
                  "code no longer counts");
  return {to_row(require_notice(context.session, id)),
          "Notice " + to_string(id) + " is sent with the next run of apientidades-notices."};
}

mail::Message test_message(const config::Settings& settings, const std::string& to) {
  constexpr std::size_t random_bytes = 12;
  return {.from = settings.mail.from,
          .from_name = settings.contact.name,
          .reply_to = settings.mail.reply_to,
          .to = to,
          .subject = "apientidades: prueba de correo",
          .date = platform::utc_now(),
          .id = crypto::to_hex(crypto::random_bytes(random_bytes)) + ".0",
          .body = {{"Este mensaje prueba que el servicio de webhooks puede enviar correo a esta dirección. "
                    "No hay que hacer nada."}}};
}

/// Sends within the command: it tells the server's answer at once, and a run of apientidades-notices may wait
/// for the database.
Result test(Context& context, const Arguments& arguments) {
  const auto& settings = context.config.settings;
  const auto to = arguments.text("id").value();
  if (!text::is_email_address(to))
    throw UsageError("ADDRESS: '" + to + "' is no address (avisos@example.org)");
  if (settings.mail.server.empty()) throw Failure("mail.server is empty: no mail is sent");
  const auto message = test_message(settings, to);
  const auto sent = mail::SmtpClient(settings.mail).send(to, mail::format(message));
  if (sent.outcome != mail::Sent::accepted) throw Failure(settings.mail.server + ": " + sent.text);
  return {json::Object{{"correo", to}, {"mensaje", message.id}},
          settings.mail.server + " has accepted a mail to " + to + "."};
}

}  // namespace

std::vector<Command> notice_commands() {
  return {
      {.words = "notice list",
       .summary =
           "List what contacts are told by mail: id, entidad_id, webhook_id, tipo, correo, estado, ...",
       .details =
           "pendiente: waits for its mail. enviando: in a mail that is under way, or waits for another "
           "try.\n"
           "fallido: refused, or given up after two days. descartado: it ended, or is no longer wanted.",
       .options = {.options = {entity_filter,
                               webhook_filter,
                               {"state", "STATE",
                                "only these: pendiente, enviando, enviado, fallido, descartado"},
                               since_filter,
                               limit_filter}},
       .example = "apientidades-admin notice list --state fallido",
       .recorded = Recorded::never,
       .run = list},
      {.words = "notice show",
       .summary = "Show one notice, with what its text says and the id of its mail",
       .options = {.id = IdWord::required},
       .example = "apientidades-admin notice show 12",
       .recorded = Recorded::never,
       .run = show},
      {.words = "notice resend",
       .summary = "Send a notice again, also to an address that the mail server has refused",
       .details =
           "With --refused: every address that the mail server has refused is no longer marked, and its "
           "fallido\nnotices of the last seven days are sent again.",
       .options = {.id = IdWord::optional,
                   .options = {{"refused", "", "those of every address that the mail server has refused"}}},
       .example = "apientidades-admin notice resend 12",
       .recorded = Recorded::in_transaction,
       .run = resend},
      {.words = "notice test",
       .summary = "Send a mail to an address now, and tell what the mail server says",
       .details = "Uses the keys mail.* of the configuration; changes nothing in the database.",
       .options = {.id = IdWord::required, .word = "ADDRESS"},
       .example = "apientidades-admin notice test operador@example.org",
       .recorded = Recorded::never,
       .run = test,
       .needs_password = false},
  };
}

}  // namespace admin
