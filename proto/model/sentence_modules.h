#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "proto/model/read_head.h"

namespace scorecast::proto {

/// A module that modules.json names.
struct SentenceModule {
  std::string type;    ///< "sentence_transformers.base.modules.dense.Dense"
  std::string where;   ///< The place in modules.json: "[1]".
  std::string folder;  ///< Of the model's directory, or empty.

  /// The last part of the type, because versions of sentence-transformers differ in the other
  /// parts. All of a type that is not sentence-transformers' own.
  std::string_view name() const;
};

/// The modules that sentence-transformers runs for a model: modules.json, the class that runs them
/// according to config_sentence_transformers.json, and the modules' own files.
class SentenceModules {
 public:
  /// No modules.
  SentenceModules() = default;
  /// Reads `model_dir`/modules.json, which may be absent. Throws StartupError, one line that names
  /// the file, if a file is malformed.
  explicit SentenceModules(std::filesystem::path model_dir);

  /// Throws StartupError, one line that names the class or a module's type, unless the class and
  /// all types are supported and the first module is the model. Also called if there are none.
  void RefuseUnsupported() const;

  bool is_cross_encoder() const;
  /// Whether the modules pool rows and make an embedding of them.
  bool make_embeddings() const;
  /// Whether the modules pool rows and make scores of them. The scores of other CrossEncoders come
  /// from the head of the model's architecture.
  bool make_scores() const;

  /// The Pooling module, the modules behind it, and `truncate_dim` of an embedding. The modules
  /// must make embeddings or scores. `hidden_size` is the model's. Throws StartupError, one line
  /// that names the file and the field, if a module is malformed or not supported.
  ReadHead Head(std::int64_t hidden_size) const;

 private:
  bool Has(std::string_view name) const;

  std::filesystem::path model_dir_;
  std::string class_;                    ///< "SentenceTransformer"
  std::vector<SentenceModule> modules_;  ///< Without modules that do nothing.
};

}  // namespace scorecast::proto
