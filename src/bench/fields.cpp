#include "bench/fields.hpp"

#include <cmath>

namespace precast::bench {
namespace {

Field make(std::string path, std::string label, FieldKind kind, Shown shown, std::string unit = {}) {
  return {.path = std::move(path), .label = std::move(label), .kind = kind, .shown = shown, .unit = std::move(unit)};
}

Json rounded_number(double value, double scale) {
  const double result = std::round(value * scale) / scale;
  return std::isfinite(result) ? Json(result) : Json();
}

}  // namespace

Field duration(std::string path, std::string label, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::duration, shown, "ms");
}
Field megabytes(std::string path, std::string label, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::megabytes, shown, "MB");
}
Field percent(std::string path, std::string label, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::percent, shown, "%");
}
Field count(std::string path, std::string label, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::count, shown);
}
Field flag(std::string path, std::string label, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::flag, shown);
}
Field text(std::string path, std::string label, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::text, shown);
}
Field ratio(std::string path, std::string label, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::ratio, shown);
}
Field number(std::string path, std::string label, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::number, shown);
}
Field values(std::string path, std::string label, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::values, shown);
}
Field pairs(std::string path, std::string label, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::pairs, shown);
}
Field rate(std::string path, std::string label, std::string unit, Shown shown) {
  return make(std::move(path), std::move(label), FieldKind::rate, shown, std::move(unit));
}

Json rounded(Json value, FieldKind kind) {
  switch (kind) {
    case FieldKind::duration:
      return value.is_number() ? rounded_number(value.get<double>(), 1000) : value;
    case FieldKind::rate:
    case FieldKind::megabytes:
    case FieldKind::percent:
      return value.is_number() ? rounded_number(value.get<double>(), 100) : value;
    case FieldKind::ratio:
      return value.is_number() ? rounded_number(value.get<double>(), 10'000) : value;
    case FieldKind::number:
      return value.is_number_float() && !std::isfinite(value.get<double>()) ? Json() : value;
    case FieldKind::durations:
      for (Json& element : value) element = rounded(element, FieldKind::duration);
      return value;
    default:
      return value;
  }
}

void put(Json& document, std::string_view path, Json value) {
  if (value.is_discarded()) return put(document, path.substr(0, path.rfind('.')), Json());
  Json* place = &document;
  while (true) {
    const std::size_t dot = path.find('.');
    place = &(*place)[std::string(path.substr(0, dot))];
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  *place = std::move(value);
}

Json at_path(const Json& document, std::string_view path) {
  const Json* place = &document;
  while (true) {
    const std::size_t dot = path.find('.');
    if (!place->is_object()) return {};
    const auto found = place->find(std::string(path.substr(0, dot)));
    if (found == place->end()) return {};
    place = &*found;
    if (dot == std::string_view::npos) return *place;
    path.remove_prefix(dot + 1);
  }
}

}  // namespace precast::bench
