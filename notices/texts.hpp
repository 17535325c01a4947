// The Spanish sentences of each kind of notice: what happened, since when, and what to do
// (web/docs/alertas-por-correo.md). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/mail/message.hpp"
#include "lib/platform/clock.hpp"
#include "lib/store/notices/notices.hpp"

namespace notices {

struct Text {
  std::string title;  // the subject, if the mail has no other notice
  std::vector<mail::Paragraph> body{};
};

/// `portal`: the portal's address, "https://api.example.org/apientidades/portal/"; empty: no links. The data
/// are those of decide(), or the kind is not in the catalogue and the text says little.
Text text_of(const store::Notice& notice, const std::string& portal);

/// `30 de noviembre de 2026 a las 20:00, hora peninsular (19:00 UTC)`.
std::string spanish_time(platform::UtcTime time);

}  // namespace notices
