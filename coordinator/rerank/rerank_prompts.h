#pragma once

#include <optional>
#include <string_view>

#include "coordinator/prompts/item_prompts.h"
#include "coordinator/rerank/reranker.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The prompts of one request: a query, an instruction and many documents, which are the items.
/// `instruction` replaces the template's default; without a value or empty, the default counts.
/// Both texts must be valid UTF-8. `limits` bounds the tokens of a prompt without its document.
/// `reranker` must outlive the result. If the document stands before query and instruction, the
/// prefix is the same for all requests.
proto::Expected<ItemPrompts, EncodeFault> RerankPrompts(const Reranker& reranker,
                                                        std::string_view query,
                                                        std::optional<std::string_view> instruction,
                                                        const EncodeLimits& limits = {});

}  // namespace scorecast::coordinator
