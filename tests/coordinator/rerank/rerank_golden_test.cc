// The tokens of rerank prompts against those of transformers: tests/golden/make/rerank.py.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/rerank/rerank_prompts.h"
#include "coordinator/rerank/rerank_template.h"
#include "tests/coordinator/text/json_lines.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace rerank_golden_test {

using Ids = std::vector<TokenId>;
const std::filesystem::path kGolden =
    std::filesystem::path(reference::kTestsDirectory) / "golden" / "rerank";

Ids Joined(const Ids& a, const Ids& b) {
  Ids ids = a;
  ids.insert(ids.end(), b.begin(), b.end());
  return ids;
}

/// Compares all prompts of `name` with the tokens in `file`.
void Check(const std::string& name, const std::filesystem::path& tokenizer_dir,
           const std::string& file) {
  const std::unique_ptr<Tokenizer> tokenizer =
      LoadTokenizer(tokenizer_dir, ControlTokensOfTemplates({}));
  ASSERT_NE(tokenizer, nullptr);
  const proto::ModelConfig config = {.vocab_size = tokenizer->vocab_size()};
  const LoadedReranker loaded = LoadReranker(tokenizer_dir, name, config, tokenizer.get(), {});
  ASSERT_TRUE(loaded.reranker) << loaded.no_reranker_reason;
  const Reranker& reranker = *loaded.reranker;
  const std::vector<nlohmann::json> cases = ReadJsonLines(kGolden / "cases.jsonl");
  std::size_t at = 0;
  std::size_t alone = 0;
  for (const nlohmann::json& group : ReadJsonLines(kGolden / file)) {
    const std::string query = cases.at(at)["query"];
    const nlohmann::json& given = cases.at(at)["instruction"];
    const std::string instruction = given.is_null() ? "" : given.get<std::string>();
    const ItemPrompts prompts = RerankPrompts(reranker, query, instruction).value();
    for (const nlohmann::json& between : group["between"]) {
      const std::string document = cases.at(at++)["document"];
      SCOPED_TRACE(query + " | " + document);
      const Continuation prompt = prompts.Item(document).value();
      const Ids expected = Joined(Joined(group["prefix"].get<Ids>(), between.get<Ids>()),
                                  group["suffix"].get<Ids>());
      const Ids whole =
          Joined(prompt.is_whole ? Ids() : prompts.prefix(), Joined(prompt.head, prompt.ids));
      EXPECT_EQ(whole, expected);
      EXPECT_EQ(prompt.head.empty(), !reranker.is_document_first()) << document;
      alone += prompt.is_whole ? 1 : 0;
    }
  }
  EXPECT_EQ(at, 200u);
  EXPECT_EQ(alone, 0u) << "documents that do not share the prefix";
}

TEST(RerankGolden, Qwen3Reranker) {
  Check("qwen3-reranker", kGolden / "chat", "qwen3-reranker.jsonl");
}
TEST(RerankGolden, MxbaiRerankV2) {
  Check("mxbai-rerank-v2", kGolden / "chat", "mxbai-rerank-v2.jsonl");
}
TEST(RerankGolden, BgeRerankerV2Gemma) {
  Check("bge-reranker-v2-gemma", kGolden / "gemma", "bge-reranker-v2-gemma.jsonl");
}
TEST(RerankGolden, Zerank) { Check("zerank", kGolden / "chat", "zerank.jsonl"); }
TEST(RerankGolden, ContextualRerankV2) {
  Check("contextual-rerank-v2", kGolden / "chat", "contextual-rerank-v2.jsonl");
}

TEST(RerankGolden, Qwen3RerankerWithQwensVocabulary) {
  const std::filesystem::path model =
      std::filesystem::path(reference::kSharedDirectory) / "models" / "qwen3-tiny";
  if (!std::filesystem::exists(model)) {
    GTEST_SKIP() << "no reference data: " << model;
  }
  Check("qwen3-reranker", model, "model.jsonl");
}

}  // namespace rerank_golden_test
}  // namespace scorecast::coordinator
