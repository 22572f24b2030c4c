#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "shard/checkpoint/tensor_view.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::shard {

/// A directory, empty at first, that is removed at the end of its test.
class TempDir : public reference::TempDirectory {
 public:
  void Write(const std::string& name, std::string_view bytes) const {
    std::ofstream file(path() / name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(file.flush());
  }
};

/// The bytes of a safetensors file: the header's length, `header` and `data`.
inline std::string SafetensorsFile(std::string_view header, std::string_view data) {
  const std::uint64_t length = header.size();
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file.append(header).append(data);
}

/// Makes GoogleTest print a dtype as safetensors spells it.
inline void PrintTo(Dtype dtype, std::ostream* out) {
  switch (dtype) {
    case Dtype::kF32:
      *out << "F32";
      break;
    case Dtype::kF16:
      *out << "F16";
      break;
    case Dtype::kBF16:
      *out << "BF16";
      break;
  }
}

}  // namespace scorecast::shard
