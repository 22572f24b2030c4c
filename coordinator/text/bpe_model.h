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

/// Byte-level BPE: a piece of text is its bytes, and the neighbours whose merge has the lowest rank
/// are merged (the leftmost of equals) until no neighbours have one. Immutable once made.
class BpeModel {
 public:
  /// Lets a map of strings be asked with a view.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using IdByText = std::unordered_map<std::string, proto::TokenId, TextHash, std::equal_to<>>;

  struct Data {
    /// Of each byte the token; −1: a byte that the vocabulary lacks, and that is left out.
    std::array<proto::TokenId, 256> byte_tokens{};
    MergeTable merges{0};
    /// With `ignore_merges`: a piece that is a token whole is that token. By the piece's bytes.
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
