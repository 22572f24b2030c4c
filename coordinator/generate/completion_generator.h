#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/generate/completion_options.h"
#include "coordinator/generate/stop_strings.h"
#include "coordinator/generate/text_stream.h"
#include "coordinator/generate/token_sampler.h"
#include "coordinator/schedule/job.h"
#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// Why an answer ended.
enum class FinishReason {
  kStop,    ///< A stop token (EOS among them), or a stop string.
  kLength,  ///< `max_new_tokens`.
};

/// "stop", "length".
const char* Name(FinishReason reason);

/// What one more token adds to an answer. The text may lag behind the tokens.
struct CompletionDelta {
  std::string text;  ///< Whole characters; may be empty.
  std::vector<TokenId> token_ids;
  std::optional<FinishReason> finish_reason;  ///< In the last one.
};

struct CompletionOutput {
  std::string text;                ///< Ends before the stop string or stop token.
  std::vector<TokenId> token_ids;  ///< All that were chosen, with the one that ended the answer.
  FinishReason finish_reason = FinishReason::kLength;
};

/// The TokenChooser of one answer.
class CompletionGenerator : public TokenChooser {
 public:
  /// Called on the computing thread, once a token; the last one has a finish_reason, but for an
  /// answer that is not finite, which has no last one.
  using OnDelta = std::function<void(CompletionDelta)>;

  /// `tokenizer` may be null: the text stays empty then, and no stop string is found. `context`:
  /// the last tokens before the answer, whose text the answer's continues. `on_delta` may be empty.
  CompletionGenerator(const Tokenizer* tokenizer, std::int64_t vocab_size,
                      std::vector<TokenId> context, CompletionOptions options, OnDelta on_delta);

  proto::RowRead Wanted() const override;
  Choice Take(const proto::RowLogits& row) override;

  /// false where a row was not finite: the answer ended there.
  bool is_finite() const { return is_finite_; }
  /// Once the job is done.
  const CompletionOutput& output() const { return output_; }

 private:
  void Give(std::string text, TokenId token, std::optional<FinishReason> reason);

  CompletionOptions options_;
  OnDelta on_delta_;
  TokenSampler sampler_;
  std::optional<TextStream> text_stream_;
  StopStrings stop_strings_;
  bool is_finite_ = true;
  CompletionOutput output_;
};

}  // namespace scorecast::coordinator
