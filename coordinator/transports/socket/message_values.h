#pragma once

#include <cstdint>
#include <string_view>

namespace google::protobuf {
class Descriptor;
}

namespace scorecast::coordinator {

/// Whether parsing `bytes` as a message of type `type` would build more than `limit` values: texts,
/// messages, unknown fields, and numbers of 64 bits. Reads the bytes once and builds nothing. Each
/// of these values can take up to a hundred times its bytes. Lists of 32-bit numbers do not count,
/// because they take little more than their bytes. Stops at a fault, where parsing also stops.
bool HasMoreValues(std::string_view bytes, const google::protobuf::Descriptor& type,
                   std::int64_t limit);

}  // namespace scorecast::coordinator
