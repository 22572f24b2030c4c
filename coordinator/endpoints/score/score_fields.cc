#include "coordinator/endpoints/score/score_fields.h"

#include <array>

#include "coordinator/request/values.h"

namespace scorecast::coordinator {
namespace {

constexpr std::array kFields = Joined(
    std::to_array<Field>({
        {.name = "query",
         .type = FieldType::kTextOrIds,
         .description = "What every item is scored with.",
         .is_required = true},
        {.name = "items",
         .type = FieldType::kOneOrMoreTextOrIds,
         .description = "What is scored. All items, and the query, are text, or all are ids.",
         .is_required = true},
        {.name = "label_token_ids",
         .type = FieldType::kLabels,
         .description = "The tokens whose probabilities are returned.",
         .minimum = 0},
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
        {.name = "item_first",
         .type = FieldType::kBool,
         .description = "Item before query, scored one by one. Ignored under SGLang's rules.",
         .default_json = "false"},
        {.name = "temperature",
         .type = FieldType::kNumber,
         .description = "Of a softmax over labels or classes, and only with one. Above 0.",
         .default_json = "1.0",
         .minimum = 0},
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
        {.name = "score_extraction_token",
         .type = FieldType::kTextOrId,
         .description = "Reads every occurrence of this token in an item, not the item's end: "
                        "`scores` are [items][occurrences][labels]."},
        {.name = "max_new_tokens",
         .type = FieldType::kInteger,
         .description = "Scoring generates nothing, so only 0 is allowed.",
         .default_json = "0",
         .minimum = 0,
         .maximum = 0},
    }),
    kOptionFields);

constexpr std::string_view kLogprobsHint = "Give return_token_logprobs or top_logprobs.";

constexpr std::array kRefused = std::to_array<RefusedField>({
    {"return_pooled_hidden_states", "[false]"},
    {"*_embed_overrides", "[false]"},
    {"max_tokens", "[0]", "Scoring generates nothing."},
    {"max_completion_tokens", "[0]", "Scoring generates nothing."},
    {"n", "[1]"},
    {"best_of", "[1]"},
    {"stream", "[false]", "Scores are one response."},
    {"chat_template", "[]", "The prompt is query and item as they are given."},
    {"instruction", "[]", "Put it into the query, or give queries and documents."},
    {"instruct", "[]", "Put it into the query, or give queries and documents."},
    {"logprobs", "[false,0]", kLogprobsHint},
    {"prompt_logprobs", "[false,0]", kLogprobsHint},
    {"logit_bias", "[{}]"},
    {"repetition_penalty", "[1]"},
    {"frequency_penalty", "[0]"},
    {"presence_penalty", "[0]"},
    {"use_activation", "[]", "Give apply_softmax, or activation for a classifier."},
    {"truncate_prompt_tokens"},
    {"add_special_tokens", "[true]"},
    {"lora_path"},
});

}  // namespace

constinit const FieldTable kScoreFields = {
    .name = "ScoreRequest",
    .description = "Labels or classes, scored after each item of a query.",
    .fields = kFields,
    .refused = kRefused,
};

}  // namespace scorecast::coordinator
