#pragma once

#include <array>

#include "coordinator/endpoints/rerank/relevance_options.h"
#include "coordinator/json/body_reader.h"
#include "coordinator/json/field_table.h"

namespace scorecast::coordinator {

/// The fields that RelevanceOptions are read from. A table with them also has `truncate`.
inline constexpr std::array kRelevanceFields = std::to_array<Field>({
    {.name = "instruction",
     .type = FieldType::kString,
     .description = "What relevance means, instead of the rerank template's own instruction."},
    {.name = "instruct",
     .type = FieldType::kString,
     .description = "SGLang's name of `instruction`."},
    {.name = "max_tokens_per_doc",
     .type = FieldType::kInteger,
     .description = "A longer document is cut. 0: only the model's length limits documents.",
     .default_json = "0",
     .minimum = 0},
    {.name = "truncate_prompt_tokens",
     .type = FieldType::kInteger,
     .description = "A document is cut so that its prompt has no more tokens. -1: the model's.",
     .default_json = "-1",
     .minimum = -1},
    {.name = "truncation_direction",
     .type = FieldType::kString,
     .description = "The end of a document that is cut off: `right` or `left`.",
     .default_json = "\"right\""},
    {.name = "truncation_side",
     .type = FieldType::kString,
     .description = "vLLM's name of `truncation_direction`."},
    {.name = "raw_scores",
     .type = FieldType::kBoolOrString,
     .description = "Logits, or their difference, instead of the template's formula.",
     .default_json = "false"},
    {.name = "use_activation",
     .type = FieldType::kBoolOrString,
     .description = "vLLM's field: false is `raw_scores`.",
     .default_json = "true"},
    {.name = "activation",
     .type = FieldType::kBoolOrString,
     .description = "The older name of `use_activation`.",
     .default_json = "true"},
});

inline constexpr std::array kRelevanceRefused = std::to_array<RefusedField>({
    {"chat_template", "[]", "The server has a template: see --rerank-template."},
    {"chat_template_kwargs", "[{}]", "Give the instruction as `instruction`."},
    {"max_tokens_per_query", "[0,-1]"},
    {"softmax", "[true]", "Give use_activation."},
    {"apply_softmax", "[]", "The rerank template has the formula: see raw_scores."},
    {"temperature", "[1]", "The rerank template has the formula: see raw_scores."},
    {"labels", "[]", "The rerank template has the labels. /v1/score takes labels."},
    {"label_token_ids", "[]", "The rerank template has the labels. /v1/score takes labels."},
    {"logit_bias", "[{}]"},
    {"add_special_tokens", "[true]"},
    {"stream", "[false]", "Scores are one response."},
    {"score_threshold"},
    {"*_embed_overrides", "[false]"},
    {"lora_path"},
});

/// Reads the fields of a table that has kRelevanceFields and `truncate`.
RelevanceOptions ReadRelevance(BodyReader& reader, bool truncate_if_absent);

}  // namespace scorecast::coordinator
