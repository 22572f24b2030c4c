// Arbitrary bytes as a tokenizer.json: it loads, or a StartupError says why not. A tokenizer that
// loads can encode and decode.

#include <cstdint>
#include <string>
#include <string_view>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/tokenizer_json.h"
#include "coordinator/text/typed_tokens.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/error.h"

namespace {

using namespace scorecast;

constexpr auto kLongestFirst = coordinator::Truncation::Strategy::kLongestFirst;
constexpr std::string_view kText =
    "It's  a1 22 333\r\n\n\t café e\u0301 日本語🎉 <|im_end|> x<l> <r>  word--two \u180e\u3000~";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const nlohmann::json document = coordinator::ParseJsonFile(bytes, "tokenizer.json");
    const coordinator::TokenizerConfig config;
    const auto tokenizer = coordinator::ReadTokenizerJson(document, config, "tokenizer.json");
    const std::string repeated(300, ' ');
    for (const std::string_view text : {kText, std::string_view(repeated), std::string_view()}) {
      for (const auto special_tokens :
           {coordinator::SpecialTokensInText::kAllow, coordinator::SpecialTokensInText::kEscape}) {
        const auto ids = tokenizer->EncodeWithAdded(text, {.special_tokens = special_tokens});
        for (const auto id : ids) {
          if (id < 0 || id >= tokenizer->vocab_size()) {
            __builtin_trap();
          }
        }
        const auto pair =
            coordinator::EncodeTyped(*tokenizer, text, kText,
                                     {.truncation = {.max_length = 20, .strategy = kLongestFirst},
                                      .special_tokens = special_tokens});
        if (pair.has_value() && (pair->ids.size() > 20 || pair->types.size() != pair->ids.size())) {
          __builtin_trap();
        }
        if (!coordinator::IsValidUtf8(tokenizer->Decode(ids))) {
          __builtin_trap();
        }
      }
    }
  } catch (const proto::StartupError&) {
  }
  return 0;
}
