#include "fcgi-app/http/response.hpp"

namespace api {
namespace {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

Response json_response(int status, const json::Value& body) { return {status, json::dump(body)}; }

Response message_response(int status, std::string_view message) {
  return json_response(status, json::Object{{"message", message}});
}

Response error_response(const HttpError& error) {
  Response response = message_response(error.status(), error.what());
  response.headers = error.headers();
  return response;
}

std::string header_block(const Response& response) {
  std::string text = "Status: " + std::to_string(response.status) + ' ';
  text.reserve(256);
  text += reason_phrase(response.status);
  text.append("\r\nContent-Type: ").append(response.content_type);
  text.append("\r\nContent-Length: ").append(std::to_string(response.body.size())).append("\r\n");
  for (const Header& header : response.headers) text += header.name + ": " + header.value + "\r\n";
  return text += "\r\n";
}

}  // namespace api
