#include "fcgi-app/unsubscribe_page.hpp"

#include <string>

#include "lib/contacts/codes.hpp"

namespace api {
namespace {

/// The form sends to the page's own address. The browser shows neither to other hosts, and no host may frame
/// the page and so have the button clicked.
Response page(int status, std::string_view title, std::string_view text) {
  std::string body = "<!DOCTYPE html>\n<html lang=\"es\">\n<head>\n<meta charset=\"utf-8\">\n<title>";
  body.append(title);
  body +=
      "</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta name=\"robots\" content=\"noindex\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "</head>\n<body>\n<main>\n<h1>";
  body.append(title).append("</h1>\n").append(text).append("\n</main>\n</body>\n</html>\n");
  return {status,
          std::move(body),
          {{"Content-Security-Policy",
            "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
           {"Referrer-Policy", "no-referrer"}},
          html_type};
}

}  // namespace

Response unsubscribe_page(UnsubscribePage which) {
  switch (which) {
    case UnsubscribePage::question:
      return page(200, "Dejar de recibir alertas",
                  "<p>El servicio de avisos de la evaluación escribe a su dirección de correo cuando fallan "
                  "los envíos automáticos a los sistemas de su organización, o cuando algo va a "
                  "caducar.</p>\n<p>Si pulsa el botón, no se le escribirá más. Si no hace nada, seguirá "
                  "recibiendo las alertas. Los envíos a los sistemas y las alertas a otras direcciones no "
                  "cambian.</p>\n<form method=\"post\"><button>No recibir más alertas</button></form>");
    case UnsubscribePage::done:
      return page(200, "Ya no recibirá alertas",
                  "<p>No se escribirá más a su dirección. Si quiere volver a recibirlas, pídaselo a quien "
                  "administra los webhooks de su organización: las elige en el portal, en «Alertas por "
                  "correo».</p>");
    case UnsubscribePage::unavailable: {
      auto response = page(503, "No se ha podido hacer el cambio",
                           "<p>El servicio no está disponible en este momento. Vuelva a intentarlo en unos "
                           "minutos.</p>");
      response.headers.push_back({"Retry-After", "60"});
      return response;
    }
    case UnsubscribePage::invalid:
      break;
  }
  return page(
      404, "El enlace no es válido o ha caducado",
      "<p>No se ha cambiado nada. Use el enlace de una alerta más reciente, o pida a quien administra los "
      "webhooks de su organización que quite la dirección en el portal, en «Alertas por correo».</p>");
}

std::string_view unsubscribe_token_in(std::string_view query) {
  constexpr std::string_view parameter = "codigo=";
  static_assert(contacts::unsubscribe_target.ends_with("?codigo="));
  return query.starts_with(parameter) ? query.substr(parameter.size()) : std::string_view();
}

}  // namespace api
