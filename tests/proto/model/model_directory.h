#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/model/ignored_key.h"
#include "proto/model/model_config.h"
#include "tests/proto/model/config_json.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::proto {

/// The directory of an embedding model whose hidden_size is 48, as sentence-transformers writes it.
class ModelDirectory {
 public:
  ModelDirectory() {
    Write("config.json", Llama());
    SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}});
    Write("1_Pooling/config.json", {{"embedding_dimension", 48}, {"pooling_mode", "mean"}});
  }

  const std::filesystem::path& path() const { return dir_.path(); }

  void Write(const std::string& name, const Json& json) const { WriteText(name, json.dump()); }
  void WriteText(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name) << text;
  }
  void Remove(const std::string& name) const { std::filesystem::remove_all(path() / name); }

  /// Types and folders.
  void SetModules(const std::vector<std::pair<std::string, std::string>>& modules) const {
    Json list = Json::array();
    for (const auto& [type, folder] : modules) {
      const std::string index = std::to_string(list.size());
      list.push_back({{"idx", list.size()},
                      {"name", index},
                      {"path", folder},
                      {"type", "sentence_transformers.models." + type}});
    }
    Write("modules.json", list);
  }
  /// Adds a Dense module, with an empty file of weights.
  void AddDense(const Json& config) const {
    SetModules({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}});
    Write("2_Dense/config.json", config);
    WriteText("2_Dense/model.safetensors", "");
  }

  ModelConfig Load(const std::vector<IgnoredKey>& ignored = {}) const {
    return LoadModelConfig(path(), Task::kOfDirectory, ignored);
  }
  /// The message of the StartupError, without the directory if it begins with that. If there is
  /// none, the test fails and the message is empty.
  std::string Fault(const std::vector<IgnoredKey>& ignored = {}) const {
    try {
      Load(ignored);
    } catch (const StartupError& error) {
      const std::string message = error.what();
      EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr("\n")));
      EXPECT_LT(message.size(), 600U);
      const std::string prefix = path().string() + "/";
      return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

 private:
  const reference::TempDirectory dir_;
};

}  // namespace scorecast::proto
