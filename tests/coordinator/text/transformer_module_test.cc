// What sentence_bert_config.json says of texts, and what of it is refused.

#include "coordinator/text/files/transformer_module.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/text/files/sentence_bert_config.h"
#include "coordinator/text/files/tokenizer_config.h"
#include "proto/base/error.h"
#include "proto/model/model_keys.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace transformer_module_test {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const json kText = {{"method", "forward"}, {"method_output_name", "last_hidden_state"}};

/// A directory of modules.
class ModuleFile : public testing::Test {
 protected:
  ModuleFile() { Write("modules.json", json::array()); }

  void WriteText(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.path() / name) << text;
  }
  void Write(const std::string& name, const json& content) const {
    WriteText(name, content.dump());
  }
  /// Writes sentence_bert_config.json as version 6 does, with these members besides.
  void SetConfig(json more, const json& message = nullptr) const {
    json modalities = {{"text", kText}};
    if (!message.is_null()) {
      modalities["message"] = kText;
      modalities["message"].update(message);
    }
    json config = {{"transformer_task", "feature-extraction"},
                   {"modality_config", modalities},
                   {"module_output_name", "token_embeddings"}};
    config.update(more);
    Write("sentence_bert_config.json", config);
  }
  void SetArguments(const json& arguments, const json& message = nullptr) const {
    SetConfig({{"processing_kwargs", arguments}}, message);
  }

  TransformerModule Read() const { return ReadTransformerModule(directory_.path()); }
  std::int64_t Limit() const { return ReadTokenLimit(directory_.path(), 512); }

  /// The message without the file's directory; "none" if nothing is refused.
  std::string Fault() const {
    try {
      proto::CheckModelKeys(directory_.path(), "bert", /*has_modules=*/true, /*ignored=*/{});
      Read();
    } catch (const proto::StartupError& error) {
      const std::string text = error.what();
      return text.substr(text.find("sentence_bert"));
    }
    return "none";
  }

  const reference::TempDirectory directory_;
};

TEST_F(ModuleFile, SaysNothingByDefault) {
  const TransformerModule absent = Read();
  EXPECT_EQ(absent.origin, "");
  SetConfig(json::object());
  const TransformerModule module = Read();
  EXPECT_THAT(module.origin, EndsWith("sentence_bert_config.json"));
  for (const TransformerModule& one : {absent, module}) {
    EXPECT_EQ(one.task, "feature-extraction");
    EXPECT_FALSE(one.messages.has_value());
    EXPECT_TRUE(one.adds_tokens);
    EXPECT_EQ(one.truncation, "longest_first");
    EXPECT_EQ(one.max_length, std::nullopt);
    EXPECT_EQ(one.query_length, std::nullopt);
  }
}

TEST_F(ModuleFile, HasOtherNamesInOldDirectories) {
  Write("sentence_xlnet_config.json", {{"query_length", 7}});
  Write("sentence_bert_config.json", json::object());
  EXPECT_EQ(Read().query_length, 7) << "an empty object does not count";
}

TEST_F(ModuleFile, DoesNotCountWithoutModules) {
  SetConfig({{"query_expansion", {{"strategy", "fixed"}}}, {"query_length", 7}});
  EXPECT_THAT(Fault(), HasSubstr("query_expansion"));
  std::filesystem::remove(directory_.path() / "modules.json");
  EXPECT_EQ(Read().query_length, std::nullopt);
}

TEST_F(ModuleFile, SaysThatTextsAreMessages) {
  SetConfig(json::object(), {{"format", "flat"}});
  EXPECT_EQ(Read().messages->format, MessageRules::Format::kFlat);
  SetConfig(json::object(), {{"format", "structured"}});
  EXPECT_EQ(Read().messages->format, MessageRules::Format::kStructured);
  SetConfig(json::object(), json::object());
  EXPECT_EQ(Read().messages->format, MessageRules::Format::kAuto);
  SetConfig(json::object(), {{"format", "round"}});
  EXPECT_THAT(Fault(), HasSubstr("modality_config.message.format is \"round\": supported are"));
}

TEST_F(ModuleFile, SaysHowTheTokenizerIsCalled) {
  SetArguments({{"text", {{"add_special_tokens", false}, {"max_length", 56}}}});
  EXPECT_FALSE(Read().adds_tokens);
  EXPECT_EQ(Read().max_length, 56);
  // In `common` it counts more.
  SetArguments({{"text", {{"max_length", 56}}}, {"common", {{"max_length", 40}}}});
  EXPECT_EQ(Read().max_length, 40);
  for (const auto& [truncation, expected] :
       std::vector<std::pair<json, std::string>>{{true, "longest_first"},
                                                 {false, ""},
                                                 {nullptr, ""},
                                                 {"do_not_truncate", ""},
                                                 {"only_first", "only_first"},
                                                 {"only_second", "only_second"}}) {
    SetArguments({{"text", {{"truncation", truncation}}}});
    EXPECT_EQ(Read().truncation, expected) << truncation;
  }
  SetArguments({{"text", {{"truncation", nullptr}, {"padding", false}, {"max_length", 9}}}});
  EXPECT_EQ(Read().truncation, "longest_first") << "transformers' rule for a length alone";
}

TEST_F(ModuleFile, LengthsOfQueriesAndDocumentsGiveWayToTheCall) {
  const json lengths = {{"query_length", 24}, {"document_length", 64}};
  const auto set = [&](const json& text) {
    json more = lengths;
    more["processing_kwargs"]["text"] = text;
    SetConfig(more);
  };
  set({{"padding", "longest"}});
  EXPECT_EQ(Read().query_length, 24);
  EXPECT_EQ(Read().document_length, 64);
  for (const json& text :
       {json{{"max_length", 56}}, json{{"max_length", nullptr}}, json{{"truncation", false}}}) {
    set(text);
    EXPECT_EQ(Read().query_length, std::nullopt) << text;
    EXPECT_EQ(Read().document_length, std::nullopt) << text;
  }
}

TEST_F(ModuleFile, ArgumentsOfMessages) {
  const json flat = {{"format", "flat"}};
  SetArguments({{"text", {{"max_length", 56}}},
                {"chat_template", {{"max_length", 40}, {"add_generation_prompt", true}}},
                {"common", {{"max_length", 20}, {"unknown", 1}}}},
               flat);
  const TransformerModule module = Read();
  EXPECT_EQ(module.max_length, 40);
  EXPECT_TRUE(module.messages->add_generation_prompt);
  EXPECT_TRUE(module.messages->restores_suffix);
  EXPECT_THAT(module.messages->arguments, IsEmpty());
  SetArguments({{"common", {{"max_length", 20}}}}, flat);
  EXPECT_EQ(Read().max_length, 20);
  SetArguments({{"chat_template", {{"truncation", false}}}}, flat);
  EXPECT_EQ(Read().truncation, "");
  EXPECT_FALSE(Read().messages->restores_suffix);
  SetArguments({{"chat_template", {{"restore_suffix", false}}}}, flat);
  EXPECT_FALSE(Read().messages->restores_suffix);
  // Of plain texts they do not count.
  SetArguments({{"chat_template", {{"max_length", 40}}}});
  EXPECT_EQ(Read().max_length, std::nullopt);
}

TEST_F(ModuleFile, OtherArgumentsOfTemplatesAreVariables) {
  WriteText("sentence_bert_config.json", R"({
      "modality_config": {"message": {"method": "forward", "method_output_name": "last_hidden_state"}},
      "module_output_name": "token_embeddings",
      "processing_kwargs": {"chat_template": {"mood": {"z": 1, "a": [2.5]}, "none": null}}})");
  EXPECT_THAT(Read().messages->arguments,
              UnorderedElementsAre(Pair("mood", R"({"z":1,"a":[2.5]})"), Pair("none", "null")));
}

TEST_F(ModuleFile, ArgumentsThatChangeNoTokenAreTaken) {
  SetArguments({{"text",
                 {{"padding", "max_length"},
                  {"padding_side", "right"},
                  {"pad_to_multiple_of", 8},
                  {"stride", 0},
                  {"verbose", false},
                  {"logits_to_keep", 1},
                  {"return_tensors", "pt"},
                  {"return_attention_mask", true},
                  {"is_split_into_words", false},
                  {"return_token_type_ids", nullptr}}},
                {"image", {{"size", 1}}}});
  EXPECT_EQ(Fault(), "none");
}

// The tables of keys refuse what needs no other key: see tests/proto/model/model_keys_test.cc.
TEST_F(ModuleFile, WhatCannotBeFollowedTogetherIsRefusedByName) {
  const std::string file = "sentence_bert_config.json: ";
  const auto fault_of_argument = [&](const std::string& name, const json& value) {
    SetArguments({{"text", {{name, value}}}});
    return Fault();
  };
  const std::string in_text = file + "processing_kwargs.text";
  EXPECT_EQ(fault_of_argument("max_length", 0),
            in_text + ".max_length: 0 is not in 1 … 1099511627776");
  EXPECT_EQ(fault_of_argument("max_length", 1.5), in_text + ".max_length: not a whole number");
  EXPECT_EQ(fault_of_argument("add_special_tokens", nullptr),
            in_text + ": add_special_tokens: null is not supported");
  SetArguments({{"text", {{"padding", "max_length"}, {"padding_side", "left"}}}});
  EXPECT_THAT(Fault(), HasSubstr("padding: max_length is not supported with padding_side left"));

  const json flat = {{"format", "flat"}};
  SetArguments({{"text", {{"add_special_tokens", true}}}}, flat);
  EXPECT_EQ(Fault(), in_text + ": add_special_tokens is not supported where texts are messages");
  SetArguments(
      {{"chat_template", {{"add_generation_prompt", true}, {"continue_final_message", true}}}},
      flat);
  EXPECT_THAT(Fault(), HasSubstr("exclude each other"));

  for (const auto& [more, expected] : std::vector<std::pair<json, std::string>>{
           {{{"query_length", 0}}, "query_length: must be at least 1"},
           {{{"module_output_name", "scores"}},
            "module_output_name: \"scores\" is not supported (supported is token_embeddings)"},
           {{{"transformer_task", "text-generation"}},
            "modality_config.text.method_output_name: \"last_hidden_state\" is not supported "
            "(supported is logits)"},
           {{{"modality_config", json::object()}},
            "modality_config: has neither text nor message, so that the model takes no texts"}}) {
    SetConfig(more);
    EXPECT_EQ(Fault(), file + expected);
  }
  SetConfig({{"query_expansion", nullptr},
             {"tokenizer_name_or_path", nullptr},
             {"model_args", {{"attn_implementation", "sdpa"}}}});
  EXPECT_EQ(Fault(), "none");
}

// Such keys only get here if --ignore-config-key names them.
TEST_F(ModuleFile, KeysThatTheTablesRefuseDoNotCount) {
  SetConfig({{"query_expansion", {{"strategy", "fixed"}}},
             {"transformer_task", "fill-mask"},
             {"processor_kwargs", {{"vocab_file", "a"}, {"model_max_length", 9}}},
             {"processing_kwargs",
              {{"text", {{"truncation", "only_third"}, {"max_length", 5}}}, {"unknown", 1}}}});
  EXPECT_THAT(Fault(), HasSubstr("is "));
  const TransformerModule module = Read();
  EXPECT_EQ(module.task, "feature-extraction");
  EXPECT_EQ(module.truncation, "longest_first");
  EXPECT_EQ(module.max_length, 5);
  EXPECT_EQ(LoadSentenceBertConfig(directory_.path()).processor_kwargs,
            json({{"model_max_length", 9}}));
}

TEST_F(ModuleFile, SaysTheLimitOfTokens) {
  Write("tokenizer_config.json", {{"model_max_length", 256}});
  SetConfig(json::object());
  EXPECT_EQ(Limit(), 256);
  SetConfig({{"max_seq_length", 300}});
  EXPECT_EQ(Limit(), 300) << "more than the tokenizer's";
  SetConfig({{"max_seq_length", 300}, {"processor_kwargs", {{"model_max_length", 200}}}});
  EXPECT_EQ(Limit(), 200);
  SetConfig({{"max_seq_length", 300}, {"tokenizer_args", {{"model_max_length", 1e30}}}});
  EXPECT_EQ(Limit(), 512);
  SetConfig({{"max_seq_length", 300}, {"processing_kwargs", {{"text", {{"max_length", 400}}}}}});
  EXPECT_EQ(Limit(), 400);
  SetConfig({{"max_seq_length", 300}, {"processing_kwargs", {{"text", {{"max_length", 4000}}}}}});
  EXPECT_EQ(Limit(), 512) << "the model's positions";
  SetConfig({{"max_seq_length", 300}, {"processing_kwargs", {{"text", {{"truncation", false}}}}}});
  EXPECT_EQ(Limit(), 512);
}

TEST_F(ModuleFile, ArgumentsOfTheTokenizerReplaceMembersOfItsConfig) {
  Write("tokenizer_config.json", {{"chat_template", "old"}, {"add_prefix_space", false}});
  SetConfig({{"processor_kwargs", {{"chat_template", "new"}, {"use_fast", true}}}});
  const TokenizerConfig config = LoadTokenizerConfig(directory_.path());
  EXPECT_EQ(config.chat_templates, std::string("new\0", 4));
  EXPECT_EQ(config.add_prefix_space, false);
}

}  // namespace transformer_module_test
}  // namespace scorecast::coordinator
