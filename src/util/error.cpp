#include "precast/error.hpp"

namespace precast {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_input:
      return "bad_input";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::ep_unavailable:
      return "ep_unavailable";
    case ErrorCode::compile_failed:
      return "compile_failed";
    case ErrorCode::timed_out:
      return "timed_out";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::busy:
      return "busy";
    case ErrorCode::io:
      return "io";
    case ErrorCode::no_space:
      return "no_space";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace precast
