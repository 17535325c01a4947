// The result and the texts of each check of a diagnosis.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "lib/delivery/diagnosis.hpp"
#include "lib/webhook/address_policy.hpp"
#include "lib/webhook/signature.hpp"

namespace delivery {

namespace {

using enum TransportResult;

constexpr std::chrono::days soon{14};  // a certificate that expires within this time gets a warning

CheckedItem good(Check check, std::string detail) {
  return {check, CheckResult::good, std::move(detail), {}};
}
CheckedItem bad(Check check, std::string detail, std::string remedy) {
  return {check, CheckResult::bad, std::move(detail), std::move(remedy)};
}
CheckedItem warning(Check check, std::string detail, std::string remedy) {
  return {check, CheckResult::warning, std::move(detail), std::move(remedy)};
}
CheckedItem not_done(Check check, std::string detail) {
  return {check, CheckResult::not_done, std::move(detail), {}};
}

CheckedItem not_reached(Check check) {
  return not_done(check, "No se hizo: antes hay que corregir la conexión con el receptor");
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

std::string unanswered_text(TransportResult result, const config::DeliverySettings& settings) {
  switch (result) {
    case timeout:
      return "el receptor no terminó de responder en " + platform::format_duration(settings.timeout);
    case connection_timeout:
      return "no se completó la conexión en " + platform::format_duration(settings.connect_timeout);
    case closed:
      return "el receptor cerró la conexión sin responder";
    case headers_too_long:
      return "la respuesta tiene cabeceras demasiado largas";
    case bad_response:
      return "la respuesta no es HTTP/1.1 válido";
    case tls_client_wanted:
      return "el receptor exige un certificado de cliente";
    default:
      return "no se pudo conectar con el receptor";
  }
}

std::string unanswered_remedy(TransportResult result) {
  if (result == timeout) return "Responda en cuanto recibe la notificación, y procésela después";
  if (result == tls_client_wanted)
    return "No exija un certificado de cliente en esta URL: verifique la firma de cada notificación";
  return "Revise los registros de su servidor a la hora del diagnóstico";
}

std::string good_secret_remedy() {
  return "Cambie el secreto por uno largo y al azar: " + std::string(webhook::good_secret_command);
}

constexpr std::string_view raw_body_remedy =
    "La firma se comprueba sobre los bytes recibidos, antes de interpretar el JSON: "
    "/apientidades/docs/verificar-la-firma.html#en-su-framework dice cómo en cada framework";

std::string remedy_of_status(int status, bool has_secret) {
  if (status >= 300 && status < 400) return "No se siguen redirecciones: registre la URL definitiva";
  if (is_refusal_of_signature(status) && has_secret)
    return "Compruebe que el receptor tiene el secreto de este webhook. " + std::string(raw_body_remedy);
  if (status == 401 || status == 403)
    return "El webhook no tiene secreto y sus notificaciones no llevan firma: "
           "no la exija, o ponga un secreto con PUT /apientidades/v1/webhooks/{id}/secreto";
  if (status == 404 || status == 405)
    return "Compruebe la ruta de la URL y que el servidor admite POST en ella";
  if (status == 410)
    return "Un 410 a una notificación que no es de diagnóstico desactiva el webhook: responda 2xx";
  if (asks_to_wait(answered, status))
    return "El receptor pide esperar: admita más peticiones, o pida el diagnóstico más tarde";
  if (status == 500 && has_secret)
    return "Revise los registros de su servidor a la hora del diagnóstico. " + std::string(raw_body_remedy);
  if (status >= 500) return "Revise los registros de su servidor a la hora del diagnóstico";
  return "Responda con un 2xx a cada notificación auténtica";
}

std::string failed_certificate(TransportResult result) {
  switch (result) {
    case tls_expired:
      return "El certificado ha caducado o aún no es válido";
    case tls_weak:
      return "El certificado usa una clave o una firma demasiado débil";
    case tls_wrong_purpose:
      return "El certificado no está emitido para servidores";
    default:
      return "El certificado no es de confianza";
  }
}

std::string certificate_remedy(TransportResult result) {
  switch (result) {
    case tls_expired:
      return "Renueve el certificado y automatice la renovación";
    case tls_weak:
      return "Hace falta RSA de 2048 bits o más, o curva elíptica, y SHA-256 o superior, en toda la cadena";
    case tls_wrong_purpose:
      return "Pida un certificado de servidor (uso «serverAuth»)";
    default:
      return "Debe emitirlo una autoridad reconocida, y el servidor debe enviar la cadena completa, "
             "con los certificados intermedios";
  }
}

constexpr std::string_view unsigned_text =
    "No se hizo: el webhook no tiene secreto, y sus notificaciones no llevan firma";

/// A genuine notification of a form that a receiver meets late, and what to do if it is refused.
struct RareForm {
  std::string_view what;
  std::string_view remedy;
};

RareForm rare_form(Check check) {
  switch (check) {
    case Check::large_body:
      return {"una notificación auténtica de 60 KB",
              "Admita cuerpos de 100 KB o más: en el framework, y en el proxy si lo hay"};
    case Check::charset:
      return {"una notificación auténtica con Content-Type: application/json; charset=utf-8",
              "No compare Content-Type con un texto fijo: el tipo acaba en el punto y coma, y un proxy puede "
              "añadir lo demás"};
    case Check::header_case:
      return {
          "una notificación auténtica con los nombres de las cabeceras en mayúsculas",
          "Busque las cabeceras sin distinguir mayúsculas de minúsculas: en HTTP son lo mismo, y los proxies "
          "las cambian"};
    case Check::second_signature:
      return {"una notificación auténtica con dos firmas v1, de las que coincide la segunda",
              "Acepte la notificación si coincide alguna de las firmas de webhook-signature, separadas por "
              "espacios: durante un cambio de secreto llegan dos"};
    default:
      return {
          "una notificación auténtica de un evento que no conoce",
          "Responda 2xx también a los eventos que no conoce, y no los procese: lo que no recibe un 2xx se "
          "vuelve a enviar, y al cabo el webhook se desactiva"};
  }
}

bool reaches(TransportResult result) {
  return result != connection_failed && result != connection_timeout && result != timeout &&
         result != address_refused && result != port_refused;
}

bool is_certificate(TransportResult result) {
  return result == tls_expired || result == tls_untrusted || result == tls_weak ||
         result == tls_wrong_purpose;
}

}  // namespace

const Diagnosis::Answer* Diagnosis::handshake_with(std::initializer_list<TransportResult> results) const {
  const auto found = std::ranges::find_if(handshakes_, [&](const Answer& one) {
    return !one.seen.connected && std::ranges::find(results, one.transport) != results.end();
  });
  return found == handshakes_.end() ? nullptr : &*found;
}

/// Returns `: 203.0.113.20, 203.0.113.21`; empty when no address may be shown.
std::string Diagnosis::shown(const std::vector<platform::IpAddress>& addresses) const {
  std::string text;
  for (const auto& one : addresses)
    if (webhook::may_be_shown(one, subject_.hidden)) text += (text.empty() ? ": " : ", ") + one.to_string();
  return text;
}

CheckedItem Diagnosis::check_name() const {
  const auto& looked_up = answer(TestRequestKind::lookup);
  if (!looked_up) return not_done(Check::name, "No se hizo");
  if (looked_up->seen.literal)
    return not_done(Check::name, "No hace falta: no hay nombre que buscar en el DNS");
  if (std::ranges::any_of(looked_up->seen.addresses, [this](const auto& one) { return is_allowed(one); }))
    return good(Check::name, "El DNS tiene el nombre " + host_);
  // One text, because an entity could otherwise search the private names of the operator's DNS.
  return bad(Check::name, "No se encontró ninguna dirección pública de " + host_,
             "Revise que la URL esté bien escrita y que el DNS público dé del nombre una dirección accesible "
             "desde Internet, con servidores que respondan");
}

CheckedItem Diagnosis::check_addresses() const {
  constexpr auto check = Check::addresses;
  if (handshakes_.empty()) return not_reached(check);
  const auto& looked_up = answer(TestRequestKind::lookup)->seen;
  const auto& all = looked_up.addresses;
  std::vector<platform::IpAddress> allowed;
  std::ranges::copy_if(all, std::back_inserter(allowed), [this](const auto& one) { return is_allowed(one); });
  if (allowed.empty() && !looked_up.literal) return not_reached(check);
  if (allowed.empty())
    return bad(check, "La dirección no es pública", "El receptor debe ser accesible desde Internet");
  if (allowed.size() < all.size())
    return warning(check, "Alguna de las direcciones no es pública, y no se usa",
                   "Deje en el DNS público solo direcciones públicas");
  return good(check, "Las direcciones se admiten" + shown(allowed));
}

CheckedItem Diagnosis::check_connection() const {
  constexpr auto check = Check::connection;
  std::vector<platform::IpAddress> reached;
  std::vector<platform::IpAddress> silent;
  for (const auto& one : handshakes_) {
    if (one.transport == address_refused) continue;
    (one.seen.connected || reaches(one.transport) ? reached : silent).push_back(*one.test_request.address);
  }
  if (handshake_with({port_refused}))
    return bad(check, "El puerto de la URL es de otro protocolo, y no se admite",
               "Cambie la URL por una con el puerto 443, u otro que se admita");
  if (reached.empty() && silent.empty()) return not_reached(check);
  const auto open_it =
      "Abra el puerto de la URL a Internet: cortafuegos, servidor en marcha y dirección correcta";
  if (reached.empty())
    return bad(check,
               std::string(handshake_with({connection_failed})
                               ? "No se pudo conectar"
                               : "No se completó la conexión (TCP y TLS) en " +
                                     platform::format_duration(settings_.connect_timeout)) +
                   shown(silent),
               open_it);
  if (!silent.empty())
    return warning(check, "Alguna dirección no responde" + shown(silent),
                   "Quite del DNS las direcciones que no responden, o póngalas en marcha: "
                   "las conexiones pierden tiempo con ellas");
  return good(check, "Se conectó" + shown(reached));
}

CheckedItem Diagnosis::check_tls() const {
  constexpr auto check = Check::tls;
  const auto& genuine = answer(TestRequestKind::genuine);
  if (handshake_with({tls_client_wanted}) || (genuine && genuine->transport == tls_client_wanted))
    return bad(check, "El receptor exige un certificado de cliente (TLS mutuo), que el servicio no presenta",
               unanswered_remedy(tls_client_wanted));
  if (handshake_with({tls_failed, closed, bad_response}))
    return bad(check, "No se pudo establecer TLS",
               "El puerto de la URL debe servir HTTPS con TLS 1.2 o posterior");
  for (const auto& one : handshakes_)
    if (one.seen.tls) return good(check, one.seen.tls->version + ", sin certificado de cliente");
  if (handshake_with({tls_expired, tls_untrusted, tls_wrong_name, tls_weak, tls_wrong_purpose}))
    return good(check, "El servidor habla TLS");
  return not_reached(check);
}

CheckedItem Diagnosis::check_certificate() const {
  constexpr auto check = Check::certificate;
  if (const auto* failed = handshake_with({tls_expired, tls_untrusted, tls_weak, tls_wrong_purpose})) {
    const auto where = handshakes_.size() > 1 ? shown({*failed->test_request.address}) : std::string();
    return bad(check, failed_certificate(failed->transport) + where, certificate_remedy(failed->transport));
  }
  const Answer* first = nullptr;  // with the certificate that expires first
  for (const auto& one : handshakes_)
    if (one.seen.tls && (first == nullptr || one.seen.tls->until < first->seen.tls->until)) first = &one;
  if (first == nullptr)
    return handshake_with({tls_wrong_name}) ? good(check, "Es de confianza") : not_reached(check);
  const auto left = std::chrono::floor<std::chrono::days>(first->seen.tls->until - now_);
  const auto text = "Es de confianza; el servidor envía " +
                    counted(first->seen.tls->chain, "certificado", "certificados") +
                    (left.count() == 1 ? "; le queda " : "; le quedan ") +
                    counted(static_cast<std::size_t>(std::max<std::int64_t>(left.count(), 0)), "día", "días");
  if (left < soon) return warning(check, text, "Renuévelo antes de que caduque, y automatice la renovación");
  return good(check, text);
}

CheckedItem Diagnosis::check_certificate_name() const {
  constexpr auto check = Check::certificate_name;
  if (const auto* failed = handshake_with({tls_wrong_name}))
    return bad(check,
               "El servidor presenta el certificado de otro nombre, aunque se le indica el de la URL (SNI)" +
                   (handshakes_.size() > 1 ? shown({*failed->test_request.address}) : std::string()),
               "Configure en el servidor el nombre de la URL con un certificado que lo incluya");
  if (connected() && platform::IpAddress::parse(host_)) return good(check, "Es de la dirección de la URL");
  if (connected()) return good(check, "Es del nombre de la URL, que el servicio indica al conectar (SNI)");
  if (std::ranges::any_of(handshakes_, [](const Answer& one) { return is_certificate(one.transport); }))
    return not_done(check, "No se hizo: antes hay que corregir el certificado");
  return not_reached(check);
}

CheckedItem Diagnosis::check_genuine() const {
  constexpr auto check = Check::genuine;
  const auto& genuine = answer(TestRequestKind::genuine);
  if (!genuine) return not_reached(check);
  const auto status = std::to_string(genuine->status);
  if (genuine->accepted()) return good(check, "La notificación auténtica se aceptó con " + status);
  if (genuine->transport != answered)
    return bad(check, "La notificación auténtica no llegó: " + unanswered_text(genuine->transport, settings_),
               unanswered_remedy(genuine->transport));
  const auto refused = "La notificación auténtica se rechazó con " + status;
  const auto& rewritten = answer(TestRequestKind::rewritten);
  const auto& again = answer(TestRequestKind::repeated);
  if (again && again->accepted())
    return bad(check, refused + ", y una vez repetida se aceptó con " + std::to_string(again->status),
               "Revise si responden varios servidores, y si todos tienen el secreto de este webhook");
  if (again && rewritten && rewritten->accepted())
    return bad(check,
               refused + "; la misma, como la escribe una biblioteca de JSON, se aceptó con " +
                   std::to_string(rewritten->status),
               std::string(raw_body_remedy));
  if (subject_.unverifiable_secret && may_verify_rewritten())
    return bad(check, refused + "; " + std::string(webhook::unverifiable_secret), good_secret_remedy());
  return bad(check, refused, remedy_of_status(genuine->status, subject_.has_secret));
}

CheckedItem Diagnosis::check_time() const {
  constexpr auto check = Check::time;
  const auto& genuine = answer(TestRequestKind::genuine);
  if (!genuine) return not_reached(check);
  const auto remedy = "Responda en cuanto recibe la notificación, y procésela después";
  const auto limit = platform::format_duration(settings_.timeout);
  if (genuine->transport == timeout) return bad(check, "No respondió en " + limit, remedy);
  if (genuine->transport != answered) return not_done(check, "No se hizo: no hubo respuesta");
  const auto text = "Respondió en " + std::to_string(genuine->took.count()) + " ms; el plazo es de " + limit;
  return genuine->took * 3 > settings_.timeout ? warning(check, text, remedy) : good(check, text);
}

CheckedItem Diagnosis::check_kept_connection() const {
  constexpr auto check = Check::kept_connection;
  // The genuine request does not count: it always makes a new connection.
  const auto seen = [&](Observation::Kept kept) {
    return std::ranges::any_of(answers_, [&](const auto& answer) {
      return answer && answer->test_request.kind != TestRequestKind::genuine && answer->seen.kept == kept;
    });
  };
  if (seen(Observation::Kept::answered_twice))
    return warning(check, "Tras la respuesta llegaron más datos, que nadie había pedido",
                   "Responda una sola vez a cada petición, con la longitud que anuncia Content-Length");
  if (seen(Observation::Kept::closed))
    return warning(check, "El servidor cierra la conexión tras responder, sin avisar",
                   "Anúncielo con la cabecera Connection: close, o mantenga abierta la conexión");
  if (seen(Observation::Kept::used)) return good(check, "La conexión sirve para una notificación tras otra");
  const auto& genuine = answer(TestRequestKind::genuine);
  if (genuine && genuine->seen.says_closed)
    return good(check, "El servidor cierra la conexión tras cada respuesta, y lo anuncia");
  return not_done(check, "No se hizo: no hubo otra petición por la misma conexión");
}

CheckedItem Diagnosis::check_refusal(Check check, TestRequestKind kind) const {
  const auto& genuine = answer(TestRequestKind::genuine);
  if (!subject_.has_secret) return not_done(check, std::string(unsigned_text));
  const auto& refused = answer(kind);
  if (!refused) {
    if (!genuine || !genuine->accepted())
      return not_done(check, "No se hizo: la notificación auténtica no se aceptó");
    return not_done(check, "No se hizo: el receptor pidió esperar");
  }
  const std::string what = kind == TestRequestKind::wrong_signature
                               ? "una notificación con la firma incorrecta"
                           : kind == TestRequestKind::no_signature ? "una notificación sin firma"
                                                                   : "una notificación firmada hace una hora";
  const auto status = std::to_string(refused->status);
  if (refused->accepted()) {
    const auto text = "Se aceptó con " + status + " " + what;
    if (kind == TestRequestKind::old_timestamp)
      return warning(check, text,
                     "Rechace las que en webhook-timestamp se aparten más de cinco minutos de su reloj: "
                     "así nadie puede repetir las que haya copiado");
    return bad(check, text,
               "Verifique la firma de cada notificación antes de procesarla, y responda 401 si no coincide");
  }
  if (refused->transport != answered)
    return warning(check,
                   "No se sabe si rechaza " + what + ": " + unanswered_text(refused->transport, settings_),
                   "Responda 401 a lo que no se acepta");
  const bool decided = refused->status >= 400 && refused->status < 500 && refused->status != 429;
  if (decided && subject_.weak_secret && kind == TestRequestKind::wrong_signature)
    return warning(check,
                   "Se rechazó con " + status + " " + what +
                       ", pero el secreto tiene menos de 16 bytes, y se podría adivinar",
                   good_secret_remedy());
  if (decided && subject_.unverifiable_secret && kind == TestRequestKind::wrong_signature)
    return warning(
        check,
        "Se rechazó con " + status + " " + what + ", pero " + std::string(webhook::unverifiable_secret),
        good_secret_remedy());
  if (decided) return good(check, "Se rechazó con " + status + " " + what);
  return warning(check, "No se aceptó " + what + ", pero se respondió " + status,
                 "Responda 401 a lo que no se acepta: otra respuesta parece una avería");
}

CheckedItem Diagnosis::check_repeated() const {
  constexpr auto check = Check::repeated;
  const auto& genuine = answer(TestRequestKind::genuine);
  const auto& repeated = answer(TestRequestKind::repeated);
  if (!genuine || !genuine->accepted())
    return not_done(check, "No se hizo: la notificación auténtica no se aceptó");
  if (!repeated) return not_done(check, "No se hizo: el receptor pidió esperar");
  if (repeated->accepted())
    return good(check, "La repetición se aceptó con " + std::to_string(repeated->status) +
                           ": compruebe en sus registros que solo la procesó una vez");
  const auto how = repeated->transport == answered
                       ? "se rechazó con " + std::to_string(repeated->status)
                       : "no llegó: " + unanswered_text(repeated->transport, settings_);
  return warning(check, "La repetición de la auténtica, con el mismo webhook-id, " + how,
                 "Responda 2xx también a lo que ya tiene, sin procesarlo otra vez: "
                 "lo que no recibe un 2xx se vuelve a enviar");
}

CheckedItem Diagnosis::check_rare_form(TestRequestKind kind) const {
  const auto check = check_of(kind);
  const auto& genuine = answer(TestRequestKind::genuine);
  const auto& given = answer(kind);
  if (check == Check::second_signature && !subject_.has_secret)
    return not_done(check, std::string(unsigned_text));
  if (!given) {
    if (!genuine || !genuine->accepted())
      return not_done(check, "No se hizo: la notificación auténtica no se aceptó");
    return not_done(check, asked_to_wait()
                               ? "No se hizo: el receptor pidió esperar"
                               : "No se hizo: el receptor tardó demasiado en responder a las demás");
  }
  const auto form = rare_form(check);
  const auto status = std::to_string(given->status);
  if (given->accepted()) return good(check, "Se aceptó con " + status + " " + std::string(form.what));
  const auto refused = "No se aceptó " + std::string(form.what) + ": ";
  if (given->transport != answered)
    return warning(check, refused + unanswered_text(given->transport, settings_),
                   unanswered_remedy(given->transport));
  if (given->asks_to_wait()) return not_done(check, "No se hizo: el receptor pidió esperar");
  return warning(check, refused + "se respondió " + status, std::string(form.remedy));
}

}  // namespace delivery
