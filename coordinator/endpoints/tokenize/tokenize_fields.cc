#include "coordinator/endpoints/tokenize/tokenize_fields.h"

#include <array>

namespace scorecast::coordinator {
namespace {

constexpr Field kAddSpecialTokens = {
    .name = "add_special_tokens",
    .type = FieldType::kBool,
    .description = "Whether what the tokenizer's own rule adds to a text is added: BOS, EOS.",
    .default_json = "true"};

constexpr std::array kPromptFields =
    Joined(std::to_array<Field>({
               {.name = "prompt",
                .type = FieldType::kString,
                .description = "The text.",
                .is_required = true},
               kAddSpecialTokens,
               {.name = "return_token_strs",
                .type = FieldType::kBool,
                .description = "Adds `token_strs`, the tokens as the vocabulary spells them.",
                .default_json = "false"},
           }),
           kOptionFields);

constexpr std::array kInputsFields = Joined(std::to_array<Field>({
                                                {.name = "inputs",
                                                 .type = FieldType::kStringOrStrings,
                                                 .description = "One text or several.",
                                                 .is_required = true},
                                                kAddSpecialTokens,
                                            }),
                                            kOptionFields);

constexpr std::array kTokensFields = Joined(std::to_array<Field>({
                                                {.name = "tokens",
                                                 .type = FieldType::kTokenIds,
                                                 .description = "The ids.",
                                                 .is_required = true,
                                                 .minimum = 0},
                                            }),
                                            kOptionFields);

constexpr std::array kIdsFields =
    Joined(std::to_array<Field>({
               {.name = "ids",
                .type = FieldType::kLabels,
                .description = "The ids of one text, or of several.",
                .is_required = true,
                .minimum = 0},
               {.name = "skip_special_tokens",
                .type = FieldType::kBool,
                .description = "Leaves out the special tokens, such as BOS.",
                .default_json = "true"},
           }),
           kOptionFields);

constexpr std::array kRefusedPrompt = std::to_array<RefusedField>({
    {"messages", "[]", "Chat templates are the client's: give prompt."},
    {"add_generation_prompt", "[false]"},
    {"continue_final_message", "[false]"},
    {"chat_template"},
    {"tools", "[[]]"},
});

constexpr std::array kRefusedInputs = std::to_array<RefusedField>({
    {"prompt", "[]", "A request with inputs has no prompt."},
    {"prompt_name", "[]", "Give the whole text in inputs."},
});

constexpr std::array kRefusedIds = std::to_array<RefusedField>({
    {"tokens", "[]", "A request with ids has no tokens."},
});

}  // namespace

constinit const FieldTable kTokenizePromptFields = {
    .name = "TokenizePromptRequest",
    .description = "The tokens of a text, as vLLM returns them.",
    .fields = kPromptFields,
    .refused = kRefusedPrompt,
};

constinit const FieldTable kTokenizeInputsFields = {
    .name = "TokenizeInputsRequest",
    .description = "The tokens of texts and their places, as TEI returns them.",
    .fields = kInputsFields,
    .refused = kRefusedInputs,
};

constinit const FieldTable kDetokenizeTokensFields = {
    .name = "DetokenizeTokensRequest",
    .description = "The text of token ids, as vLLM returns it.",
    .fields = kTokensFields,
};

constinit const FieldTable kDetokenizeIdsFields = {
    .name = "DetokenizeIdsRequest",
    .description = "The texts of lists of token ids, as TEI returns them.",
    .fields = kIdsFields,
    .refused = kRefusedIds,
};

}  // namespace scorecast::coordinator
