#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/request/request_context.h"
#include "coordinator/request/values.h"
#include "coordinator/text/typed_tokens.h"
#include "proto/base/expected.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// What becomes of texts that are too long, as a request says it.
struct TextLength {
  std::int64_t max_tokens = EncodeLimits::kUnlimited;
  std::optional<Truncation::Side> cut;  ///< Absent: texts are not cut.
  std::string cut_field = "truncate";   ///< See CutHint.
  int too_long_code = 400;              ///< Of the error of a text that must not be cut.
};

/// The same, checked. `direction`: see SideOf. `max_tokens` is how many tokens the client wants to
/// keep of a text, -1 for the model's, or absent; if it is given, texts are cut in any case.
proto::Expected<TextLength> CheckLength(bool truncate, const std::optional<std::string>& direction,
                                        const RequestContext& context,
                                        std::optional<std::int64_t> max_tokens = std::nullopt);

/// A field that has a value if the request gives it.
template <typename Value>
std::optional<Value> Given(bool is_there, Value value) {
  return is_there ? std::optional(std::move(value)) : std::nullopt;
}

/// A text, or a pair of texts.
struct TextInput {
  TextOrIds first;
  std::optional<std::string_view> second;
};

/// Those of a list without pairs.
std::vector<TextInput> InputsOf(const std::vector<TextOrIds>& texts);

/// The texts of a request, each of which is computed by itself.
struct TextInputs {
  std::vector<TextInput> texts;
  std::string field;  ///< Their name in the request.
  TextLength length;
  /// The name of a prompt, and that of the field that gives it.
  std::optional<std::string> prompt_name;
  std::string prompt_field;
  std::optional<std::string> prompt;  ///< The text of a prompt. Not beside a name.
  bool reads_all_rows = false;        ///< Otherwise a text's rows are pooled.
  bool keeps_length = false;          ///< See proto::RowRead.
};

/// Upper bound on the rows of texts, for responses with the vectors of all rows. A text has at most
/// one token for each byte.
std::int64_t RowsBound(const std::vector<TextInput>& texts, const proto::ModelConfig& config);

struct TextSequences {
  std::vector<proto::PackedSequence> sequences;  ///< [texts]
  std::int64_t prompt_tokens = 0;                ///< See Usage.
};

/// Checks and tokenizes texts. To a text, its prompt and the tokens of the tokenizer's template are
/// added; ids are taken as they are. The rows of a text are pooled if the model does that,
/// otherwise the last one is read. Empty lists, texts and ids are a 400 "empty_input".
proto::Expected<TextSequences> MakeTextSequences(const TextInputs& inputs,
                                                 const RequestContext& context);

}  // namespace scorecast::coordinator
