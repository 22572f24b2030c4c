#include "coordinator/text/files/read_model.h"

#include <optional>

#include "coordinator/text/files/read_bpe_model.h"
#include "coordinator/text/files/read_unigram_model.h"

namespace scorecast::coordinator {

ReadModel ReadTokenizerModel(const JsonCursor& model, bool is_byte_level) {
  const std::optional<JsonCursor> type = model.Find("type");
  if (type && type->String() == "Unigram") {
    if (is_byte_level) {
      type->Fail("Unigram after a ByteLevel pre-tokenizer is not supported");
    }
    return ReadUnigramModel(model);
  }
  // Files from before 2021 have no `type`; then a model with merges is taken for BPE.
  if (type ? type->String() != "BPE" : !model.Find("merges")) {
    model.Fail((type ? "type " + Quoted(type->String()) : "a model without merges") +
               " is not supported, only BPE and Unigram");
  }
  return ReadBpeModel(model, is_byte_level);
}

std::array<proto::TokenId, 256> FallbackTokens(const IdBySpelling& ids) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::array<proto::TokenId, 256> tokens{};
  for (std::size_t byte = 0; byte < tokens.size(); ++byte) {
    const std::string spelling = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
    const auto token = ids.find(spelling);
    tokens[byte] = token != ids.end() ? token->second : -1;
  }
  return tokens;
}

}  // namespace scorecast::coordinator
