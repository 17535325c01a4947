// Implements take_mail() and what becomes of a mail, of lib/store/notices/notices.hpp.
#include <algorithm>
#include <utility>

#include "lib/store/contacts/confirmation.hpp"
#include "lib/store/notices/notices.hpp"
#include "lib/store/notices/recipient.hpp"
#include "lib/store/session/microseconds.hpp"
#include "lib/store/session/sql_text.hpp"
#include "lib/text/text.hpp"

namespace store {

namespace {

constexpr unsigned contacts_at_once = 64;
constexpr unsigned most_notices = 100;  // of a mail
constexpr platform::Milliseconds between_mails = std::chrono::hours(1);

constexpr std::string_view mail_to_try_again = R"sql(
  SELECT mensaje FROM avisos FORCE INDEX (avisos_por_enviar)
  WHERE estado = 'enviando' AND proximo_intento <= UTC_TIMESTAMP(3) ORDER BY proximo_intento LIMIT 1
  FOR UPDATE SKIP LOCKED)sql";
/// Changes no row if another run has taken the mail since.
constexpr std::string_view lease_again = R"sql(
  UPDATE avisos FORCE INDEX (avisos_de_mensaje)
  SET proximo_intento = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND, intentos = intentos + 1
  WHERE mensaje = ? AND estado = 'enviando' AND proximo_intento <= UTC_TIMESTAMP(3))sql";

constexpr std::string_view notice_columns = R"sql(
  SELECT id, contacto_id, entidad_id, webhook_id, tipo, episodio, datos, intentos, CAST(creado_en AS CHAR) AS creado_en
  FROM avisos)sql";
constexpr std::string_view of_mail = " WHERE mensaje = ? AND estado = 'enviando' ORDER BY id";
constexpr std::string_view notices_of_mail = joined<notice_columns, of_mail>;

/// Not in the order of their time over both kinds: that would sort all that are due, for each mail.
constexpr std::string_view urgent_contacts = R"sql(
  SELECT contacto_id, tipo = 'codigo' AS codigo FROM avisos FORCE INDEX (avisos_por_tipo)
  WHERE estado = 'pendiente' AND tipo IN ('codigo', 'desactivado') AND proximo_intento <= UTC_TIMESTAMP(3) LIMIT ?)sql";
constexpr std::string_view due_contacts = R"sql(
  SELECT contacto_id, tipo = 'codigo' AS codigo FROM avisos FORCE INDEX (avisos_por_enviar)
  WHERE estado = 'pendiente' AND proximo_intento <= UTC_TIMESTAMP(3) ORDER BY proximo_intento, id LIMIT ?)sql";
/// Those that are due come first, so that a contact with more of them than a mail takes is listed no more
/// once all are sent or postponed.
constexpr std::string_view that_wait = R"sql(
  FORCE INDEX (avisos_una_vez) WHERE contacto_id = ? AND estado = 'pendiente' AND (tipo = 'codigo') = ?
  ORDER BY proximo_intento > UTC_TIMESTAMP(3), tipo <> 'desactivado', id LIMIT ? FOR UPDATE SKIP LOCKED)sql";
constexpr std::string_view lock_waiting = joined<notice_columns, that_wait>;

/// A mail in its first try counts as one of now. A mail that the server defers may wait for two days, so it
/// keeps back no other.
constexpr std::string_view earliest_next_mail = R"sql(
  SELECT CAST(CAST(proximo AS DATETIME(3)) AS CHAR) AS proximo FROM (
    SELECT MAX(IF(a.estado = 'enviando', UTC_TIMESTAMP(3), a.enviado_en)) + INTERVAL ? MICROSECOND AS proximo
    FROM contactos c FORCE INDEX (contactos_por_correo)
    STRAIGHT_JOIN avisos a FORCE INDEX (avisos_una_vez) ON a.contacto_id = c.id
    WHERE c.correo = ? AND a.tipo NOT IN ('codigo', 'desactivado')
      AND (a.estado = 'enviado' OR a.estado = 'enviando' AND a.intentos = 1)) ultimo
  WHERE proximo > UTC_TIMESTAMP(3))sql";
/// By a minute at least: the time is that of an earlier look of this run. What has waited for its address for
/// a week is given up: older things are told to nobody.
constexpr std::string_view postpone = R"sql(
  UPDATE avisos SET proximo_intento = GREATEST(?, UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE),
    error = IF(creado_en < UTC_TIMESTAMP(3) - INTERVAL 7 DAY, 'its address got other mails for a week', error),
    estado = IF(creado_en < UTC_TIMESTAMP(3) - INTERVAL 7 DAY, 'fallido', estado)
  WHERE estado = 'pendiente' AND id = ?)sql";
/// What has waited behind its address becomes younger, so it is tried for two days. By 15 minutes, more than
/// a run lasts: what works again in this run, before its mail, is told as recovered.
constexpr std::string_view begin_sending = R"sql(
  UPDATE avisos SET estado = 'enviando', mensaje = ?, intentos = intentos + 1,
    proximo_intento = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND,
    creado_en = GREATEST(creado_en, UTC_TIMESTAMP(3) - INTERVAL 15 MINUTE)
  WHERE estado = 'pendiente' AND id = ?)sql";
constexpr std::string_view discard = R"sql(
  UPDATE avisos SET estado = 'descartado', error = 'the contact does not want it, or is gone'
  WHERE estado IN ('pendiente', 'enviando') AND id = ?)sql";

constexpr std::string_view sent = R"sql(
  UPDATE avisos FORCE INDEX (avisos_de_mensaje) SET estado = 'enviado', enviado_en = UTC_TIMESTAMP(3), error = ''
  WHERE mensaje = ? AND estado = 'enviando')sql";
constexpr std::string_view deferred = R"sql(
  UPDATE avisos FORCE INDEX (avisos_de_mensaje)
  SET proximo_intento = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND, error = ?
  WHERE mensaje = ? AND estado = 'enviando')sql";
constexpr std::string_view refused = R"sql(
  UPDATE avisos FORCE INDEX (avisos_de_mensaje) SET estado = 'fallido', error = ? WHERE mensaje = ? AND estado = 'enviando')sql";

constexpr std::size_t longest_error = 500;

void take_wanted(Session& session, MailRecipient& to, const Rows& rows) {
  for (const auto& row : rows) {
    auto notice = read_notice(row);
    if (is_wanted(to, notice))
      to.mail.notices.push_back(std::move(notice));
    else
      session.update(discard, notice.id);
  }
}

std::optional<Mail> take_again(Session& session) {
  for (auto rows = session.query(mail_to_try_again); !rows.empty(); rows = session.query(mail_to_try_again)) {
    const auto id = rows.front().text("mensaje");
    if (session.update(lease_again, microseconds(mail_lease), id) == 0) continue;
    const auto notices = session.query(notices_of_mail, id);
    if (notices.empty()) continue;
    auto to = find_recipient(session, notices.front().integer("contacto_id"));
    to.mail.id = id;
    to.mail.tries = static_cast<unsigned>(notices.front().integer("intentos"));
    take_wanted(session, to, notices);
    if (!to.mail.notices.empty()) return std::move(to.mail);
  }
  return std::nullopt;
}

/// Nothing, if another session keeps the rows.
std::optional<Mail> try_again(Session& session) {
  try {
    return transaction(session, [&] { return take_again(session); });
  } catch (const Conflict&) {
    return std::nullopt;
  }
}

struct Begun {
  std::optional<Mail> mail;
  bool changed = false;  // something was discarded or postponed
};

/// Returns when the next mail may go to the address, or nullopt if one may go now.
std::optional<UtcTime> find_rest(Session& session, const std::string& address, AddressRests& rests) {
  if (const auto known = rests.find(address); known != rests.end()) return known->second;
  const auto next = session.query(earliest_next_mail, microseconds(between_mails), address);
  if (next.empty()) return std::nullopt;
  return rests.emplace(address, next.front().time("proximo")).first->second;
}

/// Requires a transaction.
Begun begin_mail(Session& session, ContactId contact, bool code, AddressRests& rests) {
  const auto rows = session.query(lock_waiting, contact, code, most_notices);
  if (rows.empty()) return {};
  auto to = find_recipient(session, contact);
  take_wanted(session, to, rows);
  const auto& notices = to.mail.notices;
  if (notices.empty()) return {{}, true};
  const bool urgent =
      code || std::ranges::find(notices, name(contacts::Kind::deactivated), &Notice::kind) != notices.end();
  if (!urgent) {
    if (const auto rest = find_rest(session, to.mail.address, rests)) {
      for (const auto& notice : notices) session.update(postpone, *rest, notice.id);
      return {{}, true};
    }
  }
  to.mail.id = new_mail_id(notices.front().id);
  for (const auto& notice : notices)
    session.update(begin_sending, to.mail.id, microseconds(mail_lease), notice.id);
  return {std::move(to.mail), true};
}

using Due = std::pair<ContactId, bool>;  // and whether it is a code

/// In the order of `contacts`, so that no contact of a shared address is always the first.
std::vector<Due> find_due(Session& session, std::string_view contacts) {
  std::vector<Due> due;
  for (const auto& row : session.query(contacts, contacts_at_once)) {
    const Due one{row.integer("contacto_id"), row.boolean("codigo")};
    if (std::ranges::find(due, one) == due.end()) due.push_back(one);
  }
  return due;
}

/// Nothing, if another session keeps the contact's rows.
Begun try_begin(Session& session, const Due& due, AddressRests& rests) {
  try {
    return transaction(session, [&] { return begin_mail(session, due.first, due.second, rests); });
  } catch (const Conflict&) {
    return {};
  }
}

/// Begins a mail to one of the first contacts that `contacts` lists.
Begun take_new(Session& session, std::string_view contacts, AddressRests& rests) {
  bool changed = false;
  for (const auto& due : find_due(session, contacts)) {
    auto begun = try_begin(session, due, rests);
    if (begun.mail) return begun;
    changed = changed || begun.changed;
  }
  return {{}, changed};
}

}  // namespace

std::optional<Mail> take_mail(Session& session, AddressRests& rests) {
  for (;;) {
    auto urgent = take_new(session, urgent_contacts, rests);
    if (urgent.mail) return std::move(urgent.mail);
    if (auto again = try_again(session)) return again;
    auto due = take_new(session, due_contacts, rests);
    if (due.mail || !(urgent.changed || due.changed)) return std::move(due.mail);
  }
}

void note_sent(Session& session, const Mail& mail) {
  transaction(session, [&] { session.update(sent, mail.id); });
}

void note_deferred(Session& session, const Mail& mail, platform::Milliseconds wait, std::string_view error) {
  session.update(deferred, microseconds(wait), text::cut(error, longest_error), mail.id);
}

void note_refused(Session& session, const Mail& mail, std::string_view error) {
  transaction(session, [&] {
    session.update(refused, text::cut(error, longest_error), mail.id);
    mark_refused(session, mail.contact, error);
  });
}

}  // namespace store
