#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

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

}  // namespace scorecast::shard
