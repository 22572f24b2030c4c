#include "coordinator/text/files/read_unigram_model.h"

#include <cstdint>
#include <string>
#include <utility>

namespace scorecast::coordinator {
namespace {

using proto::TokenId;

UnigramModel::Token ReadScoredToken(const JsonCursor& entry) {
  const nlohmann::json& value = entry.value();
  if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_number()) {
    entry.Fail("not a pair [text, score]");
  }
  return {value[0].get<std::string>(), value[1].get<double>()};
}

}  // namespace

ReadModel ReadUnigramModel(const JsonCursor& model) {
  UnigramModel::Data data;
  IdBySpelling ids;
  const JsonCursor vocabulary = model.At("vocab");
  vocabulary.ForEachElement([&](const JsonCursor& entry) {
    const auto id = static_cast<TokenId>(data.tokens.size());
    if (id > kMaxTokenId) {
      vocabulary.Fail("more than " + std::to_string(kMaxTokenId + 1) + " tokens");
    }
    data.tokens.push_back(ReadScoredToken(entry));
    ids[entry.value()[0].get_ref<const std::string&>()] = id;
  });
  if (data.tokens.empty()) {
    vocabulary.Fail("empty");
  }
  data.unknown = static_cast<TokenId>(
      model.At("unk_id").Integer(0, static_cast<std::int64_t>(data.tokens.size()) - 1));
  const bool byte_fallback = model.Flag("byte_fallback", false);
  if (byte_fallback) {
    data.fallback = FallbackTokens(ids);
  }
  return {.model = UnigramModel(data),
          .kind = byte_fallback ? "Unigram with byte fallback" : "Unigram",
          .ids = std::move(ids)};
}

}  // namespace scorecast::coordinator
