#include "lib/delivery/failure_text.hpp"

namespace delivery {

namespace {

std::string status_text(int status) { return "El receptor respondió " + std::to_string(status); }

std::string answer_text(int status) {
  if (status >= 200 && status < 300) return {};
  const auto text = status_text(status);
  if (status == 301 || status == 302 || status == 303 || status == 307 || status == 308)
    return text + " (redirección): no se siguen redirecciones; registre la URL definitiva";
  if (status == 410) return text + ": el webhook queda desactivado";
  return unexpected_status_text(status);
}

}  // namespace

std::string unexpected_status_text(int status) { return status_text(status) + ": se espera un 2xx"; }

std::string failure_text(TransportResult result, int status, const config::DeliverySettings& settings,
                         std::string_view host) {
  switch (result) {
    case TransportResult::answered:
      return answer_text(status);
    case TransportResult::not_started:
    case TransportResult::local_failure:
    case TransportResult::sandboxed:
      return {};
    // One text, because an entity could otherwise search the private names of the operator's DNS.
    case TransportResult::address_refused:
    case TransportResult::name_unresolved:
      return "No se encontró ninguna dirección pública del receptor: revise la URL y el DNS";
    case TransportResult::port_refused:
      return "La URL del webhook usa un puerto que no se admite, el " +
             std::string(host.substr(host.rfind(':') + 1)) +
             ", por ser de otro protocolo: cámbiela por una en el 443, u otro";
    case TransportResult::connection_failed:
      return "No se pudo conectar con el receptor: compruebe que es accesible desde Internet en el puerto de "
             "la URL";
    case TransportResult::connection_timeout:
      return "No se completó la conexión con el receptor (TCP y TLS) en " +
             platform::format_duration(settings.connect_timeout) +
             ": compruebe que es accesible desde Internet en el puerto de la URL";
    case TransportResult::timeout:
      return "El receptor no terminó de responder en " + platform::format_duration(settings.timeout) +
             ": debe responder en cuanto recibe el aviso, y procesarlo después";
    case TransportResult::tls_expired:
      return "El certificado TLS del receptor ha caducado o aún no es válido";
    case TransportResult::tls_untrusted:
      return "El certificado TLS del receptor no es de confianza: debe emitirlo una autoridad reconocida, "
             "con la cadena completa";
    case TransportResult::tls_wrong_name:
      return "El certificado TLS del receptor no corresponde al nombre de la URL";
    case TransportResult::tls_weak:
      return "El certificado TLS del receptor usa una clave o una firma demasiado débil: "
             "hace falta RSA de 2048 bits o más, o curva elíptica, y SHA-256 o superior, en toda la cadena";
    case TransportResult::tls_wrong_purpose:
      return "El certificado TLS del receptor no está emitido para servidores (uso «serverAuth»): "
             "pida uno de servidor";
    case TransportResult::tls_client_wanted:
      return "El receptor exige un certificado de cliente (TLS mutuo), que el servicio no presenta: "
             "no lo exija en esta URL; verifique la firma de cada aviso";
    case TransportResult::tls_failed:
      return "No se pudo establecer TLS con el receptor: el puerto de la URL debe servir HTTPS con TLS 1.2 o "
             "posterior";
    case TransportResult::closed:
      return "El receptor cerró la conexión sin responder: revise su servidor";
    case TransportResult::headers_too_long:
      return "La respuesta del receptor tiene cabeceras demasiado largas";
    case TransportResult::bad_response:
      return "La respuesta del receptor no es HTTP/1.1 válido";
  }
  return "Error desconocido";
}

std::string outage_text(Silence silence) {
  const std::string cause = silence == Silence::names
                                ? "El servicio no puede resolver nombres en este momento"
                                : "El servicio no tiene conexión a Internet en este momento";
  return cause +
         ": la entrega se retrasa y se enviará en cuanto se restablezca; no hay nada que corregir en el "
         "receptor";
}

}  // namespace delivery
