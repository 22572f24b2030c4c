#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/generate/completion_generator.h"
#include "coordinator/generate/completion_options.h"
#include "coordinator/request/request_context.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The completions of a request, in the order of its response.
class PromptCompletions {
 public:
  /// See EndpointRequest::sent. Called before the first completion is added.
  void SetSent(SentPositions sent) { sent_ = std::move(sent); }
  /// Gives `generation` a chooser, which makes the next completion. `sequence` is that of the
  /// generation. `on_delta` may be empty. `field` names the prompt in errors. The adjustments of
  /// `options` hold for all completions, and know no prompt. Returns a 413 if the completions
  /// together would have lists of too many adjusted tokens.
  std::optional<proto::Error> Add(const proto::PackedSequence& sequence, CompletionOptions options,
                                  std::string field, const RequestContext& context,
                                  const OnDelta& on_delta, Generation& generation);

  /// Complete when the job is done. A 500 if a row of one was not finite, a 502 if one is not that
  /// of which a part was sent.
  proto::Expected<std::vector<const CompletionOutput*>> Outputs() const;
  /// The tokens that were generated.
  std::int64_t num_tokens() const;

 private:
  std::vector<std::shared_ptr<const CompletionGenerator>> generators_;
  std::vector<std::string> fields_;  ///< [generators_]
  SentPositions sent_;
  /// Those of the last added completion, if they depend on its prompt. All completions of a prompt
  /// share its tokens.
  std::optional<TokenAdjustments> adjustments_;
  std::int64_t adjusted_tokens_ = 0;  ///< Of completions that get lists of their own.
};

}  // namespace scorecast::coordinator
