#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "coordinator/rerank/rerank_template.h"
#include "coordinator/rerank/reranker.h"
#include "coordinator/rerank/template_tokens.h"
#include "coordinator/text/tokenizer.h"
#include "proto/plan/label_list.h"

namespace scorecast::coordinator {

/// A reranker of a template that a test has as text. `tokenizer` must outlive it.
inline std::shared_ptr<const Reranker> MakeReranker(std::string_view template_text,
                                                    const Tokenizer& tokenizer,
                                                    proto::LabelList labels) {
  const RerankTemplate from = ParseRerankTemplate(template_text, "test", "test.txt");
  std::string why_not;
  std::optional<TemplateTokens> prompt = TemplateTokens::Make(from, tokenizer, why_not);
  if (!prompt) {
    ADD_FAILURE() << why_not;
    return nullptr;
  }
  return std::make_shared<const Reranker>(
      Reranker::Parts{.name = "test",
                      .reason = "a test",
                      .default_instruction = from.default_instruction,
                      .prompt = *std::move(prompt),
                      .labels = std::move(labels),
                      .formula = from.formula});
}

}  // namespace scorecast::coordinator
