#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/request/score_kind.h"
#include "coordinator/request/values.h"
#include "coordinator/text/models/interruption.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/error.h"
#include "proto/model/model_config.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

// Checks that several endpoints share. Each returns no error, or the 400 that names the field.

/// "129 > 128"
std::string Exceeds(std::int64_t value, std::int64_t limit);
/// "more than 128", of tokens that were counted no further
std::string MoreThan(std::int64_t limit);
/// "more than 576 > 128", of tokens that were counted up to CountedTokens(limit)
std::string FarExceeds(std::int64_t limit);

/// The end of the message that says that a request has too many positions, if no field cuts it.
inline constexpr const char* kNothingIsCut = " Nothing is cut: send less.";

/// The temperature of the softmax over labels must be finite and positive, and 1 for scores of
/// another kind. `field` is its name in the request.
std::optional<proto::Error> SoftmaxTemperatureFault(double temperature, ScoreKind kind,
                                                    const std::string& field);
/// Log-probabilities are of tokens, so a classifier has none.
std::optional<proto::Error> LogprobsFault(bool return_token_logprobs, std::int64_t top_logprobs,
                                          const proto::ModelConfig& config);

/// Each id must be in [0, vocab_size). The ids come from a client, or from a tokenizer, which may
/// have more tokens than the model.
std::optional<proto::Error> VocabularyFault(std::span<const TokenId> ids, const std::string& field,
                                            std::int64_t vocab_size);

/// How many tokens of a text are counted if `limit` are allowed. Those are several times more, so
/// that an error can mostly say how many there are, and because a text may have a few tokens less
/// when another one continues it.
std::int64_t CountedTokens(std::int64_t limit);

/// Counts the tokens of a request's prompts, which may repeat its query or a template for each
/// document.
class RepeatedTokens {
 public:
  /// A body of the default size has no more tokens if nothing is repeated.
  static constexpr std::int64_t kMost = std::int64_t{1} << 24;

  /// `field` names the documents in the error.
  explicit RepeatedTokens(std::string field) : field_(std::move(field)) {}

  /// Adds the tokens of a prompt. A 413 if there are too many.
  std::optional<proto::Error> Add(std::size_t tokens);
  std::int64_t tokens() const { return tokens_; }

 private:
  const std::string field_;
  std::int64_t tokens_ = 0;
};

/// The error of a request whose encoding has ended. `too_many_tokens` is that of a text with too
/// many tokens, and `field` the one that was being encoded. If nobody waits for the response any
/// more, it is a 503 that nobody reads.
proto::Error EncodeError(EncodeFault fault, proto::Error too_many_tokens, const std::string& field);

/// To be called between two texts or lists of a request, so that long work gives way there, too.
/// That 503 if nobody waits for the response any more. `interruption` may be null.
std::optional<proto::Error> StopFault(const Interruption* interruption);

}  // namespace scorecast::coordinator
