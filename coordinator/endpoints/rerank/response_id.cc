#include "coordinator/endpoints/rerank/response_id.h"

#include <cstdint>
#include <random>

namespace scorecast::coordinator {

std::string NewResponseId(std::string_view prefix) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device device;
  std::string id(prefix);
  for (int word = 0; word < 4; ++word) {
    std::uint32_t bits = device();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) {
      id += kDigits[bits & 15];
    }
  }
  return id;
}

}  // namespace scorecast::coordinator
