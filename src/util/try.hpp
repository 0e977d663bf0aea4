// Early return of errors: GCC 12's std::expected has no and_then.
//
//   PRECAST_TRY(sync(file));                      // Result<void>, or a value nobody wants
//   PRECAST_TRY_ASSIGN(auto bytes, read(path));   // a value
#pragma once

#include <utility>

#include "precast/error.hpp"

#define PRECAST_CONCAT_INNER(a, b) a##b
#define PRECAST_CONCAT(a, b) PRECAST_CONCAT_INNER(a, b)

#define PRECAST_TRY(expression)                                                   \
  do {                                                                            \
    if (auto precast_tried = (expression); !precast_tried)                        \
      return std::unexpected<::precast::Error>(std::move(precast_tried).error()); \
  } while (false)

// NOLINTBEGIN(bugprone-macro-parentheses): what is declared cannot stand in parentheses
#define PRECAST_TRY_ASSIGN_IMPL(holder, target, expression)                         \
  auto holder = (expression);                                                       \
  if (!holder) return std::unexpected<::precast::Error>(std::move(holder).error()); \
  target = std::move(*holder)
// NOLINTEND(bugprone-macro-parentheses)

#define PRECAST_TRY_ASSIGN(target, expression) \
  PRECAST_TRY_ASSIGN_IMPL(PRECAST_CONCAT(precast_tried_, __COUNTER__), target, expression)
