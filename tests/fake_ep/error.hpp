#pragma once

#include <stdexcept>
#include <string>

#include "onnxruntime_cxx_api.h"

namespace precast::fake_ep {

// What a callback answers to ORT; code 11 is what most EPs use for everything.
class EpError : public std::runtime_error {
 public:
  explicit EpError(const std::string& message, OrtErrorCode code = ORT_EP_FAIL)
      : std::runtime_error("fake EP: " + message), code_(code) {}
  OrtErrorCode code() const { return code_; }

 private:
  OrtErrorCode code_;
};

}  // namespace precast::fake_ep
