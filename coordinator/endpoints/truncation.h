#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/request/request_context.h"
#include "coordinator/text/typed_tokens.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

// Checks of the fields that say how texts are cut.

/// The end that a `truncation_direction` names: "right" or "left", in upper or lower case. If it is
/// absent, the end that the model's directory names.
proto::Expected<Truncation::Side> SideOf(const std::optional<std::string>& given,
                                         const RequestContext& context);

/// The end that is cut off of a text that is too long, as a `truncate` of hosted services names it:
/// "START" or "END", or "NONE" for none, in upper or lower case. `field` is the client's name of
/// it.
proto::Expected<std::optional<Truncation::Side>> CutOf(const std::string& truncate,
                                                       const std::string& field);

/// Whether documents are cut, as a `truncate` of hosted rerankers names it: "END" or "NONE".
proto::Expected<bool> CutsDocuments(const std::string& truncate, const std::string& field);

/// What lets a text be cut that is too long, as a sentence behind a blank. `field` is the client's
/// name of the field that says whether texts are cut; empty if they are, then the hint is, too.
std::string CutHint(const std::string& field);

/// The 400 of a `truncate_prompt_tokens` that is neither -1 nor positive.
std::optional<proto::Error> TruncatePromptTokensFault(std::int64_t tokens);

/// The strategy that a `truncation_strategy` names: "longest_first", "only_first" or "only_second".
proto::Expected<Truncation::Strategy> StrategyOf(const std::string& name);

/// The strategy of a request that names none: what sentence-transformers' files say.
Truncation::Strategy UsualStrategy(const RequestContext& context);

/// How a request wants texts and pairs to be cut, if the model reads whole texts.
struct WholeTextCut {
  bool truncate = true;
  std::int64_t truncate_prompt_tokens = -1;
  std::optional<std::string> direction;  ///< See SideOf.
  std::optional<std::string> strategy;   ///< nullopt: see UsualStrategy.
};

/// The same, checked. The limit is the model's, or the request's if that is less.
proto::Expected<Truncation> TruncationOf(const WholeTextCut& cut, const RequestContext& context);

/// The most tokens of a text or a pair with those that are added, if the model reads whole texts.
std::int64_t MostTextTokens(const RequestContext& context);

/// The 400 of a text that the chat template cannot render. `why` is one line.
proto::Error NotRendered(const std::string& why, const std::string& field);

/// The error of a pair without tokens: the fault of the documents' or items' `field` or, if the
/// first text is at fault, of `first_field`. `cut_field`: see CutHint.
proto::Error PairError(const TypedFault& fault, const std::string& first_field,
                       const std::string& field, const std::string& cut_field);

}  // namespace scorecast::coordinator
