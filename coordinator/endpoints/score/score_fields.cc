#include "coordinator/endpoints/score/score_fields.h"

#include <array>

#include "coordinator/endpoints/label_fields.h"

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
        {.name = "item_first",
         .type = FieldType::kBool,
         .description = "Item before query, scored one by one. Ignored under SGLang's rules.",
         .default_json = "false"},
        {.name = "temperature",
         .type = FieldType::kNumber,
         .description = "Of a softmax over labels or classes, and only with one. Above 0.",
         .default_json = "1.0",
         .minimum = 0},
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
    kLabelFields, kOptionFields, kPriorityField);

constexpr std::array kOwnRefused = std::to_array<RefusedField>({
    {"return_pooled_hidden_states", "[false]"},
    {"*_embed_overrides", "[false]"},
    {"max_tokens", "[0]", "Scoring generates nothing."},
    {"max_completion_tokens", "[0]", "Scoring generates nothing."},
    {"stream", "[false]", "Scores are one response."},
    {"chat_template", "[]", "The prompt is query and item as they are given."},
    {"instruction", "[]", "Put it into the query, or give queries and documents."},
    {"instruct", "[]", "Put it into the query, or give queries and documents."},
    {"use_activation", "[]", "Give apply_softmax, or activation for a classifier."},
    {"add_special_tokens", "[true]"},
});
constexpr std::array kRefused = Joined(kOwnRefused, kSamplingRefused);

}  // namespace

constinit const FieldTable kScoreFields = {
    .name = "ScoreRequest",
    .description = "Labels or classes, scored after each item of a query.",
    .fields = kFields,
    .refused = kRefused,
};

}  // namespace scorecast::coordinator
