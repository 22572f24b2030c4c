#include "coordinator/front/body_pieces.h"

#include <algorithm>
#include <array>
#include <functional>

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;  ///< Of a body.
constexpr std::size_t kMinPiece = 256;
constexpr std::size_t kMaxPiece = 4096;
/// One of 768 places is the end of a piece, so that they have 1 KiB on average.
constexpr std::uint64_t kEndBelow = ~std::uint64_t{0} / 768;
/// The gear hash depends on so many bytes: each one is shifted out after these.
constexpr std::size_t kGearBytes = 64;

/// Numbers without a pattern (splitmix64).
constexpr std::array<std::uint64_t, 256> GearNumbers() {
  std::array<std::uint64_t, 256> numbers{};
  std::uint64_t state = 0;
  for (std::uint64_t& number : numbers) {
    state += 0x9e3779b97f4a7c15;
    number = state;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    number ^= number >> 31;
  }
  return numbers;
}

constexpr std::array<std::uint64_t, 256> kGear = GearNumbers();

/// Length of the first piece.
std::size_t PieceLength(std::string_view text) {
  const std::size_t limit = std::min(text.size(), kMaxPiece);
  std::uint64_t hash = 0;
  for (std::size_t at = kMinPiece - kGearBytes; at < limit; ++at) {
    hash = (hash << 1) + kGear[static_cast<unsigned char>(text[at])];
    if (at >= kMinPiece && hash < kEndBelow) {
      return at;
    }
  }
  return limit;
}

}  // namespace

std::vector<BodyPiece> PiecesOf(std::string_view body) {
  body = body.substr(0, kMaxBytes);
  std::vector<BodyPiece> pieces;
  while (!body.empty()) {
    const std::string_view piece = body.substr(0, PieceLength(body));
    pieces.push_back({std::hash<std::string_view>()(piece), piece.size()});
    body.remove_prefix(piece.size());
  }
  return pieces;
}

void SentPieces::Add(std::span<const BodyPiece> pieces) {
  for (const BodyPiece& piece : pieces) {
    const auto known = places_.find(piece.digest);
    if (known != places_.end()) {
      digests_.splice(digests_.begin(), digests_, known->second);
      continue;
    }
    digests_.push_front(piece.digest);
    places_.emplace(piece.digest, digests_.begin());
    if (digests_.size() > max_pieces_) {
      places_.erase(digests_.back());
      digests_.pop_back();
    }
  }
}

std::size_t SentPieces::KnownBytes(std::span<const BodyPiece> pieces) const {
  std::size_t bytes = 0;
  for (const BodyPiece& piece : pieces) {
    bytes += places_.contains(piece.digest) ? piece.bytes : 0;
  }
  return bytes;
}

void SentPieces::Clear() {
  digests_.clear();
  places_.clear();
}

}  // namespace scorecast::coordinator
