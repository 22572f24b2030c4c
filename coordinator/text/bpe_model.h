#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "coordinator/text/merge_table.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// Byte-level BPE. A piece of text starts as its bytes. The neighbours whose merge has the lowest
/// rank (the leftmost if there are several) are merged, until no two neighbours have a merge.
/// Immutable.
class BpeModel {
 public:
  /// Allows lookups in a map of strings by string_view.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using IdByText = std::unordered_map<std::string, proto::TokenId, TextHash, std::equal_to<>>;

  struct Data {
    /// The token of each byte; −1 for a byte that the vocabulary lacks. Such bytes are left out.
    std::array<proto::TokenId, 256> byte_tokens{};
    MergeTable merges{0};
    /// For `ignore_merges`: a piece that is a whole token becomes that token. Keys are the piece's
    /// bytes.
    IdByText whole_pieces;
  };

  explicit BpeModel(Data data) : data_(std::move(data)) {}

  /// Appends the tokens of `piece`. O(n log n).
  void Encode(std::string_view piece, std::vector<proto::TokenId>& ids) const;

 private:
  void EncodeMerged(std::string_view piece, std::vector<proto::TokenId>& ids) const;

  Data data_;
};

}  // namespace scorecast::coordinator
