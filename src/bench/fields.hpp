// One table of fields feeds every printer of a report: a field that is added to a table is in the JSON and, as far as
// its `Shown` says, in the text, the CSV and the Markdown row.
//
//   Fields<Load> load_fields() {
//     return {{duration("model_create_duration_ms", "create model", Shown::people),
//              [](const Load& load) { return to_value(load.model_create_ms); }}};
//   }
//   Fields<Report> all;
//   embed(all, "load", "Load", load_fields(), &Report::load);
//   const Json document = to_json(all, report);
//
// Tables are made once per program; using them is free-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace precast::bench {

using Json = nlohmann::ordered_json;

// How a value is rounded and shown. Numbers keep as many decimals in JSON as for people.
enum class FieldKind : std::uint8_t {
  duration,   // milliseconds, unless `unit` says otherwise: 3 decimals
  rate,       // per second: 2 decimals
  megabytes,  // of 2^20 bytes: 2 decimals
  percent,    // 0 to 100: 2 decimals
  ratio,      // 4 decimals
  number,     // as it is; for people 4 digits
  count,
  flag,
  text,
  values,     // a list of names or of numbers, or of such lists; for people "a, [1, 3]"
  pairs,      // an object of values whose names are anybody's; for people "a=1, b=2"
  durations,  // a list of them
  rows        // a list of objects, whose fields are `elements`
};

// Each holds what the one before it holds.
enum class Shown : std::uint8_t {
  data,     // JSON; and CSV, but for lists
  people,   // text as well
  headline  // Markdown's row as well
};

struct Field {
  std::string path;  // "memory.rss_baseline_mb"; of an element: inside that element
  std::string label;
  FieldKind kind = FieldKind::text;
  Shown shown = Shown::data;
  std::string unit = {};     // "ms", "tok/s"; empty: none
  std::string section = {};  // heading in the text; fields of one stand together
  std::string column = {};   // text has fields of one label as a row with these columns; empty: a line of its own
  std::vector<Field> elements = {};  // of rows
  std::string caption = {};          // of rows: stands above the table
};

[[nodiscard]] Field duration(std::string path, std::string label, Shown shown = Shown::data);
[[nodiscard]] Field megabytes(std::string path, std::string label, Shown shown = Shown::data);
[[nodiscard]] Field percent(std::string path, std::string label, Shown shown = Shown::data);
[[nodiscard]] Field count(std::string path, std::string label, Shown shown = Shown::data);
[[nodiscard]] Field flag(std::string path, std::string label, Shown shown = Shown::data);
[[nodiscard]] Field text(std::string path, std::string label, Shown shown = Shown::data);
[[nodiscard]] Field ratio(std::string path, std::string label, Shown shown = Shown::data);
[[nodiscard]] Field number(std::string path, std::string label, Shown shown = Shown::data);
[[nodiscard]] Field values(std::string path, std::string label, Shown shown = Shown::data);
[[nodiscard]] Field pairs(std::string path, std::string label, Shown shown = Shown::data);
[[nodiscard]] Field rate(std::string path, std::string label, std::string unit, Shown shown = Shown::data);

template <typename T>
struct FieldOf {
  Field field;
  std::function<Json(const T&)> get;  // null where the value does not exist, absent() where its object does not
};
template <typename T>
using Fields = std::vector<FieldOf<T>>;

// The object around the field is null.
[[nodiscard]] inline Json absent() {
  return Json(Json::value_t::discarded);
}

template <typename T>
[[nodiscard]] Json to_value(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// Rounds as `kind` says; a number that is not finite becomes null.
[[nodiscard]] Json rounded(Json value, FieldKind kind);
// Puts `value` where `path` says, making the objects on the way; absent() makes the object around it null.
void put(Json& document, std::string_view path, Json value);
// What `path` names in `document`; null where nothing is.
[[nodiscard]] Json at_path(const Json& document, std::string_view path);

template <typename T>
[[nodiscard]] Json to_json(const Fields<T>& fields, const T& from) {
  Json document = Json::object();
  for (const FieldOf<T>& one : fields) put(document, one.field.path, rounded(one.get(from), one.field.kind));
  return document;
}

template <typename T>
[[nodiscard]] std::vector<Field> descriptions(const Fields<T>& fields) {
  std::vector<Field> all;
  for (const FieldOf<T>& one : fields) all.push_back(one.field);
  return all;
}

// The fields of a part as fields of the whole, below `prefix` and under the heading `section`. `part` is a member, or
// anything else that gives a Part for a Whole.
template <typename Whole, typename Part, typename GetPart>
void embed(Fields<Whole>& whole, const std::string& prefix, const std::string& section, const Fields<Part>& fields,
           GetPart part) {
  for (const FieldOf<Part>& one : fields) {
    Field field = one.field;
    field.path = prefix + "." + field.path;
    field.section = section;
    whole.push_back(
        {std::move(field), [get = one.get, part](const Whole& from) -> Json { return get(std::invoke(part, from)); }});
  }
}

// The same for a part that may not be there: `part` gives a std::optional<Part>.
template <typename Whole, typename Part, typename GetPart>
void embed_optional(Fields<Whole>& whole, const std::string& prefix, const Fields<Part>& fields, GetPart part) {
  for (const FieldOf<Part>& one : fields) {
    Field field = one.field;
    field.path = prefix + "." + field.path;
    whole.push_back({std::move(field), [get = one.get, part](const Whole& from) -> Json {
                       const std::optional<Part>& there = std::invoke(part, from);
                       return there ? get(*there) : absent();
                     }});
  }
}

// A list of objects as one field.
template <typename Whole, typename Part, typename GetList>
[[nodiscard]] FieldOf<Whole> rows(std::string path, std::string label, Shown shown, const Fields<Part>& elements,
                                  GetList list) {
  Field field{.path = std::move(path), .label = std::move(label), .kind = FieldKind::rows, .shown = shown};
  field.elements = descriptions(elements);
  return {std::move(field), [elements, list](const Whole& from) {
            Json array = Json::array();
            for (const Part& part : std::invoke(list, from)) array.push_back(to_json(elements, part));
            return array;
          }};
}

}  // namespace precast::bench
