#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/access/api_key.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// What a file of keys says.
struct KeyFile {
  std::vector<ApiKey> keys;     ///< At least one. Names and keys differ.
  bool has_plain_keys = false;  ///< Some are there as they are, and not as their SHA-256.
};

/// Reads the text of a file of keys: docs/keys.md describes its lines. The error is one line that
/// names the line at fault, "line 3: …", and never repeats a key.
proto::Expected<KeyFile, std::string> ParseKeyFile(std::string_view text);

}  // namespace scorecast::coordinator
