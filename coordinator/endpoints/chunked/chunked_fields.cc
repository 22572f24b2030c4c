#include "coordinator/endpoints/chunked/chunked_fields.h"

#include <array>

#include "coordinator/endpoints/label_fields.h"

namespace scorecast::coordinator {
namespace {

constexpr std::array kPromptFields = std::to_array<Field>({
    {.name = "system_prompt",
     .type = FieldType::kTextOrIds,
     .description = "Begins the prompt; chunks and questions see it."},
    {.name = "chunks",
     .type = FieldType::kTextOrIdsList,
     .description = "Documents that see the system prompt, but not each other."},
    {.name = "chunk_groups",
     .type = FieldType::kIntegers,
     .description = "Numbers of consecutive chunks that belong together: a chunk of a group sees "
                    "the earlier ones.",
     .minimum = 1},
    {.name = "question",
     .type = FieldType::kTextOrIds,
     .description = "Sees everything. Required without `questions` and `prompt`."},
    {.name = "questions",
     .type = FieldType::kTextOrIdsList,
     .description = "Instead of `question`: several that do not see each other."},
    {.name = "prompt",
     .type = FieldType::kString,
     .description = "Instead of system prompt, chunks and question: one text with separators."},
    {.name = "chunk_position_strategy",
     .type = FieldType::kString,
     .description = "`shared` or `offset`; the server's flag if it is absent."},
    {.name = "chunk_temperature",
     .type = FieldType::kNumber,
     .description = "T of APE: how sharply a question's tokens weigh the chunks.",
     .default_json = "1.0",
     .minimum = 0.01,
     .maximum = 100},
    {.name = "chunk_scale",
     .type = FieldType::kNumber,
     .description = "S of APE: how much the chunks weigh together.",
     .default_json = "1.0",
     .minimum = 1e-6,
     .maximum = 1e6},
});

constexpr std::array kScoringFields = std::to_array<Field>({
    {.name = "label_token_ids",
     .type = FieldType::kTokenIds,
     .description = "The tokens whose probabilities are returned at the end of each question.",
     .minimum = 0},
    {.name = "label_temperature",
     .type = FieldType::kNumber,
     .description = "Of a softmax over labels or classes, and only with one. Above 0.",
     .default_json = "1.0",
     .minimum = 0},
});

constexpr std::array kCompletionFields = std::to_array<Field>({
    {.name = "max_new_tokens",
     .type = FieldType::kInteger,
     .description = "If it is above 0, a completion is generated for each question.",
     .default_json = "0",
     .minimum = 0},
    {.name = "temperature",
     .type = FieldType::kNumber,
     .description = "Of the completions. Below 0.01: always the most likely token.",
     .default_json = "0",
     .minimum = 0,
     .maximum = 100},
    {.name = "top_k",
     .type = FieldType::kInteger,
     .description = "Keeps the best tokens only. 0: all.",
     .default_json = "0",
     .minimum = 0},
    {.name = "top_p",
     .type = FieldType::kNumber,
     .description = "Keeps the fewest tokens that have this mass. Above 0.",
     .default_json = "1",
     .minimum = 0,
     .maximum = 1},
    {.name = "seed",
     .type = FieldType::kUnsigned,
     .description = "The same seed gives the same completion. Drawn if it is absent.",
     .minimum = 0},
    {.name = "stop",
     .type = FieldType::kStringOrStrings,
     .description = "Texts before the first of which a completion ends."},
    {.name = "stop_token_ids",
     .type = FieldType::kTokenIds,
     .description = "Further tokens that end a completion.",
     .minimum = 0},
    {.name = "ignore_eos",
     .type = FieldType::kBool,
     .description = "The model's EOS ids do not end a completion.",
     .default_json = "false"},
    {.name = "stream",
     .type = FieldType::kBool,
     .description = "Sends the completions while they are generated.",
     .default_json = "false"},
});

constexpr std::array kFields = Joined(kPromptFields, kScoringFields, kLabelFields,
                                      kCompletionFields, kOptionFields, kPriorityField);

constexpr std::string_view kLengthHint = "Give max_new_tokens.";
constexpr std::string_view kChatHint = "Give prompt, or system_prompt, chunks and question.";
constexpr std::string_view kSamplingHint = "Give temperature, top_k, top_p and seed in the body.";

constexpr std::array kOwnRefused = std::to_array<RefusedField>({
    {"max_tokens", "[]", kLengthHint},
    {"max_completion_tokens", "[]", kLengthHint},
    {"n_predict", "[]", kLengthHint},
    {"sampling_params", "[{}]", kSamplingHint},
    {"messages", "[]", kChatHint},
    {"use_beam_search", "[false]"},
    {"beam_width", "[1]"},
    {"length_penalty", "[1]"},
    {"repeat_penalty", "[1]"},
    {"echo", "[false]"},
    {"suffix", "[\"\"]"},
    {"min_p", "[0]"},
    {"typical_p", "[1]"},
    {"min_tokens", "[0]"},
    {"min_new_tokens", "[0]"},
    {"allowed_token_ids", "[]"},
    {"bad_words", "[[]]"},
    {"stop_regex", "[\"\",[]]", "Give stop."},
    {"skip_special_tokens", "[false]"},
    {"include_stop_str_in_output", "[false]"},
    {"no_stop_trim", "[false]"},
    {"response_format", R"([{"type":"text"}])"},
    {"structured_outputs"},
    {"guided_json"},
    {"guided_regex"},
    {"guided_choice"},
    {"guided_grammar"},
    {"json_schema"},
    {"regex"},
    {"ebnf"},
    {"grammar", "[\"\"]"},
    {"tools", "[[]]"},
});
constexpr std::array kRefused = Joined(kOwnRefused, kSamplingRefused);

}  // namespace

constinit const FieldTable kChunkedFields = {
    .name = "ChunkedRequest",
    .description =
        "A system prompt, chunks that do not see each other, and questions that see all.",
    .fields = kFields,
    .refused = kRefused,
};

}  // namespace scorecast::coordinator
