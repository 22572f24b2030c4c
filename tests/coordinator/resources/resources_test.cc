#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/request/request_error.h"
#include "coordinator/rerank/reranker.h"
#include "coordinator/resources/model_resources.h"
#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {
namespace resources_test {

using nlohmann::json;

class Resources : public testing::Test {
 protected:
  Resources() {
    config_.max_position_embeddings = 512;
    options_.model_name = "served";
    options_.no_reranker_reason = "no tokenizer";
  }

  ServiceFacts facts() const {
    return {.config = config_,
            .options = options_,
            .dtype = "bf16",
            .version = "1.2.3",
            .max_queue = 1024,
            .max_batch_tokens = 8192,
            .tokenizing_threads = 2,
            .created = 1'790'000'000};
  }

  proto::ModelConfig config_;
  ServerOptions options_;
};

TEST_F(Resources, ModelsIsOpenAisList) {
  const Resource resource = ModelsResource(facts());
  EXPECT_EQ(resource.path, "/v1/models");
  const json body = json::parse(resource.get()->body);
  EXPECT_EQ(body["object"], "list");
  ASSERT_EQ(body["data"].size(), 1u);
  const json& model = body["data"][0];
  EXPECT_EQ(model["id"], "served");
  EXPECT_EQ(model["object"], "model");
  EXPECT_EQ(model["max_model_len"], 512);
  EXPECT_EQ(model["created"], 1'790'000'000);
  EXPECT_EQ(model["rerank_template"], json::parse(R"({"name":null,"reason":"no tokenizer"})"));
}

TEST_F(Resources, ModelsIsAlsoTheListOfSystemOne) {
  options_.no_decider_reason = "no template";
  const json body = json::parse(ModelsResource(facts()).get()->body);
  EXPECT_EQ(body["data"][0]["decision_template"],
            json::parse(R"({"name":null,"reason":"no template"})"));
  ASSERT_EQ(body["models"].size(), 1u);
  const json& model = body["models"][0];
  EXPECT_EQ(model["name"], "served");
  EXPECT_EQ(model["description"], "no template");
  EXPECT_EQ(model["release_date"].get<std::string>(), "2026-09-21T14:13:20Z");
}

TEST_F(Resources, AModelIsThatOfTheListAndOthersAreNotFound) {
  options_.model_name = "org/name";
  const Resource resource = ModelResource(facts());
  EXPECT_EQ(resource.path, "/v1/models/{id}");
  const SharedContent content = resource.get_by_id("org/name");
  EXPECT_EQ(content->status, 200);
  EXPECT_EQ(json::parse(content->body),
            json::parse(ModelsResource(facts()).get()->body)["data"][0]);
  for (const char* other : {"name", "org", "org/name/x", "ORG/NAME"}) {
    const SharedContent none = resource.get_by_id(other);
    EXPECT_EQ(none->status, 404);
    const json error = json::parse(none->body)["error"];
    EXPECT_EQ(error["type"], "invalid_request_error");
    EXPECT_EQ(error["param"], "model");
    EXPECT_EQ(error["code"], "model_not_found");
    EXPECT_EQ(error["message"], NoSuchModel(other, "org/name").message);
  }
}

TEST_F(Resources, AModelHasTheTypeAndAbilitiesThatXinferenceKnows) {
  const auto model = [&] { return json::parse(ModelResource(facts()).get_by_id("served")->body); };
  EXPECT_EQ(model()["model_type"], "LLM");
  EXPECT_EQ(model()["model_ability"], json::parse(R"(["generate"])"));
  EXPECT_EQ(model()["model_name"], "served");
  EXPECT_EQ(model()["context_length"], 512);
  config_.num_labels = 1;
  EXPECT_EQ(model()["model_type"], "rerank");
  EXPECT_EQ(model()["model_ability"], json::parse(R"(["rerank"])"));
  config_.num_labels = 0;
  config_.read_head.emplace();
  config_.read_head->output_size = 16;
  EXPECT_EQ(model()["model_type"], "embedding");
  EXPECT_EQ(model()["model_ability"], json::parse(R"(["embed"])"));
  options_.reranker = std::make_shared<const Reranker>(
      Reranker::Parts{.name = "cosine", .reason = "a test"});
  EXPECT_EQ(model()["model_type"], "embedding");
  EXPECT_EQ(model()["model_ability"], json::parse(R"(["embed","rerank"])"));
  EXPECT_EQ(model()["rerank_template"], json::parse(R"({"name":"cosine","reason":"a test"})"));
  EXPECT_EQ(model()["dimensions"], 16);
}

TEST_F(Resources, ModelsNamesTheChatTemplate) {
  options_.no_chat_reason = "no template";
  const auto named = [&] {
    return json::parse(ModelsResource(facts()).get()->body)["data"][0]["chat_template"];
  };
  EXPECT_EQ(named(), json::parse(R"({"name":null,"reason":"no template"})"));
  const FakeTokenizer tokenizer({});
  options_.chat = std::make_shared<const ChatPrompts>(
      ChatTemplate::Parse("{{ messages[0].content }}", {}).value(), tokenizer, "FILE", "REASON");
  EXPECT_EQ(named(), json::parse(R"({"name":"FILE","reason":"REASON"})"));
}

TEST_F(Resources, InfoIsTeis) {
  const Resource resource = InfoResource(facts());
  EXPECT_EQ(resource.path, "/info");
  EXPECT_EQ(json::parse(resource.get()->body), json::parse(R"({
      "model_id":"served","model_sha":null,"model_dtype":"bfloat16","model_type":{"causal_lm":{}},
      "max_concurrent_requests":1024,"max_input_length":512,"max_batch_tokens":8192,
      "max_batch_requests":null,"max_client_batch_size":128,"auto_truncate":false,
      "tokenization_workers":2,"version":"1.2.3","sha":null,"docker_label":null})"));
  config_.num_labels = 3;
  EXPECT_EQ(json::parse(InfoResource(facts()).get()->body)["model_type"],
            json::parse(R"({"classifier":{}})"));
}

TEST(TokenizerInfo, IsTheConfigurationWithTheChatTemplate) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) /
      ("scorecast-tokenizer-info-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  EXPECT_EQ(TokenizerInfoResource(directory).get()->status, 404);
  std::ofstream(directory / "tokenizer_config.json")
      << R"({"tokenizer_class":"Qwen2Tokenizer","model_max_length":131072})";
  std::ofstream(directory / "chat_template.jinja") << "{{ messages }}";
  const SharedContent content = TokenizerInfoResource(directory).get();
  EXPECT_EQ(content->status, 200);
  EXPECT_EQ(json::parse(content->body),
            json::parse(R"({"tokenizer_class":"Qwen2Tokenizer","model_max_length":131072,)"
                        R"("chat_template":"{{ messages }}"})"));
  std::filesystem::remove_all(directory);
}

TEST(TokenizerInfo, SpellsTokensThatAreObjectsInTheFile) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) /
      ("scorecast-tokenizer-info-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  std::ofstream(directory / "tokenizer_config.json") << R"({
      "eos_token":{"__type":"AddedToken","content":"</s>","lstrip":false},"bos_token":"<s>",
      "additional_special_tokens":[{"content":"<|a|>"},"<|b|>"],"pad_token":null,
      "added_tokens_decoder":{"2":{"content":"</s>","special":true}}})";
  EXPECT_EQ(json::parse(TokenizerInfoResource(directory).get()->body), json::parse(R"({
      "eos_token":"</s>","bos_token":"<s>",
      "additional_special_tokens":["<|a|>","<|b|>"],"pad_token":null,
      "added_tokens_decoder":{"2":{"content":"</s>","special":true}}})"));
  std::filesystem::remove_all(directory);
}

}  // namespace resources_test
}  // namespace scorecast::coordinator
