#include "notices/texts.hpp"

#include <array>

#include "lib/contacts/kinds.hpp"
#include "lib/json/json.hpp"

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
      : value_(json::parse(notice.data)), portal_(portal) {}

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
  /// The last failure, as the portal words it.
  mail::Paragraph last_error() const {
    const auto error = text("error");
    return {error.empty() ? "" : "El último intento falló así: «" + error + "»."};
  }

 private:
  json::Value value_;
  string portal_;
};

Text failing(const Data& of) {
  return {
      "El " + of.short_webhook() + " no recibe sus avisos",
      {{of.webhook() + " falla desde el " + of.time("desde") +
        ": desde entonces ningún intento ha terminado bien. Lo pendiente se sigue intentando, cada vez más "
        "espaciado."},
       of.last_error(),
       of.link("Qué hacer: la página del webhook dice qué ha fallado y cómo se corrige, y su diagnóstico "
               "prueba el receptor. El primer intento que salga bien adelanta todo lo pendiente.",
               of.page())}};
}

Text deactivation_near(const Data& of) {
  const bool late = of.text("parte") == "nueve_decimos";
  return {
      string(late ? "Queda poco: el " : "El ") + of.short_webhook() + " se desactivará si sigue fallando",
      {{of.webhook() + " falla desde el " + of.time("desde") +
        ". Si nada cambia, se desactivará a partir del " + of.time("desactivacion") +
        ", y desde entonces no se le enviará nada. Los avisos se guardarán 90 días, si el operador no ha "
        "fijado "
        "otra duración, y se enviarán cuando lo vuelva a activar."},
       of.last_error(),
       of.link(
           "Qué hacer: repare el receptor, o cambie la URL del webhook. Su página dice qué ha fallado y cómo "
           "se corrige; un solo intento que salga bien termina la racha de fallos.",
           of.page())}};
}

string reason_of(const string& motive) {
  if (motive == "http_410") return "porque su receptor respondió 410, que pide no recibir nada más";
  if (motive == "fallos") return "porque todos sus intentos han fallado durante demasiado tiempo";
  if (motive == "operador") return "por decisión del operador del servicio";
  return "por un motivo que muestra el portal";
}

Text deactivated(const Data& of) {
  const bool by_operator = of.text("motivo") == "operador";
  const string what =
      by_operator
          ? "Qué hacer: póngase en contacto con el operador del servicio, que es quien puede "
            "volver a activarlo. Lo pendiente se guarda 90 días, si él no ha fijado otra duración."
          : "Qué hacer: repare el receptor y vuelva a activar el webhook en su página del "
            "portal. Lo que se ha retenido se enviará entonces, salvo aquello cuyo plazo haya vencido; "
            "se guarda 90 días, si el operador no ha fijado otra duración.";
  return {"El " + of.short_webhook() + " está desactivado",
          {{of.webhook() + " se desactivó el " + of.time("cuando") + ", " + reason_of(of.text("motivo")) +
            ". Desde entonces no se le envía nada."},
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
  const auto day = std::chrono::floor<std::chrono::days>(time);
  return spanish_date(day) + ", " + platform::format_iso8601(time).substr(11, 5) + " UTC";
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
