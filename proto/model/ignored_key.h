#pragma once

#include <string>

namespace scorecast::proto {

/// A key whose refusal is overridden: the model is loaded as if the file did not have the key.
struct IgnoredKey {
  std::string file;  ///< Relative to the model's directory, e.g. "1_Pooling/config.json".
  std::string key;   ///< As messages spell it, e.g. "processing_kwargs.text.stride".

  bool operator==(const IgnoredKey&) const = default;
};

}  // namespace scorecast::proto
