#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/rerank/reranker.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// How long a document may be, and what becomes of a longer one.
struct DocumentLimits {
  std::int64_t max_document_tokens = EncodeLimits::kUnlimited;
  /// Tokens of the whole prompt: the prefix, the document, and what follows it.
  std::int64_t max_prompt_tokens = EncodeLimits::kUnlimited;
  /// A longer document loses tokens at its end or its start; kNone: it is a kTooManyTokens.
  enum class Cut { kNone, kEnd, kStart };
  Cut cut = Cut::kEnd;
  /// As soon as it is true, encoding ends. May be null.
  const std::atomic<bool>* stop = nullptr;
};

/// The prompts of one request: a query, an instruction and many documents. The query, the
/// instruction and the template's text are tokenized once. Const methods may be called from several
/// threads at the same time.
class RerankPrompts {
 public:
  struct Prompt {
    /// If the document stands before the query: its tokens, which depend neither on the query nor
    /// on an instruction behind it. Empty otherwise.
    std::vector<TokenId> document;
    /// All tokens behind prefix() and `document`; never empty. The last of them is the row to read.
    std::vector<TokenId> rest;
    /// True if tokens merge across the prefix's end, so that the prompt does not begin with the
    /// prefix: then `document` + `rest` is the whole prompt.
    bool include_prefix = false;
    /// Tokens of the document itself, after a cut.
    std::int64_t document_tokens = 0;
    bool is_cut = false;

    /// Number of tokens of the whole prompt behind a prefix of `prefix_tokens`.
    std::int64_t TotalTokens(std::int64_t prefix_tokens) const {
      return (include_prefix ? 0 : prefix_tokens) +
             static_cast<std::int64_t>(document.size() + rest.size());
    }
  };

  /// `instruction` replaces the template's default; without a value or empty, the default counts.
  /// Both texts must be valid UTF-8. `limits` bounds the tokens of a prompt without its document.
  /// `reranker` must outlive the result.
  static proto::Expected<RerankPrompts, EncodeFault> Make(
      const Reranker& reranker, std::string_view query, std::optional<std::string_view> instruction,
      const EncodeLimits& limits = {});

  RerankPrompts(RerankPrompts&&) noexcept;
  RerankPrompts& operator=(RerankPrompts&&) noexcept;
  ~RerankPrompts();

  /// The tokens that all prompts of the request begin with. If the document stands before query and
  /// instruction, they are the same for all requests.
  const std::vector<TokenId>& prefix() const;

  /// Tokens of the query itself (for usage).
  std::int64_t query_tokens() const;

  /// The prompt of a document, which must be valid UTF-8. kTooManyTokens also if the prompt does
  /// not even fit without its document.
  proto::Expected<Prompt, EncodeFault> Document(std::string_view document,
                                                const DocumentLimits& limits = {}) const;

 private:
  struct State;
  explicit RerankPrompts(std::unique_ptr<const State> state);

  std::unique_ptr<const State> state_;
};

}  // namespace scorecast::coordinator
