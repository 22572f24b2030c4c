#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "coordinator/text/models/interruption.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// Limits on the encoding of a text.
struct EncodeLimits {
  static constexpr std::int64_t kUnlimited = INT64_MAX;
  static constexpr std::size_t kMaxUncutBytes = std::size_t{1} << 20;

  std::int64_t max_tokens = kUnlimited;
  /// The rest of a text is dropped behind a piece that ends with at least this many tokens. They
  /// are the first ones of the whole text.
  std::int64_t enough_tokens = kUnlimited;
  /// Looked at while a text is encoded. May be null.
  const Interruption* interruption = nullptr;
  /// A text with more bytes than about this is encoded in pieces.
  std::size_t piece_bytes = std::size_t{64} << 10;
  /// A piece that has no certain cut in this many bytes is dropped, because its memory, and its
  /// time between two looks at `interruption`, grow with its length.
  std::size_t max_uncut_bytes = kMaxUncutBytes;

  /// The limits for a text that follows `tokens` tokens.
  EncodeLimits Behind(std::size_t tokens) const {
    EncodeLimits rest = *this;
    if (max_tokens != kUnlimited) {
      rest.max_tokens -= static_cast<std::int64_t>(tokens);
    }
    return rest;
  }

  /// The same limits without a limit of tokens.
  EncodeLimits Uncounted() const {
    EncodeLimits rest = *this;
    rest.max_tokens = kUnlimited;
    return rest;
  }
};

/// Why a text has no tokens.
enum class EncodeFault {
  kTooManyTokens,
  kUncut,  ///< A part of the text is too long to be encoded as a whole, and has no certain cut.
  kStopped,
};

/// The tokens of a text while it is being encoded. At a limit it ends the encoding by throwing
/// `Ended`, because the steps of a tokenizer are nested calls: each step calls the next one for
/// each piece of text.
class TokenCollector {
 public:
  struct Ended {
    EncodeFault fault;
  };

  explicit TokenCollector(const EncodeLimits& limits = {}) : limits_(limits) {}

  void Add(proto::TokenId id) {
    ExpectAtLeast(1);
    ids_.push_back(id);
  }

  void Append(std::vector<proto::TokenId> ids) {
    ExpectAtLeast(static_cast<std::int64_t>(ids.size()));
    if (ids_.empty()) {
      ids_ = std::move(ids);
    } else {
      ids_.insert(ids_.end(), ids.begin(), ids.end());
    }
  }

  /// To be called before the work if it certainly gives at least `count` more tokens.
  void ExpectAtLeast(std::int64_t count) const {
    if (count > left()) {
      throw Ended{EncodeFault::kTooManyTokens};
    }
  }

  /// To be called before something that cannot be interrupted encodes `bytes` bytes.
  void ExpectUncut(std::size_t bytes) const {
    if (bytes > limits_.max_uncut_bytes / 4) {
      throw Ended{EncodeFault::kUncut};
    }
  }

  /// To be called every few thousand steps.
  void Poll() const {
    if (ShouldStop(limits_.interruption)) {
      throw Ended{EncodeFault::kStopped};
    }
  }

  /// How many tokens may still be added.
  std::int64_t left() const { return limits_.max_tokens - static_cast<std::int64_t>(ids_.size()); }

  const std::vector<proto::TokenId>& ids() const { return ids_; }
  std::vector<proto::TokenId> Take() && { return std::move(ids_); }

 private:
  EncodeLimits limits_;
  std::vector<proto::TokenId> ids_;
};

}  // namespace scorecast::coordinator
