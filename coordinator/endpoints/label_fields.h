#pragma once

#include <array>
#include <string_view>

#include "coordinator/json/field_table.h"
#include "coordinator/request/values.h"

namespace scorecast::coordinator {

// What the tables of endpoints have in common whose responses score labels.

inline constexpr std::array kLabelFields = std::to_array<Field>({
    {.name = "labels",
     .type = FieldType::kStrings,
     .description = "Instead of `label_token_ids`; each is exactly one token."},
    {.name = "apply_softmax",
     .type = FieldType::kBool,
     .description = "A softmax over the labels, instead of probabilities over the vocabulary.",
     .default_json = "false"},
    {.name = "activation",
     .type = FieldType::kString,
     .description = "Only for classifiers: `none`, `softmax` or `sigmoid`."},
    {.name = "return_token_logprobs",
     .type = FieldType::kBool,
     .description = "Adds `token_logprobs`.",
     .default_json = "false"},
    {.name = "top_logprobs",
     .type = FieldType::kInteger,
     .description = "Adds this many of the best tokens of each row that is read.",
     .default_json = "0",
     .minimum = 0,
     .maximum = kMaxTopLogprobs},
});

inline constexpr std::string_view kLogprobsHint = "Give return_token_logprobs or top_logprobs.";

/// Parameters of engines that sample one completion for each prompt.
inline constexpr std::array kSamplingRefused = std::to_array<RefusedField>({
    {"n", "[1]"},
    {"best_of", "[1]"},
    {"repetition_penalty", "[1]"},
    {"frequency_penalty", "[0]"},
    {"presence_penalty", "[0]"},
    {"logit_bias", "[{}]"},
    {"logprobs", "[false,0]", kLogprobsHint},
    {"prompt_logprobs", "[false,0]", kLogprobsHint},
    {"truncate_prompt_tokens"},
    {"lora_path"},
});

}  // namespace scorecast::coordinator
