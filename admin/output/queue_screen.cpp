#include "admin/output/queue_screen.hpp"

#include <array>
#include <cstdio>
#include <vector>

#include "admin/output/display_width.hpp"

namespace admin {

namespace {

enum class Tone { plain, dim, good, warning, bad };

struct Line {
  std::string text;
  Tone tone = Tone::plain;
};

std::string_view colour(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::dim:
      return "\x1b[2m";
    case Tone::good:
      return "\x1b[32m";
    case Tone::warning:
      return "\x1b[33m";
    case Tone::bad:
      return "\x1b[1;31m";
  }
  return "";
}

/// Formats as 1,234,567.
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string rate(std::int64_t now, std::int64_t before, double seconds) {
  const double change = static_cast<double>(now - before) / seconds;
  if (now == before) return "=";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%+.1f/s", change);
  return text.data();
}

std::string row(std::string_view name, std::string_view value, std::string_view change) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "  %-26.*s %14.*s  %12.*s", static_cast<int>(name.size()),
                name.data(), static_cast<int>(value.size()), value.data(), static_cast<int>(change.size()),
                change.data());
  return text.data();
}

Tone tone_of_age(std::int64_t seconds) {
  if (seconds < 60) return Tone::good;
  return seconds < 600 ? Tone::warning : Tone::bad;
}

using Field = std::int64_t store::QueueStatus::*;
struct Number {
  std::string_view name;
  Field field;
  Tone tone;  // used when the number is not zero
};
constexpr std::array<Number, 6> numbers{{
    {"notificaciones_pendientes", &store::QueueStatus::pending_notifications, Tone::plain},
    {"entregas_pendientes", &store::QueueStatus::pending_deliveries, Tone::plain},
    {"en_curso", &store::QueueStatus::in_flight, Tone::plain},
    {"retenidas", &store::QueueStatus::held, Tone::warning},
    {"fallidas", &store::QueueStatus::failed, Tone::warning},
    {"rechazadas", &store::QueueStatus::rejected, Tone::bad},
}};

std::vector<Line> lines_of(const QueueSight& now, const std::optional<QueueSight>& before,
                           std::string_view time) {
  const auto& status = now.status;
  std::vector<Line> lines{{"apientidades queue  " + std::string(time) + "  (Ctrl-C ends)", Tone::dim}};
  if (!status.paused) lines.push_back({"sending", Tone::good});
  for (const auto& [level, text] : alarms_of(now))
    lines.push_back({text, level == Level::critical ? Tone::bad : Tone::warning});
  lines.push_back({});
  const double seconds = before ? std::chrono::duration<double>(now.at - before->at).count() : 0;
  for (const auto& [name, field, tone] : numbers) {
    const auto value = status.*field;
    const auto change = seconds > 0 ? rate(value, before->status.*field, seconds) : std::string();
    lines.push_back({row(name, grouped(value), change), value == 0 ? Tone::dim : tone});
  }
  lines.push_back({row("mas_antigua", describe_age(status.oldest_s), ""), tone_of_age(status.oldest_s)});
  lines.push_back({});
  if (status.held > 0)
    lines.push_back({"retenidas:  webhook list --state inactivo, entity list, secrets status"});
  if (status.failed > 0) lines.push_back({"fallidas:   delivery list --state fallida"});
  if (status.rejected > 0) lines.push_back({"rechazadas: notification list --state rechazada"});
  return lines;
}

}  // namespace

std::string draw_queue(const QueueSight& now, const std::optional<QueueSight>& before, std::string_view time,
                       const Screen& screen) {
  std::string text = "\x1b[H";
  std::size_t drawn = 0;
  for (const auto& line : lines_of(now, before, time)) {
    if (drawn + 1 >= screen.height && drawn > 0)
      break;  // the cursor is on the last line: a line end would scroll
    const auto tone = screen.colours ? colour(line.tone) : "";
    text.append(tone).append(cut_to_width(line.text, screen.width)).append(tone.empty() ? "" : "\x1b[0m");
    text += "\x1b[K\n";
    ++drawn;
  }
  return text + "\x1b[J";
}

}  // namespace admin
