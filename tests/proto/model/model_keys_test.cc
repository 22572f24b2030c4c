// What becomes of the keys of a directory's files when the model is loaded, and of bad files.

#include "proto/model/model_keys.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "proto/base/error.h"
#include "tests/proto/model/config_json.h"
#include "tests/proto/model/model_directory.h"

namespace scorecast::proto {
namespace model_keys_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kSentence[] = "sentence_bert_config.json";
constexpr char kTokenizer[] = "tokenizer_config.json";

/// The entry of a key; without one, the test fails.
KeyEntry EntryOf(const ModelDirectory& dir, const std::string& file, const std::string& key) {
  for (const FileKeys& keys : ReadModelKeys(dir.path())) {
    EXPECT_EQ(keys.fault, "");
    const auto entry = std::ranges::find(keys.entries, key, &KeyEntry::key);
    if (keys.file == file && entry != keys.entries.end()) {
      return *entry;
    }
  }
  ADD_FAILURE() << file << " has no " << key;
  return {};
}

TEST(ModelKeys, ClosedFilesRefuseUnknownKeys) {
  const ModelDirectory dir;
  dir.Write(kSentence, {{"max_seq_length", 40}, {"max_seq_lenght", 50}});
  EXPECT_EQ(dir.Fault(),
            "sentence_bert_config.json: max_seq_lenght is 50: sentence-transformers has no such "
            "key");
  dir.Write(kSentence, {{"processing_kwargs", {{"text", {{"max_lenght", 5}}}}}});
  EXPECT_THAT(dir.Fault(), HasSubstr("processing_kwargs.text.max_lenght is 5: not supported "
                                     "(supported are max_length, truncation, add_special_tokens"));
  dir.Remove(kSentence);
  dir.Write("1_Pooling/config.json", {{"embedding_dimension", 48}, {"pooling", "mean"}});
  EXPECT_EQ(dir.Fault(),
            "1_Pooling/config.json: pooling is \"mean\": sentence-transformers has no such key");
  dir.Write("1_Pooling/config.json", {{"embedding_dimension", 48}});
  Json modules = {
      {{"type", "sentence_transformers.models.Transformer"}, {"path", ""}},
      {{"type", "sentence_transformers.models.Pooling"}, {"path", "1_Pooling"}, {"args", {1}}}};
  dir.Write("modules.json", modules);
  EXPECT_EQ(dir.Fault(), "modules.json: [1].args is a list: sentence-transformers has no such key");
  modules[1].erase("args");
  modules[1]["kwargs"] = {"task"};
  dir.Write("modules.json", modules);
  EXPECT_THAT(dir.Fault(), StartsWith("modules.json: [1].kwargs is a list: "));
  modules[1]["kwargs"] = Json::array();
  dir.Write("modules.json", modules);
  EXPECT_NO_THROW(dir.Load());
}

TEST(ModelKeys, WithoutModulesTheSentenceConfigHasTwoKeys) {
  const ModelDirectory dir;
  dir.Write("sentence_bert_config.json", Json::object());
  dir.Write("sentence_roberta_config.json", {{"max_seq_length", 40}, {"query_expansion", {1}}});
  EXPECT_THAT(dir.Fault(), StartsWith("sentence_roberta_config.json: query_expansion is a list: "));
  dir.Remove("modules.json");
  EXPECT_NO_THROW(dir.Load());
  EXPECT_EQ(EntryOf(dir, "sentence_roberta_config.json", "max_seq_length").use, KeyUse::kFollowed);
  EXPECT_EQ(EntryOf(dir, "sentence_roberta_config.json", "query_expansion").use, KeyUse::kNoEffect);
}

TEST(ModelKeys, UnknownKeysOfOpenFilesAreReadByNobody) {
  const ModelDirectory dir;
  Json config = Llama();
  config["gradient_checkpointing"] = true;
  config["unsloth_fixed"] = true;
  config["auto_map"] = {{"AutoModel", "modeling.Own"}};
  dir.Write("config.json", config);
  dir.Write(kTokenizer, {{"truncation_side", "left"}, {"unknown", 1}});
  dir.Write("special_tokens_map.json", {{"pad_token", "<pad>"}, {"unknown", {1, 2}}});
  dir.Write("config_sentence_transformers.json", {{"prompts", Json::object()}, {"unknown", 1}});
  dir.Write("generation_config.json", {{"unknown", 1}});
  EXPECT_NO_THROW(dir.Load());
  for (const auto& [file, key] : std::vector<std::pair<std::string, std::string>>{
           {"config.json", "gradient_checkpointing"},
           {"config.json", "unsloth_fixed"},
           {"config.json", "auto_map"},
           {kTokenizer, "unknown"},
           {"special_tokens_map.json", "unknown"},
           {"config_sentence_transformers.json", "unknown"},
           {"generation_config.json", "unknown"}}) {
    EXPECT_EQ(EntryOf(dir, file, key).use, KeyUse::kUnread) << file << " " << key;
  }
  EXPECT_EQ(EntryOf(dir, kTokenizer, "truncation_side").use, KeyUse::kFollowed);
  EXPECT_EQ(EntryOf(dir, "modules.json", "[1].path").use, KeyUse::kFollowed);
  EXPECT_EQ(EntryOf(dir, "modules.json", "[0].idx").use, KeyUse::kNoEffect);
  EXPECT_EQ(EntryOf(dir, "1_Pooling/config.json", "pooling_mode").value, "\"mean\"");
}

struct Refusal {
  std::string file;
  Json content;
  std::string message;  ///< Behind the name of the file.
};

TEST(ModelKeys, KeysThatAreNotSupportedAreRefusedByName) {
  const Json image = {{"method", "forward"}, {"method_output_name", "last_hidden_state"}};
  const std::vector<Refusal> cases = {
      {kSentence,
       {{"query_expansion", {{"strategy", "fixed"}, {"length", 32}}}},
       "query_expansion is an object: multi-vector models are not supported"},
      {kSentence, {{"transformer_task", "fill-mask"}}, "transformer_task is \"fill-mask\": "},
      {kSentence,
       {{"module_output_name", "sentence_embedding"}},
       "module_output_name is \"sentence_embedding\": "},
      {kSentence,
       {{"modality_config", {{"text", {{"method", "forward"}, {"method_output_name", "x"}}}}}},
       "modality_config.text.method_output_name is \"x\": "},
      {kSentence,
       {{"modality_config", {{"image", image}}}},
       "modality_config.image is an object: only texts are supported"},
      {kSentence,
       {{"processing_kwargs", {{"text", {{"truncation", "only_third"}}}}}},
       "processing_kwargs.text.truncation is \"only_third\": not supported (supported: "
       "[null,true,"},
      {kSentence,
       {{"processing_kwargs", {{"text", {{"padding", nullptr}}}}}},
       "processing_kwargs.text.padding is null: "},
      {kSentence,
       {{"processing_kwargs", {{"text", {{"return_token_type_ids", false}}}}}},
       "processing_kwargs.text.return_token_type_ids is false: tokenizer_config.json says it"},
      {kSentence,
       {{"processing_kwargs", {{"common", {{"split_special_tokens", true}}}}}},
       "processing_kwargs.common.split_special_tokens is true: "},
      {kSentence,
       {{"processing_kwargs", {{"chat_template", {{"tools", Json::array()}}}}}},
       "processing_kwargs.chat_template.tools is []: not supported"},
      {kSentence,
       {{"processing_kwargs", {{"max_length", 5}}}},
       "processing_kwargs.max_length is 5: "},
      {kSentence,
       {{"config_args", {{"rope_theta", 7}}}},
       "config_args.rope_theta is 7: not supported: write it to config.json"},
      {kSentence,
       {{"tokenizer_args", {{"vocab_file", "a"}}}},
       "tokenizer_args.vocab_file is \"a\": not supported: write it to tokenizer_config.json"},
      {kSentence,
       {{"tokenizer_name_or_path", "bert"}},
       "tokenizer_name_or_path is \"bert\": the tokenizer must be in the model's directory"},
      {kSentence, {{"config_kwargs", {{"no_such_key", 1}}}}, "config_kwargs.no_such_key is 1: "},
      {kSentence,
       {{"tokenizer_args", {{"truncation_side", "up"}}}},
       "tokenizer_args.truncation_side is \"up\": "},
      {kSentence,
       {{"model_kwargs", {{"load_in_8bit", true}}}},
       "model_kwargs.load_in_8bit is true: not supported"},
      {kTokenizer, {{"fix_mistral_regex", true}}, "fix_mistral_regex is true: "},
      {kTokenizer,
       {{"truncation_side", "middle"}},
       "truncation_side is \"middle\": supported are \"left\" and \"right\""},
      {"special_tokens_map.json",
       {{"truncation_side", "left"}},
       "truncation_side is \"left\": it must be in tokenizer_config.json"},
      {"config_sentence_transformers.json",
       {{"model_type", "SparseEncoder"}},
       "model_type is \"SparseEncoder\": models that make sparse vectors (SPLADE) are not "
       "supported"},
      {"config_sentence_transformers.json",
       {{"skiplist_words", {","}}},
       "skiplist_words is a list: multi-vector (ColBERT) models are not supported"},
  };
  for (const Refusal& refusal : cases) {
    const ModelDirectory dir;
    dir.Write(refusal.file, refusal.content);
    EXPECT_THAT(dir.Fault(), StartsWith(refusal.file + ": " + refusal.message));
  }
}

TEST(ModelKeys, ValuesThatChangeNothingAreTaken) {
  const ModelDirectory dir;
  dir.Write(kSentence,
            {{"query_expansion", nullptr},
             {"unpad_inputs", true},
             {"modality_config",
              {{"text", {{"method", "forward"}, {"method_output_name", "last_hidden_state"}}}}},
             {"module_output_name", "token_embeddings"},
             {"processing_kwargs",
              {{"text", {{"padding", "longest"}, {"stride", 0}, {"max_length", 7}}}}},
             {"model_args", {{"attn_implementation", "sdpa"}, {"revision", "main"}}},
             {"tokenizer_args", {{"use_fast", true}, {"model_max_length", 9}}},
             {"config_args", {{"attention_dropout", 0.1}, {"token", nullptr}}}});
  dir.Write(kTokenizer, {{"padding_side", "left"}, {"fix_mistral_regex", false}});
  EXPECT_NO_THROW(dir.Load());
  EXPECT_EQ(EntryOf(dir, kSentence, "query_expansion").use, KeyUse::kNoEffect);
  EXPECT_EQ(EntryOf(dir, kSentence, "processing_kwargs.text.stride").why,
            "what is cut off is not computed");
  EXPECT_EQ(EntryOf(dir, kSentence, "processing_kwargs.text.max_length").use, KeyUse::kFollowed);
  EXPECT_EQ(EntryOf(dir, kSentence, "config_args.attention_dropout").use, KeyUse::kNoEffect);
  EXPECT_EQ(EntryOf(dir, kSentence, "tokenizer_args.model_max_length").use, KeyUse::kFollowed);
}

TEST(ModelKeys, ValuesOfAWrongTypeAreNamed) {
  const std::vector<Refusal> cases = {
      {kTokenizer, {{"truncation_side", 3}}, "truncation_side is 3: supported are"},
      {kTokenizer,
       {{"model_input_names", "input_ids"}},
       "model_input_names is \"input_ids\": it must be a list of strings"},
      {kTokenizer, {{"do_lower_case", "yes"}}, "do_lower_case is \"yes\": it must be true or"},
      {kTokenizer, {{"pad_token", 0}}, "pad_token is 0: it must be the text of a token"},
      {kTokenizer, {{"tokenizer_class", {1}}}, "tokenizer_class is a list: it must be a string"},
      {kSentence, {{"max_seq_length", "40"}}, "max_seq_length is \"40\": it must be a number"},
      {kSentence, {{"processing_kwargs", 3}}, "processing_kwargs is 3: it must be an object"},
      {kSentence, {{"do_lower_case", 1}}, "do_lower_case is 1: it must be true or false"},
      {"config_sentence_transformers.json",
       {{"prompts", "query"}},
       "prompts is \"query\": it must be an object"},
      {"config_sentence_transformers.json",
       {{"default_prompt_name", 2}},
       "default_prompt_name is 2: it must be a string"},
  };
  for (const Refusal& refusal : cases) {
    const ModelDirectory dir;
    dir.Write(refusal.file, refusal.content);
    EXPECT_THAT(dir.Fault(), StartsWith(refusal.file + ": " + refusal.message));
  }
}

TEST(ModelKeys, FilesThatAreMalformedAreNamed) {
  for (const std::string file :
       {kSentence, kTokenizer, "special_tokens_map.json", "added_tokens.json",
        "config_sentence_transformers.json", "generation_config.json", "1_Pooling/config.json",
        "modules.json", "chat_template.json", "adapter_config.json"}) {
    SCOPED_TRACE(file);
    const ModelDirectory dir;
    dir.WriteText(file, "");
    EXPECT_EQ(dir.Fault(), file + ": not valid JSON at byte 1");
    dir.WriteText(file, "{\"a\": [1, 2");
    EXPECT_THAT(dir.Fault(), StartsWith(file + ": not valid JSON at byte "));
    dir.WriteText(file, "3");
    EXPECT_THAT(dir.Fault(), StartsWith(file + ": not a JSON "));
    dir.Remove(file);
    std::filesystem::create_directory(dir.path() / file);
    EXPECT_EQ(dir.Fault(), file + ": not a regular file");
    dir.Remove(file);
    ASSERT_EQ(::mkfifo((dir.path() / file).c_str(), 0600), 0);
    EXPECT_EQ(dir.Fault(), file + ": not a regular file");
    dir.Remove(file);
    std::filesystem::create_symlink("absent", dir.path() / file);
    EXPECT_EQ(dir.Fault(), file + ": it is a link to a file that does not exist");
  }
}

TEST(ModelKeys, AFolderThatIsMissingIsNamed) {
  const ModelDirectory dir;
  dir.Remove("1_Pooling");
  EXPECT_EQ(dir.Fault(),
            "modules.json: [1].path is \"1_Pooling\": there is no file 1_Pooling/config.json");
  dir.Write("1_Pooling/config.json", {{"embedding_dimension", 48}});
  dir.SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Normalize", "2_Normalize"}});
  EXPECT_NO_THROW(dir.Load()) << "git keeps no empty folder, and Normalize needs no file";
  dir.SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}});
  EXPECT_EQ(dir.Fault(),
            "modules.json: [2].path is \"2_Dense\": there is no file 2_Dense/config.json");
}

TEST(ModelKeys, RefusalsMayBeOverridden) {
  const ModelDirectory dir;
  const auto expect_loaded = [&](const std::string& file, const std::string& key) {
    EXPECT_THAT(dir.Fault(), StartsWith(file + ": " + key + " is ")) << key;
    EXPECT_NO_THROW(dir.Load({{file, key}})) << key;
    EXPECT_EQ(EntryOf(dir, file, key).use, KeyUse::kRefused) << key;
  };
  dir.Write("config.json", With(Llama(), "logit_scale", 2));
  expect_loaded("config.json", "logit_scale");
  dir.Write("config.json", With(Llama(), "is_causal", false));
  expect_loaded("config.json", "is_causal");
  dir.Write("config.json", Llama());
  dir.Write(kSentence, {{"processing_kwargs", {{"text", {{"is_split_into_words", true}}}}}});
  expect_loaded(kSentence, "processing_kwargs.text.is_split_into_words");
  dir.Write(kSentence, {{"query_expansion", Json::object()}, {"unknown", 1}});
  EXPECT_THAT(dir.Fault({{kSentence, "query_expansion"}}), HasSubstr("unknown is 1"));
  EXPECT_NO_THROW(dir.Load({{kSentence, "query_expansion"}, {kSentence, "unknown"}}));
  dir.Remove(kSentence);
  dir.Write("1_Pooling/config.json", {{"embedding_dimension", 48}, {"unknown", 1}});
  expect_loaded("1_Pooling/config.json", "unknown");
}

TEST(ModelKeys, OnlyRefusalsMayBeOverridden) {
  const ModelDirectory dir;
  Json config = With(Llama(), "unsloth_fixed", true);
  config["attention_dropout"] = 0.1;
  config["alibi"] = false;
  dir.Write("config.json", config);
  for (const auto& [file, key, why] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"config.json", "num_experts", "the file has no such key"},
           {"config.json", "hidden_size", "the key is followed"},
           {"config.json", "attention_dropout", "the key has no effect: it is for training"},
           {"config.json", "alibi", "the key has no effect: this value changes nothing"},
           {"config.json", "unsloth_fixed", "nobody reads the key"},
           {"tokenizer_config.json", "legacy",
            "the model's directory has no file of this name whose keys are checked"},
           {"modules.json", "type", "the file has no such key"},
           {"modules.json", "[1].type", "the key is followed"}}) {
    EXPECT_EQ(dir.Fault({{file, key}}), "--ignore-config-key " + file + ":" + key + ": " + why);
  }
}

TEST(ModelKeys, AnIgnoredKeyIsAFileAndAKey) {
  EXPECT_EQ(IgnoredKeyFromText("1_Pooling/config.json:a:b"),
            (IgnoredKey{"1_Pooling/config.json", "a:b"}));
  for (const char* text : {"", ":", "config.json", "config.json:", ":alibi"}) {
    try {
      IgnoredKeyFromText(text);
      ADD_FAILURE() << "accepted " << text;
    } catch (const StartupError& fault) {
      EXPECT_THAT(fault.what(),
                  AllOf(StartsWith("--ignore-config-key \""), HasSubstr("it must be FILE:KEY")));
    }
  }
}

TEST(ModelKeys, TheGenerationConfigStopsNoStart) {
  const ModelDirectory dir;
  dir.SetModules({{"Transformer", ""}});
  dir.Write("generation_config.json", {{"num_beams", 4}, {"top_p", 7}, {"temperature", "hot"}});
  EXPECT_NO_THROW(dir.Load());
  EXPECT_EQ(EntryOf(dir, "generation_config.json", "num_beams").use, KeyUse::kRefused);
  EXPECT_EQ(EntryOf(dir, "generation_config.json", "top_p").use, KeyUse::kRefused);
  EXPECT_NO_THROW(dir.Load({{"generation_config.json", "num_beams"}}));
  EXPECT_THAT(dir.Fault({{"generation_config.json", "top_k"}}), HasSubstr("no such key"));
}

// Files that only say what a task does not need are not checked.
TEST(ModelKeys, ModulesCountOnlyIfTheyAreUsed) {
  const ModelDirectory dir;
  dir.Write("1_Pooling/config.json", {{"unknown", 1}});
  EXPECT_NO_THROW(LoadModelConfig(dir.path(), Task::kGenerate));
}

TEST(ModelKeys, OfUnknownFamiliesAndBrokenFilesAreFaults) {
  const ModelDirectory dir;
  dir.Write("config.json", {{"model_type", "gpt2"}, {"n_embd", 8}});
  dir.WriteText(kTokenizer, "{");
  const std::vector<FileKeys> files = ReadModelKeys(dir.path());
  ASSERT_GE(files.size(), 2U);
  EXPECT_EQ(files[0].file, "config.json");
  EXPECT_THAT(files[0].fault, HasSubstr("of no family"));
  EXPECT_EQ(files[1].file, kTokenizer);
  EXPECT_THAT(files[1].fault, HasSubstr("not valid JSON at byte 2"));
}

TEST(ModelKeys, ValuesAreShortened) {
  const ModelDirectory dir;
  Json config = Llama();
  config["long"] = std::string(500, 'x');
  config["lines"] = "a\nb";
  config["nested"] = {{"a", {1, 2}}, {"b", nullptr}};
  config["many"] = std::vector<int>(1000, 7);
  std::string text = config.dump();
  text.pop_back();
  dir.WriteText("config.json",
                text + ",\"deep\":" + std::string(10000, '[') + std::string(10000, ']') + "}");
  EXPECT_EQ(EntryOf(dir, "config.json", "long").value, "\"" + std::string(40, 'x') + "…\"");
  EXPECT_EQ(EntryOf(dir, "config.json", "lines").value, "\"a\\x0ab\"");
  EXPECT_EQ(EntryOf(dir, "config.json", "nested").value, "{a: a list, b: null}");
  EXPECT_THAT(EntryOf(dir, "config.json", "many").value, StartsWith("[7, 7, 7, "));
  EXPECT_LT(EntryOf(dir, "config.json", "many").value.size(), 60U);
  EXPECT_EQ(EntryOf(dir, "config.json", "deep").value, "[a list]");
}

}  // namespace model_keys_test
}  // namespace scorecast::proto
