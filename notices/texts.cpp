#include "notices/texts.hpp"

#include <array>

#include "lib/contacts/kinds.hpp"
#include "lib/json/json.hpp"
#include "lib/store/notices/facts.hpp"

namespace notices {

namespace {

using contacts::Kind;
using std::string;

constexpr std::array<std::string_view, 12> months{"enero",      "febrero", "marzo",     "abril",
                                                  "mayo",       "junio",   "julio",     "agosto",
                                                  "septiembre", "octubre", "noviembre", "diciembre"};

string spanish_date(std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  return std::to_string(static_cast<unsigned>(date.day())) + " de " +
         string(months.at(static_cast<unsigned>(date.month()) - 1)) + " de " +
         std::to_string(static_cast<int>(date.year()));
}

/// The peninsula is an hour ahead of UTC, and two from the last Sunday of March to that of October, each at
/// 01:00 UTC (Directive 2000/84/EC). Computed, since GCC 12 has no time zones.
std::chrono::hours peninsular_offset(platform::UtcTime time) {
  using namespace std::chrono;
  const auto year = year_month_day(floor<days>(time)).year();
  const auto change = [&](month when) { return sys_days(year / when / Sunday[last]) + hours(1); };
  return hours(time >= change(March) && time < change(October) ? 2 : 1);
}

/// Numbers as Spanish pages write them: 10.000.
string spanish_number(std::int64_t number) {
  string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0 && text.size() > 4; at -= 3)
    text.insert(static_cast<std::size_t>(at), ".");
  return text;
}

/// What decide() has noted of a notice.
class Data {
 public:
  Data(const store::Notice& notice, const string& portal)
      : value_(json::parse(notice.data)), portal_(portal), waiting_(notice.waiting) {}

  string text(std::string_view name) const {
    const auto* member = value_.find(name);
    const auto* found = member == nullptr ? nullptr : member->string();
    return found == nullptr ? string() : *found;
  }
  std::int64_t number(std::string_view name) const {
    const auto* member = value_.find(name);
    return member == nullptr ? 0 : member->integer().value_or(0);
  }
  string time(std::string_view name) const {
    const auto found = platform::parse_iso8601(text(name));
    return found ? spanish_time(*found) : "un momento que no se conoce";
  }
  /// `El webhook «Producción» (integracion.ejemplo.es)`, without a name `El webhook n.º 12 (…)`. The path of
  /// its URL may hold a secret.
  string webhook(std::string_view article = "El") const {
    return string(article) + ' ' + short_webhook() + " (" + text("host") + ")";
  }
  string short_webhook() const {
    const auto name = text("nombre");
    return "webhook " + (name.empty() ? "n.º " + std::to_string(number("webhook")) : "«" + name + "»");
  }
  mail::Paragraph link(const string& text, const string& page) const {
    if (portal_.empty()) return {text};
    return {text, portal_ + "#" + page};
  }
  string page(const string& rest = {}) const {
    return "/webhooks/" + std::to_string(number("webhook")) + rest;
  }
  /// "Hay 3 avisos en espera. "; empty if none waits.
  string waiting() const {
    if (waiting_ == 0) return {};
    if (waiting_ == 1) return "Hay 1 aviso en espera. ";
    const auto most = store::most_waiting_counted;
    return "Hay " + (waiting_ > most ? "más de " + spanish_number(most) : spanish_number(waiting_)) +
           " avisos en espera. ";
  }
  /// The last failure, as the portal words it.
  mail::Paragraph last_error() const {
    const auto error = text("error");
    return {error.empty() ? "" : "El último intento falló así: «" + error + "»."};
  }

 private:
  json::Value value_;
  string portal_;
  std::int64_t waiting_;
};

constexpr std::string_view kept =
    "se guardan 90 días, si el operador no ha fijado otra duración, y se envían cuando se reactiva el "
    "webhook";

Text failing(const Data& of) {
  const string end = of.text("desactivacion").empty()
                         ? ""
                         : " Si el webhook sigue sin recibir nada, se desactivará a partir del " +
                               of.time("desactivacion") + ".";
  return {"El " + of.short_webhook() + " no recibe sus avisos",
          {{of.webhook() + " no ha recibido nada desde el " + of.time("desde") +
            ": todos los intentos han fallado."},
           of.last_error(),
           {"Qué pasa con los avisos: " + of.waiting() +
            "Cada uno se reintenta, cada vez más espaciado, durante unos tres días, si el operador no ha "
            "fijado otro plazo. El que no llegue en ese plazo quedará como fallido, y solo se enviará si se "
            "pide su reenvío." +
            end},
           of.link("Qué hacer: corrija el receptor. La página del webhook dice qué ha fallado y cómo se "
                   "corrige. En cuanto reciba un aviso, se le envían todos los que esperan.",
                   of.page()),
           of.link("Si la causa no está clara, pida un diagnóstico.", of.page("/diagnostico"))}};
}

Text deactivation_near(const Data& of) {
  const bool late = of.text("parte") == "nueve_decimos";
  return {string(late ? "Queda poco: el " : "El ") + of.short_webhook() + " se desactivará si sigue fallando",
          {{of.webhook() + " no ha recibido nada desde el " + of.time("desde") +
            ". Si sigue así, se desactivará a partir del " + of.time("desactivacion") +
            ", y desde entonces no se le enviará nada."},
           of.last_error(),
           {"Qué pasa con los avisos: " + of.waiting() + "Mientras el webhook está desactivado, " +
            string(kept) + "."},
           of.link("Qué hacer: corrija el receptor, o cambie la dirección del webhook. Su página dice qué ha "
                   "fallado y cómo se corrige. Con un aviso que reciba, ya no se desactivará.",
                   of.page())}};
}

string reason_of(const string& motive) {
  if (motive == "http_410") return "porque su receptor respondió 410, que pide no recibir nada más";
  if (motive == "fallos") return "porque todos sus intentos han fallado durante demasiado tiempo";
  if (motive == "operador") return "por decisión del operador del servicio";
  return "por un motivo que muestra el portal";
}

Text deactivated(const Data& of) {
  const string what = of.text("motivo") == "operador"
                          ? "Qué hacer: póngase en contacto con el operador del servicio, que es quien puede "
                            "reactivarlo."
                          : "Qué hacer: corrija el receptor y reactive el webhook en su página del portal.";
  return {"El " + of.short_webhook() + " está desactivado",
          {{of.webhook() + " se desactivó el " + of.time("cuando") + ", " + reason_of(of.text("motivo")) +
            ". Desde entonces no se le envía nada."},
           {"Qué pasa con los avisos: " + of.waiting() + "Los que esperan y los nuevos " + string(kept) +
            ", salvo aquellos cuyo plazo haya vencido."},
           of.link(what, of.page())}};
}

Text recovered(const Data& of) {
  return {"El " + of.short_webhook() + " vuelve a funcionar",
          {{of.webhook() + " vuelve a recibir sus avisos: el intento del " + of.time("cuando") +
            " terminó bien. Lo que estaba pendiente se envía ahora, sin que haya que hacer nada."},
           of.link("Si alguna entrega quedó fallida, puede pedir que se reenvíe:", of.page("/reenvios"))}};
}

Text certificate(const Data& of) {
  return {"El certificado del receptor del " + of.short_webhook() + " caduca pronto",
          {{"El certificado TLS del receptor " + of.webhook("del") + " caduca el " + of.time("caduca") +
            ". Si no se renueva antes, los envíos fallarán a partir de entonces."},
           of.link("Qué hacer: renueve el certificado en su servidor. Si ya lo ha renovado, compruebe que el "
                   "servidor usa el nuevo: aquí se dice lo que mostró en la última conexión.",
                   of.page())}};
}

Text secret(const Data& of) {
  return {"El secreto anterior del " + of.short_webhook() + " deja de firmar pronto",
          {{of.webhook() + " firma con dos secretos, el nuevo y el anterior, hasta el " + of.time("hasta") +
            ". Desde entonces firmará solo con el nuevo."},
           of.link("Qué hacer: compruebe antes que su receptor acepta la firma del secreto nuevo.",
                   of.page("/secreto"))}};
}

Text token(const Data& of) {
  const auto label = of.text("etiqueta");
  return {
      "Un token de acceso caduca pronto",
      {{"El token de acceso" +
        (label.empty() ? " n.º " + std::to_string(of.number("token")) : " «" + label + "»") + " caduca el " +
        of.time("caduca") +
        ". Desde entonces la API y el portal rechazarán lo que se pida con él; los avisos a sus webhooks se "
        "seguirán enviando."},
       of.link("Qué hacer: pida un token nuevo al operador del servicio, y cámbielo en sus programas.",
               "/")}};
}

Text failed_deliveries(const Data& of) {
  const auto count = of.number("entregas");
  const auto day = platform::parse_date(of.text("dia"));
  return {"Entregas fallidas del " + of.short_webhook(),
          {{of.webhook() + " tiene " +
            (count == 1 ? "una entrega que quedó fallida"
                        : spanish_number(count) + " entregas que quedaron fallidas") +
            " el " + (day ? spanish_date(*day) : of.text("dia")) +
            " (UTC): se agotaron sus reintentos, y ya no se enviarán por sí solas."},
           of.link("Qué hacer: cuando el receptor funcione, pida que se reenvíen. Aquí las tiene:",
                   "/entregas?webhook=" + std::to_string(of.number("webhook")) + "&estado=fallida")}};
}

}  // namespace

string spanish_time(platform::UtcTime time) {
  const auto local = time + peninsular_offset(time);
  const auto utc_day = std::chrono::floor<std::chrono::days>(time);
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const auto hour = platform::format_iso8601(local).substr(11, 5);
  return spanish_date(day) + (hour.starts_with("01:") ? " a la " : " a las ") + hour + ", hora peninsular (" +
         (day == utc_day ? "" : spanish_date(utc_day) + ", ") + platform::format_iso8601(time).substr(11, 5) +
         " UTC)";
}

Text text_of(const store::Notice& notice, const string& portal) {
  const Data of(notice, portal);
  const auto kind = contacts::find_kind(notice.kind);
  Text text{"Alerta sobre sus webhooks",
            {of.link("Hay una alerta que este programa no conoce; el portal la muestra.", "/")}};
  if (!kind) return text;
  switch (*kind) {
    case Kind::failing:
      return failing(of);
    case Kind::deactivation_near:
      return deactivation_near(of);
    case Kind::deactivated:
      return deactivated(of);
    case Kind::recovered:
      return recovered(of);
    case Kind::certificate:
      return certificate(of);
    case Kind::secret:
      return secret(of);
    case Kind::token:
      return token(of);
    case Kind::failed_deliveries:
      return failed_deliveries(of);
  }
  return text;
}

}  // namespace notices
