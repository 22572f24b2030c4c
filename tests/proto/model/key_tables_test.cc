// Walks the tables of keys: each row is complete, refuses what it says, and is what the readers do.

#include "proto/model/key_tables.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/model/generation_config.h"
#include "proto/model/model_config.h"
#include "tests/proto/model/config_json.h"
#include "tests/proto/model/model_directory.h"

namespace scorecast::proto {
namespace key_tables_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Named {
  std::string name;
  const KeyTable* table;
};

/// Adds a table and all tables that its rows or its base name.
void AddTables(const std::string& name, const KeyTable& table, std::vector<Named>& tables) {
  if (std::ranges::find(tables, &table, &Named::table) != tables.end()) {
    return;
  }
  tables.push_back({name, &table});
  for (const KeyRow& row : table.rows) {
    if (row.members != nullptr) {
      AddTables(name + ": " + std::string(row.keys), *row.members, tables);
    }
  }
  if (table.base != nullptr) {
    AddTables(name + ", base", *table.base, tables);
  }
}

std::vector<Named> AllTables() {
  std::vector<Named> tables;
  AddTables("config.json", kConfigKeys, tables);
  AddTables("tokenizer_config.json", kTokenizerConfigKeys, tables);
  AddTables("tokenizer.json", kTokenizerKeys, tables);
  AddTables("special_tokens_map.json", kSpecialTokensMapKeys, tables);
  AddTables("added_tokens.json", kAddedTokensKeys, tables);
  AddTables("chat_template.json", kChatTemplateKeys, tables);
  AddTables("sentence_bert_config.json", kSentenceConfigKeys, tables);
  AddTables("sentence_bert_config.json without modules.json", kSentenceConfigAloneKeys, tables);
  AddTables("config_sentence_transformers.json", kSentenceOptionsKeys, tables);
  AddTables("modules.json", kModuleListKeys, tables);
  for (const char* type : {"Pooling", "Dense", "LayerNorm", "Normalize", "LogitScore", "Dropout"}) {
    AddTables(type, *FindModuleKeys(type), tables);
  }
  AddTables("generation_config.json", kGenerationConfigKeys, tables);
  AddTables("adapter_config.json", kAdapterConfigKeys, tables);
  return tables;
}

/// Calls `check` for each row of each table.
template <typename Check>
void ForEachRow(const Check& check) {
  for (const Named& named : AllTables()) {
    SCOPED_TRACE(named.name);
    for (const KeyRow& row : named.table->rows) {
      SCOPED_TRACE(std::string(row.keys));
      check(*named.table, row);
    }
  }
}

TEST(KeyTables, NoKeyHasTwoRowsForOneFamily) {
  for (const Named& named : AllTables()) {
    SCOPED_TRACE(named.name);
    for (const Family& family : kFamilies) {
      std::set<std::string_view> of_family;
      std::set<std::string_view> of_all;
      for (const KeyRow& row : named.table->rows) {
        if (row.applies != nullptr && !row.applies(family)) {
          continue;
        }
        for (const std::string_view name : NamesOf(row)) {
          std::set<std::string_view>& names = row.applies == nullptr ? of_all : of_family;
          EXPECT_TRUE(names.insert(name).second) << name << " of " << family.model_type;
          if (row.applies != nullptr) {
            EXPECT_FALSE(of_all.contains(name))
                << name << ": the row of " << family.model_type << " is behind that of all";
          }
        }
      }
    }
  }
}

TEST(KeyTables, EachRowCountsForAFamily) {
  ForEachRow([](const KeyTable& table, const KeyRow& row) {
    for (const std::string_view name : NamesOf(row)) {
      const std::string key = name.starts_with('*') ? "image_token" : std::string(name);
      EXPECT_TRUE(std::ranges::any_of(kFamilies, [&](const Family& family) {
        return FindRow(table, key, &family) == &row;
      })) << name;
    }
  });
}

TEST(KeyTables, EachRowSaysWhy) {
  ForEachRow([](const KeyTable& /*table*/, const KeyRow& row) {
    EXPECT_THAT(NamesOf(row), Not(IsEmpty()));
    EXPECT_EQ(row.use == KeyUse::kNoEffect, !row.why.empty());
    if (row.use == KeyUse::kRefused) {
      EXPECT_FALSE(row.accepted.empty() && row.sentence.empty() && row.explain == nullptr);
    }
    for (const std::string_view text : {row.why, row.sentence}) {
      EXPECT_FALSE(text.ends_with('.') || text.find('\n') != std::string_view::npos) << text;
    }
    if (row.members != nullptr) {
      EXPECT_EQ(row.kind, ValueKind::kObject);
    }
  });
}

// A value that no list has, and that is of no other kind than a string.
TEST(KeyTables, EachRefusedRowRefuses) {
  ForEachRow([](const KeyTable& /*table*/, const KeyRow& row) {
    for (const std::string_view name : NamesOf(row)) {
      const KeyFinding finding = Judge(row, name, "no such value");
      if (row.use == KeyUse::kRefused || !row.accepted.empty()) {
        EXPECT_EQ(finding.use, KeyUse::kRefused) << name;
        EXPECT_THAT(finding.why, Not(IsEmpty())) << name;
      }
      if (row.accepted.empty()) {
        continue;
      }
      const Json accepted = Json::parse(row.accepted);
      ASSERT_TRUE(accepted.is_array()) << row.accepted;
      for (const Json& value : accepted) {
        EXPECT_NE(Judge(row, name, value).use, KeyUse::kRefused) << name << " " << value;
      }
    }
  });
  for (const Named& named : AllTables()) {
    const KeyRow& others = named.table->others;
    if (others.use == KeyUse::kRefused) {
      EXPECT_EQ(Judge(others, "x", "no such value").use, KeyUse::kRefused) << named.name;
    }
  }
}

TEST(KeyTables, KindsOfValuesAreChecked) {
  const auto fault = [](ValueKind kind, const Json& value) {
    const KeyFinding finding = Judge(Followed("x").As(kind), "x", value);
    return finding.use == KeyUse::kRefused ? finding.why : "";
  };
  const Json list = Json::array({"a"});
  const Json token = {{"content", "a"}};
  for (const ValueKind kind :
       {ValueKind::kBool, ValueKind::kNumber, ValueKind::kString, ValueKind::kStrings,
        ValueKind::kObject, ValueKind::kToken, ValueKind::kTokens}) {
    EXPECT_EQ(fault(kind, nullptr), "");
  }
  EXPECT_EQ(fault(ValueKind::kBool, true), "");
  EXPECT_EQ(fault(ValueKind::kBool, 1), "it must be true or false");
  EXPECT_EQ(fault(ValueKind::kNumber, 1.5), "");
  EXPECT_EQ(fault(ValueKind::kNumber, "1"), "it must be a number");
  EXPECT_EQ(fault(ValueKind::kString, "a"), "");
  EXPECT_EQ(fault(ValueKind::kString, 3), "it must be a string");
  EXPECT_EQ(fault(ValueKind::kStrings, list), "");
  EXPECT_EQ(fault(ValueKind::kStrings, Json::array({"a", 1})), "it must be a list of strings");
  EXPECT_EQ(fault(ValueKind::kObject, token), "");
  EXPECT_EQ(fault(ValueKind::kObject, list), "it must be an object or null");
  EXPECT_EQ(fault(ValueKind::kToken, "a"), "");
  EXPECT_EQ(fault(ValueKind::kToken, token), "");
  EXPECT_THAT(fault(ValueKind::kToken, 5), HasSubstr("the text of a token"));
  EXPECT_EQ(fault(ValueKind::kTokens, Json::array({"a", token})), "");
  EXPECT_EQ(fault(ValueKind::kTokens, {{"image_token", "a"}}), "");
  EXPECT_THAT(fault(ValueKind::kTokens, Json::array({7})), HasSubstr("list or an object of"));
}

/// A value that no field may have.
Json Nonsense() { return Json::array({Json::array({1})}); }

/// A config.json of the family in which every field is read, if it can be.
Json ClassifierOf(const Family& family) {
  Json config = {{"vocab_size", 320}, {"max_position_embeddings", 64}};
  config["model_type"] = family.model_type;
  config["architectures"] = Json::array({family.classifier});
  for (const auto& [name, size] :
       {std::pair(family.names.hidden_size, 48), std::pair(family.names.num_hidden_layers, 3),
        std::pair(family.names.num_attention_heads, 6),
        std::pair(family.names.intermediate_size, 112)}) {
    config[std::string(name)] = size;
  }
  if (family.tensor_naming == TensorNaming::kDecoder) {
    config["num_key_value_heads"] = 2;
  }
  if (family.embedding_size) {
    config["embedding_size"] = 24;
  }
  if (family.window.layers == WindowLayers::kSwitched) {
    config["use_sliding_window"] = true;
    config["sliding_window"] = 16;
  }
  if (family.positions == Positions::kRotary) {
    config["rope_scaling"] = {{"rope_type", "llama3"},
                              {"factor", 8},
                              {"low_freq_factor", 1},
                              {"high_freq_factor", 4},
                              {"original_max_position_embeddings", 32}};
  }
  return config;
}

/// Keys of config.json that are read elsewhere: tests/coordinator tests them.
constexpr std::array<std::string_view, 2> kReadElsewhere = {"sbert_ce_default_activation_function",
                                                            "tokenizer_class"};

TEST(FollowedKeys, OfConfigJsonAreRead) {
  std::size_t tested = 0;
  for (const Family& family : kFamilies) {
    SCOPED_TRACE(family.model_type);
    const Json config = ClassifierOf(family);
    ASSERT_NO_THROW(Parse(config));
    for (const KeyRow& row : kConfigKeys.rows) {
      for (const std::string_view name : NamesOf(row)) {
        const bool is_checked = FindRow(kConfigKeys, name, &family) == &row &&
                                row.use == KeyUse::kFollowed && row.accepted.empty() &&
                                row.members == nullptr &&
                                std::ranges::find(kReadElsewhere, name) == kReadElsewhere.end();
        if (is_checked) {
          EXPECT_THAT(ErrorOf(With(config, std::string(name), Nonsense())),
                      HasSubstr(std::string(name)));
          ++tested;
        }
      }
    }
  }
  EXPECT_GT(tested, 15U * kFamilies.size());
}

TEST(FollowedKeys, OfRopeAreRead) {
  const Json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8},
                       {"low_freq_factor", 1},
                       {"high_freq_factor", 4},
                       {"original_max_position_embeddings", 32}};
  const Json yarn = {{"rope_type", "yarn"}, {"factor", 2}};
  const KeyTable& keys = *FindRow(kConfigKeys, "rope_scaling", &kFamilies.front())->members;
  for (const std::string_view name : NamesOf(keys.rows.front())) {
    bool is_read = false;
    for (const Json& rope : {llama3, yarn}) {
      try {
        Parse(With(Llama(), "rope_scaling", With(rope, std::string(name), Nonsense())));
      } catch (const StartupError& fault) {
        const std::string message = fault.what();
        is_read =
            is_read || (message.find("rope_scaling." + std::string(name)) != std::string::npos &&
                        message.find("not supported with RoPE") == std::string::npos);
      }
    }
    EXPECT_TRUE(is_read) << name;
  }
}

TEST(FollowedKeys, OfModulesAreRead) {
  const ModelDirectory dir;
  const auto fault_of = [&](const std::string& file, const Json& config) {
    dir.Write(file, config);
    return dir.Fault();
  };
  for (const std::string_view name : NamesOf(FindModuleKeys("Pooling")->rows.front())) {
    if (name != "include_prompt") {  // Read with the prompts.
      const Json config = {{"embedding_dimension", 48}};
      EXPECT_THAT(fault_of("1_Pooling/config.json", With(config, std::string(name), Nonsense())),
                  HasSubstr("1_Pooling/config.json: " + std::string(name) + " is "));
    }
  }
  dir.Write("1_Pooling/config.json", {{"embedding_dimension", 48}});
  const Json dense = {{"in_features", 48}, {"out_features", 24}};
  for (const std::string_view name : NamesOf(FindModuleKeys("Dense")->rows.front())) {
    dir.AddDense(With(dense, std::string(name), Nonsense()));
    EXPECT_THAT(dir.Fault(), HasSubstr("2_Dense/config.json: " + std::string(name) + " is "));
  }
  dir.SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Normalize", "2_Normalize"}});
  for (const std::string_view name : NamesOf(FindModuleKeys("Normalize")->rows.front())) {
    EXPECT_THAT(fault_of("2_Normalize/config.json", {{std::string(name), Nonsense()}}),
                HasSubstr("2_Normalize/config.json: " + std::string(name) + " is "));
  }
}

TEST(FollowedKeys, OfTheGenerationConfigAreRead) {
  const ModelDirectory dir;
  for (const std::string_view name : NamesOf(kGenerationConfigKeys.rows.front())) {
    dir.Write("generation_config.json", {{std::string(name), Nonsense()}});
    const GenerationConfig config = LoadGenerationConfig(dir.path());
    ASSERT_EQ(config.unsupported.size(), 1U) << name;
    EXPECT_EQ(config.unsupported[0].key, name);
    EXPECT_THAT(config.unsupported[0].Text(), HasSubstr(std::string(name) + " is a list"));
  }
}

// What the documents and messages say of well-known keys.
TEST(KeyTables, AreThoseOfTheFamily) {
  const auto use = [](const char* model_type, const char* key, const Json& value) {
    const auto* const family = std::ranges::find(kFamilies, model_type, &Family::model_type);
    const KeyRow* row = FindRow(kConfigKeys, key, family);
    return row == nullptr ? KeyUse::kUnread : Judge(*row, key, value).use;
  };
  EXPECT_EQ(use("bert", "gradient_checkpointing", false), KeyUse::kUnread);
  EXPECT_EQ(use("llama", "unsloth_fixed", true), KeyUse::kUnread);
  EXPECT_EQ(use("qwen3", "auto_map", Json::object()), KeyUse::kUnread);
  EXPECT_EQ(use("bert", "auto_map", Json::object()), KeyUse::kRefused);
  EXPECT_EQ(use("llama_bidirec", "auto_map", Json::object()), KeyUse::kNoEffect);
  EXPECT_EQ(use("bert", "position_embedding_type", "absolute"), KeyUse::kUnread);
  EXPECT_EQ(use("bert", "position_embedding_type", "relative_key"), KeyUse::kRefused);
  EXPECT_EQ(use("modernbert", "position_embedding_type", "sans_pos"), KeyUse::kUnread) << "mmBERT";
  EXPECT_EQ(use("llama", "sliding_window", 4096), KeyUse::kRefused);
  EXPECT_EQ(use("llama", "sliding_window", nullptr), KeyUse::kNoEffect);
  EXPECT_EQ(use("mistral", "sliding_window", 4096), KeyUse::kFollowed);
  EXPECT_EQ(use("modernbert", "sliding_window", 64), KeyUse::kRefused);
  EXPECT_EQ(use("modernbert", "local_attention", 64), KeyUse::kFollowed);
  EXPECT_EQ(use("bert", "local_attention", 64), KeyUse::kUnread);
  EXPECT_EQ(use("llama", "is_causal", false), KeyUse::kRefused);
  EXPECT_EQ(use("llama", "is_causal", nullptr), KeyUse::kRefused);
  EXPECT_EQ(use("llama", "is_causal", true), KeyUse::kNoEffect);
  EXPECT_EQ(use("bert", "is_causal", false), KeyUse::kNoEffect);
  EXPECT_EQ(use("bert", "is_causal", true), KeyUse::kRefused);
  EXPECT_EQ(use("llama", "temperature", 0.6), KeyUse::kNoEffect);
  EXPECT_EQ(use("llama_bidirec", "temperature", 0.6), KeyUse::kFollowed);
  EXPECT_EQ(use("roberta", "pad_token_id", 1), KeyUse::kFollowed);
  EXPECT_EQ(use("bert", "pad_token_id", 0), KeyUse::kNoEffect);
  EXPECT_EQ(use("gemma3_text", "attn_logit_softcapping", 50), KeyUse::kNoEffect);
  EXPECT_EQ(use("gemma2", "attn_logit_softcapping", 50), KeyUse::kFollowed);
  EXPECT_EQ(use("qwen2", "attn_logit_softcapping", 50), KeyUse::kRefused);
  EXPECT_EQ(use("mistral", "attention_bias", true), KeyUse::kRefused);
  EXPECT_EQ(use("qwen2", "attention_bias", false), KeyUse::kUnread);
  EXPECT_EQ(use("llama", "per_layer_config", {{"0", {{"intermediate_size", 8}}}}),
            KeyUse::kRefused);
}

TEST(KeyTables, ADistilBertMayHaveUsualNamesThatAgree) {
  const auto* const family = std::ranges::find(kFamilies, "distilbert", &Family::model_type);
  const Json config = ClassifierOf(*family);
  EXPECT_NO_THROW(Parse(With(config, "hidden_size", 48)));
  EXPECT_THAT(ErrorOf(With(config, "hidden_size", 64)),
              HasSubstr("hidden_size is 64: it contradicts dim"));
  EXPECT_THAT(ErrorOf(With(config, "num_attention_heads", 4)),
              HasSubstr("num_attention_heads is 4: it contradicts n_heads"));
}

}  // namespace key_tables_test
}  // namespace scorecast::proto
