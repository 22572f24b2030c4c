// Arbitrary bytes as a tokenizer_config.json and, behind a zero byte, a vocab.txt: they make a
// tokenizer, or a StartupError says why not.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/sentence_bert_config.h"
#include "coordinator/text/files/vocab_txt.h"
#include "coordinator/text/tokenizer_json.h"
#include "coordinator/text/typed_tokens.h"
#include "proto/base/error.h"

namespace {

using namespace scorecast;

constexpr std::string_view kText = "It's  a café e\u0301 日本語🎉 [MASK] [cls]word--two \u3000~";

void Encode(const nlohmann::json& document) {
  const auto tokenizer = coordinator::ReadTokenizerJson(document, {}, "vocab.txt");
  const auto pair = coordinator::EncodeTyped(*tokenizer, kText, "");
  if (!pair.has_value() || pair->types.size() != pair->ids.size()) {
    __builtin_trap();
  }
  for (const auto id : pair->ids) {
    if (id < 0 || id >= tokenizer->vocab_size()) {
      __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(bytes.find('\0'), size);
  try {
    const nlohmann::json config =
        coordinator::ParseJsonFile(bytes.substr(0, end), "tokenizer_config.json");
    const nlohmann::json map = nlohmann::json::object();
    nlohmann::json document = coordinator::TokenizerJsonOfVocabTxt(
        bytes.substr(std::min(end + 1, size)), "vocab.txt",
        coordinator::JsonCursor(config, "tokenizer_config.json"),
        coordinator::JsonCursor(map, "special_tokens_map.json"));
    Encode(document);
    coordinator::PutLowercaseFirst(document);
    Encode(document);
  } catch (const proto::StartupError&) {
  }
  return 0;
}
