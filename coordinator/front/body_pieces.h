#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scorecast::coordinator {

/// A piece of a request's body. Pieces with the same digest are taken for copies.
struct BodyPiece {
  std::uint64_t digest = 0;
  std::size_t bytes = 0;
};

/// The pieces of the first megabyte of a body, of about a kilobyte each. Their ends follow from the
/// bytes in front of them (content-defined chunking by a gear hash: Xia et al., 2014), so a text
/// has mostly the same pieces wherever it stands in a body.
std::vector<BodyPiece> PiecesOf(std::string_view body);

/// Digests of the pieces that were sent to one replica, and may be in its cache. Keeps the latest.
class SentPieces {
 public:
  explicit SentPieces(std::size_t max_pieces = std::size_t{1} << 16) : max_pieces_(max_pieces) {}

  void Add(std::span<const BodyPiece> pieces);
  /// Bytes of those of the pieces that were sent before.
  std::size_t KnownBytes(std::span<const BodyPiece> pieces) const;
  void Clear();
  std::size_t size() const { return digests_.size(); }

 private:
  const std::size_t max_pieces_;
  std::list<std::uint64_t> digests_;  ///< The latest is first.
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

}  // namespace scorecast::coordinator
