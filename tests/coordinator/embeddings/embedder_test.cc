// What sentence-transformers' files and the flags say of an embedding model.

#include "coordinator/embeddings/embedder.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace embedder_test {

using ::testing::HasSubstr;

class EmbedderTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = directory_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Embedder Load(const std::vector<std::string>& flags = {}) const {
    return LoadEmbedder(directory_.path(), flags);
  }
  std::string FaultOf(const std::vector<std::string>& flags = {}) const {
    try {
      Load(flags);
    } catch (const proto::StartupError& error) {
      return error.what();
    }
    return "none";
  }
  /// The text of a prompt; "none" if there is none.
  static std::string TextOf(const EmbeddingPrompts::Prompt* prompt) {
    return prompt == nullptr ? "none" : prompt->text;
  }

  reference::TempDirectory directory_;
};

TEST_F(EmbedderTest, ADirectoryWithoutFilesHasNoPrompts) {
  const Embedder embedder = Load();
  EXPECT_TRUE(embedder.prompts.empty());
  EXPECT_EQ(embedder.prompts.Default(), nullptr);
  EXPECT_EQ(embedder.prompts.Find("query"), nullptr);
  EXPECT_TRUE(embedder.pools_prompt);
}

TEST_F(EmbedderTest, PromptsAreFoundByAllNamesOfTheirUse) {
  Write("config_sentence_transformers.json",
        R"({"prompts":{"query":"Q: ","passage":"P: ","STS":"S: "},"default_prompt_name":"STS"})");
  const Embedder embedder = Load();
  for (const char* name : {"query", "search_query", "retrieval.query"}) {
    EXPECT_EQ(TextOf(embedder.prompts.Find(name)), "Q: ") << name;
  }
  for (const char* name : {"document", "passage", "search_document", "retrieval.passage"}) {
    EXPECT_EQ(TextOf(embedder.prompts.Find(name)), "P: ") << name;
  }
  EXPECT_EQ(TextOf(embedder.prompts.Find("STS")), "S: ");
  EXPECT_EQ(TextOf(embedder.prompts.Find("sts")), "none");
  EXPECT_EQ(TextOf(embedder.prompts.Default()), "S: ");
}

TEST_F(EmbedderTest, ByItsOwnRuleSentenceTransformersHasAQueryAndADocument) {
  Write("config_sentence_transformers.json",
        R"({"prompts":{"search_query":"Q: ","passage":"P: "}})");
  const EmbeddingPrompts prompts = Load().prompts;
  EXPECT_EQ(prompts.FindOwn("query"), nullptr);
  EXPECT_EQ(prompts.FindOwn("document"), nullptr);
  EXPECT_EQ(TextOf(prompts.FindOwn("passage")), "P: ");
  EXPECT_EQ(TextOf(prompts.FindOwn("search_document")), "P: ");
}

TEST_F(EmbedderTest, ThePromptOfTheVeryNameCountsMore) {
  Write("config_sentence_transformers.json",
        R"({"prompts":{"document":"D: ","passage":"P: "},"default_prompt_name":null})");
  EXPECT_EQ(TextOf(Load().prompts.Find("passage")), "P: ");
  EXPECT_EQ(TextOf(Load().prompts.Find("search_document")), "D: ");
}

TEST_F(EmbedderTest, EmptyPromptsOfAQueryAndADocumentAreNone) {
  Write("config_sentence_transformers.json",
        R"({"prompts":{"query":"","document":""},"default_prompt_name":null})");
  EXPECT_TRUE(Load().prompts.empty());
}

// sentence-transformers has an empty prompt `query` and `document` for any model.
TEST_F(EmbedderTest, TheDefaultMayBeAQueryOrADocumentWithoutAPrompt) {
  const std::string name = "config_sentence_transformers.json";
  for (const char* prompts : {"{}", R"({"search_query":"Q: "})", R"({"query":null})"}) {
    Write(name, std::string(R"({"prompts":)") + prompts + R"(,"default_prompt_name":"query"})");
    EXPECT_EQ(Load().prompts.Default(), nullptr) << prompts;
  }
  Write(name, R"({"default_prompt_name":"document"})");
  EXPECT_EQ(Load().prompts.Default(), nullptr);
  EXPECT_EQ(TextOf(Load({"document=D: "}).prompts.Default()), "D: ");
  Write(name, R"({"prompts":{"passage":"P: "},"default_prompt_name":"search_query"})");
  EXPECT_THAT(FaultOf(), HasSubstr("default_prompt_name: names no prompt"));
}

TEST_F(EmbedderTest, TheSimilarityIsRead) {
  const std::string name = "config_sentence_transformers.json";
  EXPECT_EQ(Load().similarity, Similarity::kCosine);
  Write(name, R"({"similarity_fn_name":null})");
  EXPECT_EQ(Load().similarity, Similarity::kCosine);
  for (const Similarity one :
       {Similarity::kCosine, Similarity::kDot, Similarity::kEuclidean, Similarity::kManhattan}) {
    Write(name, R"({"similarity_fn_name":")" + std::string(NameOf(one)) + R"("})");
    EXPECT_EQ(Load().similarity, one) << NameOf(one);
  }
  Write(name, R"({"similarity_fn_name":"maxsim"})");
  EXPECT_THAT(FaultOf(), HasSubstr("similarity_fn_name: is \"maxsim\": supported are cosine, dot, "
                                   "euclidean, manhattan"));
}

// sentence-transformers makes an embedder of a CrossEncoder without reading what it is otherwise.
TEST_F(EmbedderTest, FilesOfAnotherClassDoNotCount) {
  Write("config_sentence_transformers.json",
        R"({"model_type":"CrossEncoder","prompts":{"query":"Q: "},"default_prompt_name":"query",
    "similarity_fn_name":"dot"})");
  Write("modules.json", R"([{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}])");
  Write("1_Pooling/config.json", R"({"include_prompt":false})");
  const Embedder embedder = Load({"title=T: "});
  EXPECT_EQ(embedder.prompts.all().size(), 1U);
  EXPECT_EQ(embedder.prompts.Default(), nullptr);
  EXPECT_EQ(embedder.similarity, Similarity::kCosine);
  EXPECT_TRUE(embedder.pools_prompt);
}

TEST_F(EmbedderTest, FlagsReplacePrompts) {
  Write("config_sentence_transformers.json", R"({"prompts":{"query":"Q: "}})");
  const Embedder embedder = Load({"query=a=b ", "title="});
  EXPECT_EQ(TextOf(embedder.prompts.Find("search_query")), "a=b ");
  EXPECT_EQ(TextOf(embedder.prompts.Find("title")), "");
  EXPECT_EQ(FaultOf({"query"}), "--prompt \"query\": it must be NAME=TEXT");
  EXPECT_EQ(FaultOf({"=text"}), "--prompt \"=text\": it must be NAME=TEXT");
}

TEST_F(EmbedderTest, WhetherPromptsArePooledIsRead) {
  Write("modules.json",
        R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
    {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}])");
  Write("1_Pooling/config.json", R"({"pooling_mode":"mean","include_prompt":false})");
  const Embedder embedder = Load();
  EXPECT_FALSE(embedder.pools_prompt);
}

TEST_F(EmbedderTest, AMalformedFileIsRefusedInOneLine) {
  const std::string name = "config_sentence_transformers.json";
  Write(name, R"({"prompts":{"query":1}})");
  EXPECT_THAT(FaultOf(), HasSubstr("query"));
  Write(name, R"({"prompts":{"query":"Q"},"default_prompt_name":"title"})");
  EXPECT_THAT(FaultOf(), HasSubstr("default_prompt_name: names no prompt"));
}

TEST(PromptNames, ClientsSendSomeToAnyModel) {
  EXPECT_TRUE(IsUsualPromptName("search_document", /*has_prompts=*/true));
  EXPECT_TRUE(IsUsualPromptName("classification", /*has_prompts=*/false));
  EXPECT_FALSE(IsUsualPromptName("classification", /*has_prompts=*/true));
  EXPECT_FALSE(IsUsualPromptName("other", /*has_prompts=*/false));
}

}  // namespace embedder_test
}  // namespace scorecast::coordinator
