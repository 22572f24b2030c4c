#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/tokenizer.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {

/// One token per byte, with the byte as its id, except for the spellings that it is given, which
/// are matched first.
class FakeTokenizer : public Tokenizer {
 public:
  using Spellings = std::vector<std::pair<std::string, TokenId>>;

  explicit FakeTokenizer(Spellings spellings, std::optional<TokenId> bos = std::nullopt)
      : spellings_(std::move(spellings)), bos_(bos) {
    if (bos_) {
      added_prefix_.push_back(*bos_);
    }
  }

  void EncodeText(std::string_view text, const EncodeOptions& /*options*/,
                  TokenCollector& tokens) const override {
    while (!text.empty()) {
      TokenId id = static_cast<unsigned char>(text.front());
      std::size_t length = 1;
      for (const auto& [spelling, spelled_id] : spellings_) {
        if (text.starts_with(spelling)) {
          id = spelled_id;
          length = spelling.size();
          break;
        }
      }
      tokens.Add(id);
      text.remove_prefix(length);
    }
  }

  const std::vector<TokenId>& added_prefix() const override { return added_prefix_; }
  const std::vector<TokenId>& added_suffix() const override { return added_suffix_; }
  std::optional<TokenId> bos() const override { return bos_; }
  std::string Decode(std::span<const TokenId> ids) const override {
    std::string bytes;
    for (const TokenId id : ids) {
      if (id < 256) {
        bytes.push_back(static_cast<char>(id));
      }
      for (const auto& [spelling, spelled_id] : spellings_) {
        bytes += spelled_id == id ? spelling : "";
      }
    }
    return ReplaceInvalidUtf8(bytes);
  }
  std::int64_t vocab_size() const override {
    return 256 + static_cast<std::int64_t>(spellings_.size());
  }
  std::string_view kind() const override { return "fake"; }
  std::vector<SpecialToken> special_tokens() const override { return {}; }

 private:
  Spellings spellings_;
  std::optional<TokenId> bos_;
  std::vector<TokenId> added_prefix_;
  /// An end of text that a request must never get.
  std::vector<TokenId> added_suffix_ = {0};
};

/// A tokenizer that a test can block while it tokenizes a text of more than kLong bytes.
class HoldingTokenizer : public FakeTokenizer {
 public:
  static constexpr std::size_t kLong = 10'000;

  using FakeTokenizer::FakeTokenizer;

  void Hold() { SetHeld(true); }
  void Release() { SetHeld(false); }

  void EncodeText(std::string_view text, const EncodeOptions& options,
                  TokenCollector& tokens) const override {
    if (text.size() > kLong) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !held_; });
    }
    FakeTokenizer::EncodeText(text, options, tokens);
  }

 private:
  void SetHeld(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool held_ = false;
};

}  // namespace scorecast::coordinator
