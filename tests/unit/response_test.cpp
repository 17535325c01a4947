#include "fcgi-app/http/response.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(response)

BOOST_AUTO_TEST_CASE(is_written_as_cgi_asks) {
  const api::Response response{201, R"({"id":1})", {}};
  BOOST_TEST(api::header_block(response) ==
             "Status: 201 Created\r\nContent-Type: application/json; charset=utf-8\r\n"
             "Content-Length: 8\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(more_headers_follow_the_type) {
  const api::Response response{405, "{}", {{"Allow", "GET, POST"}, {"Retry-After", "5"}}};
  BOOST_TEST(api::header_block(response) ==
             "Status: 405 Method Not Allowed\r\nContent-Type: application/json; charset=utf-8\r\n"
             "Content-Length: 2\r\nAllow: GET, POST\r\nRetry-After: 5\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(every_status_in_use_has_its_phrase) {
  const auto status_line = [](int status) {
    const std::string text = api::header_block({status, "", {}});
    return text.substr(0, text.find('\r'));
  };
  BOOST_TEST(status_line(200) == "Status: 200 OK");
  BOOST_TEST(status_line(400) == "Status: 400 Bad Request");
  BOOST_TEST(status_line(401) == "Status: 401 Unauthorized");
  BOOST_TEST(status_line(404) == "Status: 404 Not Found");
  BOOST_TEST(status_line(413) == "Status: 413 Content Too Large");
  BOOST_TEST(status_line(415) == "Status: 415 Unsupported Media Type");
  BOOST_TEST(status_line(500) == "Status: 500 Internal Server Error");
  BOOST_TEST(status_line(503) == "Status: 503 Service Unavailable");
}

BOOST_AUTO_TEST_CASE(an_error_is_an_object_with_a_message) {
  const api::Response response = api::error_response(api::BadRequest("no es \"válido\""));
  BOOST_TEST(response.status == 400);
  BOOST_TEST(response.body == "{\"message\":\"no es \\\"válido\\\"\"}");
  BOOST_TEST(response.headers.empty());
}

BOOST_AUTO_TEST_CASE(errors_carry_the_headers_of_their_status) {
  const auto only_header = [](const api::HttpError& error) {
    const api::Response response = api::error_response(error);
    return response.headers.size() == 1 ? response.headers[0].name + ": " + response.headers[0].value : "";
  };
  BOOST_TEST(only_header(api::Unauthorized::no_credentials()) == "WWW-Authenticate: Bearer");
  BOOST_TEST(only_header(api::Unauthorized::invalid_token()) ==
             "WWW-Authenticate: Bearer error=\"invalid_token\"");
  BOOST_TEST(only_header(api::MethodNotAllowed("GET")) == "Allow: GET");
  BOOST_TEST(only_header(api::ServiceUnavailable()) == "Retry-After: 5");
}

BOOST_AUTO_TEST_SUITE_END()
