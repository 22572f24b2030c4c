// Which template a model directory asks for: the files of each known family, and mixes of them.

#include "coordinator/rerank/reranker.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/chat/text_messages.h"
#include "proto/base/error.h"
#include "tests/reference/directories.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace reranker_test {

using ::testing::HasSubstr;
using Json = nlohmann::json;

const std::filesystem::path kGolden =
    std::filesystem::path(reference::kTestsDirectory) / "golden" / "rerank";

const std::string kChatTurns =
    "{%- set q = (messages | selectattr('role', 'eq', 'query') | first).content -%}"
    "{%- set d = (messages | selectattr('role', 'eq', 'document') | first).content -%}"
    "{{- '<|im_start|>system\\n' + q + '<|im_end|>\\n<|im_start|>user\\n' + d + '<|im_end|>\\n' -}}"
    "{{- '<|im_start|>assistant\\n' -}}";
const std::string kOrdinary =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>\\n' }}{% endfor %}";
const std::string kJudge =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n<Instruct>: {{ messages[0]['system'] }}\n<Query>: {{ messages[1]['query'] }}"
    "\n<Document>: {{ messages[2]['document'] }}<|im_end|>\n<|im_start|>assistant\n<think>\n\n"
    "</think>\n\n";

/// A model directory.
class Rerankers : public testing::Test {
 protected:
  /// `tokenizer` is that of tests/golden/rerank.
  void SetUpModel(const std::string& name, const std::string& model_type,
                  const std::string& tokenizer = "chat") {
    dir_ = root_.path() / name;
    std::filesystem::create_directories(dir_);
    for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) {
      std::filesystem::copy_file(kGolden / tokenizer / file, dir_ / file,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    config_.model_type = model_type;
    tokenizer_ = LoadTokenizer(dir_);
    config_.vocab_size = tokenizer_->vocab_size();
  }

  void Write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((dir_ / file).parent_path());
    std::ofstream(dir_ / file) << text;
  }

  void WriteLogitScore(const std::string& true_token, const std::string& false_token = "",
                       const std::string& path = "1_LogitScore") {
    Write("modules.json",
          Json({{{"idx", 0},
                 {"path", ""},
                 {"type", "sentence_transformers.base.modules.transformer.Transformer"}},
                {{"idx", 1},
                 {"path", path},
                 {"type", "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"}}})
              .dump());
    Json ids = {{"true_token_id", Id(true_token)}, {"false_token_id", nullptr}};
    if (!false_token.empty()) {
      ids["false_token_id"] = Id(false_token);
    }
    Write(path + "/config.json", ids.dump());
  }

  void WriteActivation(const std::string& activation) {
    Write("config_sentence_transformers.json",
          Json({{"activation_fn", activation}, {"prompts", Json::object()}}).dump());
  }

  TokenId Id(const std::string& label) const { return tokenizer_->SingleToken(label).value(); }

  LoadedReranker Load(const std::string& flag = "") {
    return LoadReranker(dir_, flag, config_, tokenizer_.get(),
                        LoadChatPrompts(dir_, {}, tokenizer_.get()));
  }

  std::string Name(const std::string& flag = "") {
    const LoadedReranker loaded = Load(flag);
    return loaded.reranker ? loaded.reranker->name() : "off: " + loaded.no_reranker_reason;
  }

  std::string Fault(const std::string& flag = "") {
    try {
      Load(flag);
    } catch (const proto::StartupError& error) {
      return error.what();
    }
    return "none";
  }

  reference::TempDirectory root_;
  std::filesystem::path dir_;
  proto::ModelConfig config_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(Rerankers, KnowTheirTemplatesControlTokensInTexts) {
  SetUpModel("qwen3-reranker", "qwen3");
  const LoadedReranker loaded = Load();
  ASSERT_TRUE(loaded.reranker);
  const TemplateTokens& prompt = loaded.reranker->prompt();
  const auto found = [&](const std::string& text) {
    const std::string* token = prompt.ControlTokenIn(text);
    return token == nullptr ? "none" : *token;
  };
  EXPECT_EQ(found("<Document>: a<|im_end|>\n"), "<|im_end|>");
  EXPECT_EQ(found("a <think>"), "<think>");
  EXPECT_EQ(found("a <b> |im_end|> <Document>: <|im_"), "none");
  EXPECT_EQ(found("<|endoftext|>"), "none") << "it is a control token, but not the template's";
}

TEST_F(Rerankers, LogitScoresLabelsTellTheTemplate) {
  SetUpModel("a1b2c3", "qwen3");
  WriteLogitScore("yes", "no");
  const LoadedReranker loaded = Load();
  ASSERT_TRUE(loaded.reranker);
  EXPECT_EQ(loaded.reranker->name(), "qwen3-reranker");
  EXPECT_EQ(loaded.reranker->reason(), "1_LogitScore/config.json has its labels");
  EXPECT_EQ(loaded.reranker->FormulaText(), "sigmoid(true - false)");
  EXPECT_EQ(loaded.reranker->labels(), (proto::LabelList{Id("yes"), Id("no")}));
  EXPECT_FALSE(loaded.reranker->is_guess());
  EXPECT_TRUE(loaded.reranker->is_probability());
  EXPECT_THAT(loaded.reranker->default_instruction(), HasSubstr("Given a web search query"));
  WriteLogitScore("Yes");
  EXPECT_EQ(Name(), "zerank");
  config_.model_type = "qwen2";
  WriteLogitScore("1", "0");
  EXPECT_EQ(Name(), "mxbai-rerank-v2");
}

TEST_F(Rerankers, LogitScoreOfGemma) {
  SetUpModel("a1b2c3", "gemma", "gemma");
  WriteLogitScore("Yes");
  EXPECT_EQ(Name(), "bge-reranker-v2-gemma");
}

TEST_F(Rerankers, ContextualsLabelIsIdZero) {
  SetUpModel("a1b2c3", "qwen3");
  WriteLogitScore("!");  // The first token of such vocabularies.
  Write("1_LogitScore/config.json", R"({"true_token_id": 0, "false_token_id": null})");
  EXPECT_EQ(Name(), "contextual-rerank-v2");
  EXPECT_TRUE(Load().reranker->is_document_first());
}

TEST_F(Rerankers, TheActivationWinsOverTheFormula) {
  SetUpModel("zerank-2", "qwen3");
  WriteLogitScore("Yes");
  Write("chat_template.jinja", kChatTurns);
  EXPECT_EQ(Load().reranker->FormulaText(), "sigmoid(true / 5)");
  WriteActivation("torch.nn.modules.linear.Identity");
  EXPECT_EQ(Name(), "zerank");
  EXPECT_EQ(Load().reranker->FormulaText(), "true");
  EXPECT_FALSE(Load().reranker->is_probability());
  EXPECT_THAT(Load().reranker->reason(),
              HasSubstr("Identity says config_sentence_transformers.json"));
  WriteActivation("torch.nn.modules.activation.Sigmoid");
  EXPECT_EQ(Load().reranker->FormulaText(), "sigmoid(true)");
  WriteActivation("torch.nn.modules.activation.Softmax");
  EXPECT_THAT(Name(), HasSubstr("off: config_sentence_transformers.json: the activation"));
  EXPECT_EQ(Load("zerank").reranker->FormulaText(), "sigmoid(true / 5)") << "the flag overrides";
}

TEST_F(Rerankers, TheActivationMayStandBesideTheLabels) {
  SetUpModel("a", "qwen3");
  WriteLogitScore("yes", "no");
  WriteActivation("torch.nn.modules.activation.Sigmoid");
  Write("1_LogitScore/config.json", Json({{"true_token_id", Id("yes")},
                                          {"false_token_id", Id("no")},
                                          {"activation_fn", "torch.nn.modules.linear.Identity"}})
                                        .dump());
  EXPECT_EQ(Load().reranker->FormulaText(), "true - false");
}

TEST_F(Rerankers, TheDefaultPromptIsTheInstruction) {
  SetUpModel("a", "qwen3");
  WriteLogitScore("yes", "no");
  Write("config_sentence_transformers.json",
        R"({"prompts": {"web": "Find it", "other": "No"}, "default_prompt_name": "web"})");
  EXPECT_EQ(Load().reranker->default_instruction(), "Find it");
}

TEST_F(Rerankers, AChatTemplateTellsTheTemplate) {
  SetUpModel("a1b2c3", "qwen3");
  Write("chat_template.jinja", kJudge);
  EXPECT_EQ(Name(), "qwen3-reranker");
  Write("chat_template.jinja", kChatTurns);
  EXPECT_EQ(Name(), "zerank");
  std::filesystem::remove(dir_ / "chat_template.jinja");
  Write("tokenizer_config.json", Json({{"chat_template", kJudge}}).dump());
  EXPECT_EQ(Name(), "qwen3-reranker");
  Write("tokenizer_config.json", Json({{"chat_template",
                                        {{{"name", "default"}, {"template", kOrdinary}},
                                         {{"name", "rerank"}, {"template", kJudge}}}}})
                                     .dump());
  EXPECT_EQ(Name(), "qwen3-reranker");
}

TEST_F(Rerankers, AnUnknownRerankPromptTurnsRerankOff) {
  SetUpModel("qwen3-reranker", "qwen3");
  WriteLogitScore("yes", "no");
  Write("chat_template.jinja", kOrdinary);
  EXPECT_THAT(Name(), HasSubstr("is none that is built in: give --rerank-template"));
  Write("chat_template.jinja", kJudge + "Think.");
  EXPECT_THAT(Name(), HasSubstr("give --rerank-template"));
  EXPECT_EQ(Name("qwen3-reranker"), "qwen3-reranker");
  // Without LogitScore, a template with both roles is one for rerankers, too.
  std::filesystem::remove(dir_ / "modules.json");
  EXPECT_THAT(Name(), HasSubstr("give --rerank-template"));
  // An ordinary chat template says nothing.
  Write("chat_template.jinja", kOrdinary);
  EXPECT_EQ(Name(), "qwen3-reranker");
}

TEST_F(Rerankers, TheNameDecidesOnlyBetweenCandidates) {
  SetUpModel("Qwen3-Reranker-0.6B", "qwen3");
  EXPECT_EQ(Name(), "qwen3-reranker");
  EXPECT_THAT(Load().reranker->reason(), HasSubstr("the directory's name"));
  Write("chat_template.jinja", kChatTurns);
  EXPECT_EQ(Name(), "zerank") << "files say more than the name";
  std::filesystem::remove(dir_ / "chat_template.jinja");
  WriteLogitScore("Yes");
  EXPECT_EQ(Name(), "zerank") << "files say more than the name";
  std::filesystem::remove(dir_ / "modules.json");
  config_.model_type = "llama";
  EXPECT_EQ(Name(), "yes-no") << "another family";
}

TEST_F(Rerankers, TheNameNeedsTheVocabulary) {
  SetUpModel("mxbai-rerank-base-v2", "qwen2", "gemma");
  EXPECT_EQ(Name(), "yes-no");
  EXPECT_TRUE(Load().reranker->is_guess());
}

TEST_F(Rerankers, FamiliesByName) {
  for (const auto& [name, model_type, tokenizer, expected] :
       std::to_array<std::array<const char*, 4>>(
           {{"mxbai-rerank-large-v2", "qwen2", "chat", "mxbai-rerank-v2"},
            {"bge-reranker-v2-gemma", "gemma", "gemma", "bge-reranker-v2-gemma"},
            {"zerank-1-small", "qwen3", "chat", "zerank"},
            {"ctxl-rerank-v2-instruct-multilingual-2b", "qwen3", "chat", "contextual-rerank-v2"},
            {"models--Qwen--Qwen3-Reranker-4B/snapshots/0123abc", "qwen3", "chat",
             "qwen3-reranker"},
            {"snapshots/zerank-1", "qwen3", "chat", "qwen3-reranker"},
            {"snapshots/bge-reranker-v2-gemma", "gemma", "gemma", "yes-no"}})) {
    SetUpModel(name, model_type, tokenizer);
    EXPECT_EQ(Name(), expected) << name;
  }
}

TEST_F(Rerankers, OtherModelsGetThePlainTemplate) {
  SetUpModel("some-model", "llama");
  const LoadedReranker loaded = Load();
  ASSERT_TRUE(loaded.reranker);
  EXPECT_EQ(loaded.reranker->name(), "yes-no");
  EXPECT_TRUE(loaded.reranker->is_guess());
  EXPECT_EQ(loaded.reranker->labels(), (proto::LabelList{Id(" yes"), Id(" no")}));
}

// The files of Qwen3-Reranker as first published, but the model card.
TEST_F(Rerankers, AQwen3ModelThatMayBeARerankerGetsItsTemplate) {
  SetUpModel("f16fc5d5", "qwen3");
  Write("chat_template.jinja", kOrdinary);
  const LoadedReranker loaded = Load();
  ASSERT_TRUE(loaded.reranker);
  EXPECT_EQ(loaded.reranker->name(), "qwen3-reranker");
  EXPECT_TRUE(loaded.reranker->is_guess());
  EXPECT_EQ(loaded.reranker->reason(),
            "nothing says that the model is a reranker that is known, but qwen3 models with its "
            "vocabulary may be");
  SetUpModel("other-vocabulary", "qwen3", "gemma");
  EXPECT_EQ(Name(), "yes-no");
}

TEST_F(Rerankers, TheModelCardsTitleIsAName) {
  SetUpModel("f16fc5d5", "qwen3");
  Write("README.md", "---\nlicense: apache-2.0\n---\n# Qwen3-Reranker-0.6B\n\n## Highlights\n");
  EXPECT_EQ(Name(), "qwen3-reranker");
  EXPECT_FALSE(Load().reranker->is_guess());
  EXPECT_EQ(Load().reranker->reason(),
            "the model card's title (README.md), \"qwen3-reranker-0.6b\", and the vocabulary");
  Write("README.md", "# Releasing zerank-1\nBetter than Qwen3-Reranker.\n");
  EXPECT_EQ(Name(), "zerank");
  Write("chat_template.jinja", kJudge);
  EXPECT_EQ(Name(), "qwen3-reranker") << "files say more than a name";
  SetUpModel("qwen3-reranker-4b", "qwen3");
  Write("README.md", "# zerank-1\n");
  EXPECT_EQ(Name(), "qwen3-reranker") << "the directory's name first";
}

TEST_F(Rerankers, AHeadWithOneClassIsUsed) {
  SetUpModel("Qwen3-Reranker-0.6B-seq-cls", "qwen3");
  config_.num_labels = 1;
  const LoadedReranker loaded = Load();
  ASSERT_TRUE(loaded.reranker);
  EXPECT_EQ(loaded.reranker->name(), "qwen3-reranker");
  EXPECT_EQ(loaded.reranker->FormulaText(), "sigmoid(true)");
  EXPECT_EQ(loaded.reranker->labels(), proto::LabelList{0});
  Write("config.json", R"({"sentence_transformers":
      {"activation_fn": "torch.nn.modules.linear.Identity"}})");
  EXPECT_EQ(Load().reranker->FormulaText(), "true");
}

/// The members of a sentence_bert_config.json.
Json Module(const std::string& task, const std::string& output, bool has_message) {
  const Json forward = {{"method", "forward"}, {"method_output_name", "logits"}};
  Json config = {{"transformer_task", task},
                 {"modality_config", {{"text", forward}}},
                 {"module_output_name", output}};
  if (has_message) {
    config["modality_config"]["message"] = forward;
  }
  return config;
}

/// Directories of decoders as sentence-transformers saves its cross-encoders.
class CrossEncoders : public Rerankers {
 protected:
  void SetUpCrossEncoder(const std::string& name, bool has_message) {
    SetUpModel(name, "qwen3");
    config_.max_position_embeddings = 100;
    Write("modules.json",
          Json::array({{{"idx", 0},
                        {"path", ""},
                        {"type", "sentence_transformers.base.modules.transformer.Transformer"}}})
              .dump());
    WriteSettings();
    Write("sentence_bert_config.json",
          Module("sequence-classification", "scores", has_message).dump());
    config_.num_labels = 1;
  }
  void WriteSettings(const Json& more = Json::object()) {
    Json settings = {{"model_type", "CrossEncoder"}, {"prompts", Json::object()}};
    settings.update(more);
    Write("config_sentence_transformers.json", settings.dump());
  }
};

TEST_F(CrossEncoders, OfOneClassGetTheTokenizersPair) {
  SetUpCrossEncoder("Qwen3-Reranker-0.6B", /*has_message=*/false);
  Write("chat_template.jinja", kJudge);
  const LoadedReranker loaded = Load();
  ASSERT_TRUE(loaded.reranker);
  EXPECT_EQ(loaded.reranker->name(), kPairTemplate) << "neither name nor template count";
  EXPECT_TRUE(loaded.reranker->is_pair());
  EXPECT_EQ(loaded.reranker->messages(), nullptr);
  EXPECT_FALSE(loaded.reranker->is_guess());
  EXPECT_EQ(loaded.reranker->FormulaText(), "sigmoid(true)");
  EXPECT_EQ(loaded.reranker->labels(), proto::LabelList{0});
  EXPECT_EQ(loaded.reranker->max_pair_tokens(), 100);
  Write("tokenizer_config.json", R"({"model_max_length": 50})");
  EXPECT_EQ(Load().reranker->max_pair_tokens(), 50);
  EXPECT_EQ(Name("yes-no"), "yes-no");
  EXPECT_EQ(Name("qwen3-reranker"), "qwen3-reranker");
}

TEST_F(CrossEncoders, OfOneClassGetMessages) {
  SetUpCrossEncoder("a1b2c3", /*has_message=*/true);
  Write("chat_template.jinja", kChatTurns);
  const LoadedReranker loaded = Load();
  ASSERT_TRUE(loaded.reranker);
  EXPECT_EQ(loaded.reranker->name(), "chat_template.jinja");
  EXPECT_NE(loaded.reranker->messages(), nullptr);
  EXPECT_TRUE(loaded.reranker->is_pair());
  EXPECT_TRUE(loaded.reranker->takes_instruction());
  EXPECT_EQ(loaded.reranker->default_instruction(), "");
  WriteSettings({{"activation_fn", "torch.nn.modules.linear.Identity"},
                 {"prompts", {{"web", "Find it"}}},
                 {"default_prompt_name", "web"}});
  EXPECT_EQ(Load().reranker->default_instruction(), "Find it");
  EXPECT_EQ(Load().reranker->FormulaText(), "true");
  WriteSettings({{"default_prompt_name", "web"}});
  EXPECT_THAT(Fault(), HasSubstr("config_sentence_transformers.json: default_prompt_name: names no "
                                 "prompt"));
}

TEST_F(CrossEncoders, WhoseTemplateTakesNoPairsDoNotRerank) {
  SetUpCrossEncoder("a1b2c3", /*has_message=*/true);
  EXPECT_THAT(Name(),
              HasSubstr("modality_config.message: the model directory has no chat template"));
  Write("chat_template.jinja", "{{ messages[0].content }}");
  EXPECT_EQ(Name(),
            "off: chat_template.jinja renders no text of messages of the role document: "
            "give --rerank-template");
  EXPECT_EQ(Name("qwen3-reranker"), "qwen3-reranker");
  // A prompt that the name tells is none that sentence-transformers contradicts.
  SetUpCrossEncoder("Qwen3-Reranker-0.6B", /*has_message=*/true);
  Write("chat_template.jinja", "{{ messages[0].content }}");
  EXPECT_EQ(Name(), "qwen3-reranker");
}

TEST_F(CrossEncoders, BeforeModulesFollowTheirChatTemplate) {
  SetUpModel("Qwen3-Reranker-0.6B-seq-cls", "qwen3");
  config_.num_labels = 1;
  Write("config.json", R"({"sentence_transformers": {"version": "4.1.0"}})");
  EXPECT_EQ(Name(), kPairTemplate);
  Write("chat_template.jinja", kOrdinary);
  EXPECT_EQ(Name(), "chat_template.jinja");
  Write("chat_template.jinja", "{% include 'x' %}");
  EXPECT_EQ(Name(), "qwen3-reranker") << "told by the name";
}

// Nothing says what the prompt of such a classifier is, but sentence-transformers takes any.
TEST_F(CrossEncoders, MayBeAnyClassifierOfOneClass) {
  SetUpModel("f16fc5d5", "qwen3");
  config_.num_labels = 1;
  EXPECT_EQ(Name(), kPairTemplate);
  Write("chat_template.jinja", kOrdinary);
  EXPECT_EQ(Name(), "chat_template.jinja");
  Write("chat_template.jinja", kJudge);
  EXPECT_EQ(Name(), "qwen3-reranker") << "a chat template of the directory has its text";
}

TEST_F(CrossEncoders, WithALogitScoreGetMessages) {
  SetUpModel("qwen3-reranker", "qwen3");
  WriteLogitScore("no", "yes");  // Labels of no template.
  WriteSettings();
  Write("chat_template.jinja", kChatTurns + "Think.");
  EXPECT_THAT(Name(), HasSubstr("off: ")) << "an unknown prompt";
  Write("sentence_bert_config.json", Module("text-generation", "causal_logits", true).dump());
  const LoadedReranker loaded = Load();
  ASSERT_TRUE(loaded.reranker);
  EXPECT_EQ(loaded.reranker->name(), "chat_template.jinja");
  EXPECT_EQ(loaded.reranker->FormulaText(), "sigmoid(true - false)");
  EXPECT_EQ(loaded.reranker->labels(), (proto::LabelList{Id("no"), Id("yes")}));
  WriteLogitScore("yes");
  EXPECT_EQ(Load().reranker->FormulaText(), "sigmoid(true)");
  Write("sentence_bert_config.json", Module("text-generation", "causal_logits", false).dump());
  EXPECT_EQ(Name(), kPairTemplate);
}

TEST_F(Rerankers, AHeadWithSeveralClassesCannot) {
  SetUpModel("Qwen3-Reranker-0.6B", "qwen3");
  config_.num_labels = 3;
  EXPECT_EQ(Name(), "off: the classifier has 3 classes, and reranking needs exactly one");
  EXPECT_THAT(Fault("zerank"), HasSubstr("has 3 classes"));
}

TEST_F(Rerankers, AnEmbeddingModelComparesVectors) {
  SetUpModel("embedder", "qwen3");
  config_.read_head.emplace();
  const LoadedReranker loaded = Load();
  ASSERT_TRUE(loaded.reranker);
  EXPECT_EQ(loaded.reranker->name(), "cosine");
  EXPECT_EQ(loaded.reranker->reason(), "the model computes embeddings");
  EXPECT_EQ(loaded.reranker->FormulaText(), "cosine(query, document)");
  EXPECT_TRUE(loaded.reranker->compares_vectors());
  EXPECT_FALSE(loaded.reranker->is_pair() || loaded.reranker->takes_instruction() ||
               loaded.reranker->is_document_first() || loaded.reranker->is_guess());
  EXPECT_THAT(Fault("zerank"), HasSubstr("the model computes embeddings (--task generate"));
  tokenizer_ = nullptr;
  EXPECT_EQ(Name(), "off: the model directory has no tokenizer");
}

TEST_F(Rerankers, WithoutTokenizerThereIsNone) {
  SetUpModel("Qwen3-Reranker-0.6B", "qwen3");
  tokenizer_ = nullptr;
  EXPECT_EQ(Name(), "off: the model directory has no tokenizer");
  EXPECT_EQ(Fault("zerank"), "--rerank-template \"zerank\": the model directory has no tokenizer");
}

TEST_F(Rerankers, TheFlagOverridesEverything) {
  SetUpModel("Qwen3-Reranker-0.6B", "qwen3");
  WriteLogitScore("yes", "no");
  WriteActivation("torch.nn.modules.linear.Identity");
  EXPECT_EQ(Name("zerank"), "zerank");
  EXPECT_EQ(Load("zerank").reranker->FormulaText(), "sigmoid(true / 5)");
  EXPECT_EQ(Load("zerank").reranker->reason(), "--rerank-template");
  Write("mine.txt", "prompt: \"{query} {document}\"\ntrue: \"yes\"\nscore: true\n");
  EXPECT_EQ(Name((dir_ / "mine.txt").string()), "mine.txt");
}

TEST_F(Rerankers, ATemplateThatDoesNotSuitTheModelEndsTheStart) {
  SetUpModel("model", "gemma", "gemma");
  EXPECT_EQ(Fault("zerank"),
            "--rerank-template \"zerank\": the vocabulary has no token \"<|im_start|>\"");
  Write("mine.txt", "prompt: \"{query} {document}\"\ntrue: \"yes indeed\"\nscore: true\n");
  EXPECT_THAT(Fault((dir_ / "mine.txt").string()),
              HasSubstr("the label \"yes indeed\" is not a token of the vocabulary"));
  Write("mine.txt", "prompt: \"{query} {document}\"\ntrue: 99999999\nscore: true\n");
  EXPECT_THAT(Fault((dir_ / "mine.txt").string()), HasSubstr("the label id 99999999 is not"));
  Write("mine.txt", "prompt: \"{query}{document}\"\ntrue: 5\nfalse: 5\nscore: true - false\n");
  EXPECT_THAT(Fault((dir_ / "mine.txt").string()), HasSubstr("the labels are the same token, 5"));
}

TEST_F(Rerankers, LabelsOfNoTemplateTurnRerankOff) {
  SetUpModel("a1b2c3", "qwen3");
  WriteLogitScore("0", "yes");
  EXPECT_THAT(Name(), HasSubstr("off: 1_LogitScore/config.json has labels of no template"));
  WriteLogitScore("no", "yes");
  EXPECT_THAT(Name(), HasSubstr("has labels of no template")) << "the wrong way round";
}

TEST_F(Rerankers, MalformedFilesEndTheStart) {
  SetUpModel("a", "qwen3");
  WriteLogitScore("yes", "no");
  Write("1_LogitScore/config.json", R"({"true_token_id": "yes"})");
  EXPECT_THAT(Fault(), HasSubstr("1_LogitScore/config.json: true_token_id"));
  Write("1_LogitScore/config.json", R"({"true_token_id": 99999999})");
  EXPECT_THAT(Fault(), HasSubstr("1_LogitScore/config.json: true_token_id"));
  Write("1_LogitScore/config.json", R"({"true_token_id": 7, "false_token_id": 7})");
  EXPECT_THAT(Fault(), HasSubstr("is the same as true_token_id"));
  std::filesystem::remove(dir_ / "1_LogitScore" / "config.json");
  EXPECT_THAT(Fault(), HasSubstr("does not exist, but modules.json names its folder"));
  Write("modules.json", "{");
  EXPECT_THAT(Fault(), HasSubstr("modules.json"));
}

TEST_F(Rerankers, ModulesOfAnEmbeddingModelSayThatItIsNone) {
  SetUpModel("embedding", "qwen3");
  Write("modules.json",
        R"([{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
      {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  EXPECT_EQ(Name(), "yes-no");
}

/// A classifier of one class that reads whole texts.
class WholeTextRerankers : public Rerankers {
 protected:
  void SetUpClassifier(const std::string& model_type) {
    SetUpModel("classifier", model_type);
    config_.num_labels = 1;
    config_.read_head.emplace();
  }

  std::string Formula() { return Load().reranker->FormulaText(); }
};

TEST_F(WholeTextRerankers, GetPairs) {
  SetUpClassifier("bert");
  const LoadedReranker loaded = Load();
  ASSERT_NE(loaded.reranker, nullptr);
  EXPECT_EQ(loaded.reranker->name(), kPairTemplate);
  EXPECT_TRUE(loaded.reranker->is_pair());
  EXPECT_FALSE(loaded.reranker->is_guess());
  EXPECT_FALSE(loaded.reranker->takes_instruction());
  EXPECT_FALSE(loaded.reranker->is_document_first());
  EXPECT_EQ(Formula(), "sigmoid(true)");
  config_.num_labels = 3;
  EXPECT_EQ(Name(), "off: the classifier has 3 classes, and reranking needs exactly one");
}

// Whatever model reads the pair.
TEST_F(WholeTextRerankers, GetPairsIfModulesMakeTheScore) {
  for (const char* model_type : {"modernbert", "llama_bidirec", "qwen3", "gemma2"}) {
    SetUpClassifier(model_type);
    config_.read_head->steps = {
        {.weight = "linear.weight", .out_features = 1, .file = "2_Dense/model.safetensors"}};
    EXPECT_EQ(Name(), kPairTemplate) << model_type;
    EXPECT_EQ(Formula(), "sigmoid(true)") << model_type;
    EXPECT_FALSE(Load().reranker->is_guess());
  }
  WriteActivation("torch.nn.modules.linear.Identity");
  EXPECT_EQ(Formula(), "true");
}

TEST_F(WholeTextRerankers, FollowTheDirectorysActivation) {
  SetUpClassifier("bert");
  const std::string identity = "torch.nn.modules.linear.Identity";
  Write("config.json", Json({{"sbert_ce_default_activation_function", identity}}).dump());
  EXPECT_EQ(Formula(), "true");
  Write("config.json", Json({{"sentence_transformers", {{"activation_fn", identity}}}}).dump());
  EXPECT_EQ(Formula(), "true");
  WriteActivation("torch.nn.modules.activation.Sigmoid");
  EXPECT_EQ(Formula(), "sigmoid(true)") << "the newest file counts";
  WriteActivation("mine.Identity");
  EXPECT_EQ(Formula(), "sigmoid(true)") << "only PyTorch's functions are trusted";
  WriteActivation("torch.nn.modules.activation.Tanh");
  EXPECT_THAT(Name(), HasSubstr("\"torch.nn.modules.activation.Tanh\" is not supported"));
}

TEST_F(WholeTextRerankers, TheDefaultPromptIsTheInstruction) {
  SetUpClassifier("xlm-roberta");
  Write("config_sentence_transformers.json",
        R"({"prompts": {"query": "find: "}, "default_prompt_name": "query"})");
  const LoadedReranker loaded = Load();
  EXPECT_TRUE(loaded.reranker->takes_instruction());
  EXPECT_EQ(loaded.reranker->default_instruction(), "find: ");
}

TEST_F(WholeTextRerankers, SomeFamiliesAndFlagsHaveATemplate) {
  SetUpClassifier("llama_bidirec");
  EXPECT_EQ(Name(), "nemotron-rerank");
  EXPECT_EQ(Formula(), "sigmoid(true)");
  EXPECT_FALSE(Load().reranker->is_guess());
  SetUpClassifier("modernbert");
  Write("mine.txt", "prompt: \"{query} {document}\"\ntrue: 0\nscore: true\n");
  const LoadedReranker of_flag = Load((dir_ / "mine.txt").string());
  EXPECT_FALSE(of_flag.reranker->is_pair());
}

}  // namespace reranker_test
}  // namespace scorecast::coordinator
