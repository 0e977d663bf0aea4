#include "bench/html_page.hpp"

#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "bench/html_parts.hpp"
#include "bench/report_tables.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

// As a Content-Security-Policy names what may run although it stands in the page. With no 'unsafe-inline' a name that
// got past every escape would still not run.
std::string source_hash(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  std::array<unsigned char, 45> base64{};  // 4 characters for 3 bytes, and a NUL
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  EVP_EncodeBlock(base64.data(), digest.data(), digest.size());
  return fmt::format("'sha256-{}'", reinterpret_cast<const char*>(base64.data()));
}

// JSON within <script>: nothing in it may end the element, begin a comment, or (U+2028, U+2029) end a line of
// JavaScript. All of these stand inside of JSON's strings only, where an escape means the same.
std::string script_json(const Json& json) {
  const std::string plain = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::string_view rest = std::string_view(plain).substr(i);
    if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      safe += rest.starts_with("\xE2\x80\xA8") ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (plain[i] == '<' || plain[i] == '>' || plain[i] == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(plain[i]));
    } else {
      safe += plain[i];
    }
  }
  return safe;
}

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char character : util::escape_to_line(text)) {
    switch (character) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      default:
        safe += character;
    }
  }
  return safe;
}

std::string title_of(const Json& report) {
  const Json model = at_path(report, "benchmark_info.model_id");
  return model.is_string() ? model.get<std::string>() + " - precast perf" : "precast perf";
}

Json headlines_of(const std::vector<Field>& fields, const Json& report) {
  Json all = Json::array();
  for (const Field& field : fields) {
    if (field.shown != Shown::headline || is_list(field)) continue;
    const std::string value = shown_value(field, at_path(report, field.path));
    if (value.empty()) continue;
    all.push_back({{"label", field.column.empty() ? field.label : field.label + " " + field.column},
                   {"value", value},
                   {"unit", field.unit},
                   {"words", is_words(field)}});
  }
  return all;
}

Json sections_json(const std::vector<Field>& fields, const Json& report) {
  Json all = Json::array();
  for (const ReportSection& section : sections_of(fields, report)) {
    Json lists = Json::array();
    for (const auto& [caption, rows] : section.lists) lists.push_back({{"caption", caption}, {"rows", rows}});
    all.push_back({{"heading", section.heading},
                   {"lines", section.lines},
                   {"columns", section.columns},
                   {"lists", std::move(lists)}});
  }
  return all;
}

// Everything that comes from the table of fields, so that the page's script repeats none of it.
Json shown_json(const std::vector<Field>& fields, const Json& report) {
  Json labels = Json::object();
  for (const Field& field : fields) labels[field.path] = field.label;
  return {{"headlines", headlines_of(fields, report)},
          {"sections", sections_json(fields, report)},
          {"labels", std::move(labels)}};
}

// In one pass: what a value contains is not looked at again.
template <std::size_t Count>
std::string filled(std::string_view page, const std::array<std::pair<std::string_view, std::string>, Count>& values) {
  std::string text;
  while (true) {
    const std::size_t begin = page.find("{{");
    text += page.substr(0, begin);
    if (begin == std::string_view::npos) return text;
    const std::size_t end = page.find("}}", begin);
    const std::string_view name = page.substr(begin + 2, end - begin - 2);
    for (const auto& [key, value] : values) {
      if (key == name) text += value;
    }
    page.remove_prefix(end + 2);
  }
}

}  // namespace

bool has_html() {
  return !html_parts().page.empty();
}

Result<void> check_html() {
  if (has_html()) return {};
  return fail(ErrorCode::unsupported, "this precast was built without the page of reports (PRECAST_HTML=OFF)", {},
              "run tools/setup test, which fetches uPlot with npm, and build again; or take --format json, md or csv");
}

Result<std::string> print_html(const std::vector<Field>& fields, const Json& report) {
  PRECAST_TRY(check_html());
  const HtmlParts& parts = html_parts();
  std::string library = fmt::format("/*\n{}*/\n{}", parts.library_licence, parts.library);
  std::string script(parts.script);
  std::string style = fmt::format("{}\n{}", parts.library_style, parts.style);
  std::string may_run = source_hash(library) + " " + source_hash(script);
  std::string may_style = source_hash(style);
  return filled<8>(parts.page, {{{"title", html_text(title_of(report))},
                                 {"may-run", std::move(may_run)},
                                 {"may-style", std::move(may_style)},
                                 {"style", std::move(style)},
                                 {"library", std::move(library)},
                                 {"script", std::move(script)},
                                 {"shown", script_json(shown_json(fields, report))},
                                 {"report", script_json(report)}}});
}

}  // namespace precast::bench
