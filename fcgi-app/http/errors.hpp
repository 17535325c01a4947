// An exception class for each HTTP status of an error; 429 has two. The messages are in Spanish, for the
// entity's programmer, and reveal nothing internal.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fcgi-app/http/http.hpp"

namespace api {

class HttpError : public std::runtime_error {
 public:
  HttpError(int status, const std::string& message, std::vector<Header> headers = {})
      : std::runtime_error(message), status_(status), headers_(std::move(headers)) {}
  int status() const { return status_; }
  const std::vector<Header>& headers() const { return headers_; }

 private:
  int status_;
  std::vector<Header> headers_;
};

struct BadRequest : HttpError {
  explicit BadRequest(const std::string& message) : HttpError(400, message) {}
};

/// A request without credentials gets no error code (RFC 6750 section 3.1).
struct Unauthorized : HttpError {
  static constexpr int code = 401;
  static Unauthorized no_credentials() {
    return {"Falta la cabecera Authorization: Bearer con el token de acceso", "Bearer"};
  }
  static Unauthorized invalid_token() {
    return {"El token de acceso no es válido, ha caducado o ha sido revocado",
            "Bearer error=\"invalid_token\""};
  }

 private:
  Unauthorized(const std::string& message, const std::string& challenge)
      : HttpError(code, message, {{"WWW-Authenticate", challenge}}) {}
};

struct ReadOnlyToken : HttpError {
  ReadOnlyToken() : HttpError(403, "El token de acceso es de solo lectura: no permite cambiar nada") {}
};

struct NotFound : HttpError {
  explicit NotFound(const std::string& message) : HttpError(404, message) {}
};

struct MethodNotAllowed : HttpError {
  explicit MethodNotAllowed(const std::string& allow)
      : HttpError(405, "Método no permitido en este recurso; se admite: " + allow, {{"Allow", allow}}) {}
};

struct Conflict : HttpError {
  explicit Conflict(const std::string& message) : HttpError(409, message) {}
};

struct PreconditionFailed : HttpError {
  static PreconditionFailed another_version() {
    return PreconditionFailed(
        "El webhook ha cambiado desde la versión que indica If-Match: vuelva a consultarlo");
  }
  static PreconditionFailed no_etag() {
    return PreconditionFailed(
        "If-Match no lleva ningún ETag: envíelo entero, con sus comillas y sin W/, como If-Match: \"0f3a…\"");
  }
  static PreconditionFailed excluded_version() {
    return PreconditionFailed("El webhook está en la versión que excluye If-None-Match");
  }
  static PreconditionFailed not_supported(const std::string& header) {
    return PreconditionFailed("Esta petición no admite condiciones en " + header +
                              ": no se ha hecho nada; envíela sin esa cabecera");
  }

 private:
  explicit PreconditionFailed(const std::string& message) : HttpError(412, message) {}
};

/// 422 (RFC 9110 section 15.5.21).
struct UnprocessableContent : HttpError {
  explicit UnprocessableContent(const std::string& message) : HttpError(422, message) {}
};

struct ContentTooLarge : HttpError {
  ContentTooLarge() : HttpError(413, "El cuerpo de la petición supera los 64 KiB") {}
};

/// For PATCH, Accept-Patch lists the accepted types (RFC 5789 section 2.2).
struct UnsupportedMediaType : HttpError {
  UnsupportedMediaType()
      : HttpError(415, "El cuerpo debe enviarse con la cabecera Content-Type: application/json") {}
  static UnsupportedMediaType of_patch() {
    return {
        "El cuerpo debe enviarse con la cabecera Content-Type: application/merge-patch+json o "
        "application/json",
        {{"Accept-Patch", "application/merge-patch+json, application/json"}}};
  }
  /// For content codings, Accept-Encoding lists the accepted ones (RFC 9110 section 15.5.16).
  static UnsupportedMediaType of_coding() {
    return {"El cuerpo debe enviarse sin comprimir: sin Content-Encoding, o con identity",
            {{"Accept-Encoding", "identity"}}};
  }

 private:
  UnsupportedMediaType(const std::string& message, std::vector<Header> headers)
      : HttpError(415, message, std::move(headers)) {}
};

/// The entity has used up a quota (RFC 6585 section 4). over_quota() (fcgi-app/over_quota.hpp) writes the
/// message.
struct TooManyRequests : HttpError {
  TooManyRequests(const std::string& message, unsigned retry_after_s, std::vector<Header> more)
      : HttpError(429, message, with_retry_after(retry_after_s, std::move(more))) {}

 private:
  static std::vector<Header> with_retry_after(unsigned seconds, std::vector<Header> more) {
    more.push_back({"Retry-After", std::to_string(seconds)});
    return more;
  }
};

/// One entity has too many concurrent requests (EntityConcurrency).
struct TooManyInCourse : HttpError {
  static constexpr int code = 429;
  TooManyInCourse()
      : HttpError(code,
                  "La entidad tiene demasiadas peticiones en curso: espere a que terminen y vuelva a "
                  "intentarlo",
                  {{"Retry-After", "5"}}) {}
};

struct InternalError : HttpError {
  InternalError() : HttpError(500, "Error interno del servicio") {}
};

struct ServiceUnavailable : HttpError {
  ServiceUnavailable()
      : HttpError(503, "El servicio no está disponible en este momento; vuelva a intentarlo en unos segundos",
                  {{"Retry-After", "5"}}) {}
};

}  // namespace api
