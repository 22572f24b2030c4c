#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/embeddings/embedding_values.h"

namespace scorecast::coordinator {

/// The texts that an embedding model wants before other texts, by what these are for.
class EmbeddingPrompts {
 public:
  struct Prompt {
    std::string name;
    std::string text;
  };

  EmbeddingPrompts() = default;
  /// `default_name` is the name that counts if a request gives none; empty if there is none.
  explicit EmbeddingPrompts(std::vector<Prompt> prompts, std::string default_name = "")
      : prompts_(std::move(prompts)), default_name_(std::move(default_name)) {}

  /// Adds a prompt, or replaces that of the same name.
  void Set(Prompt prompt);

  bool empty() const { return prompts_.empty(); }
  /// Those of the model's file in the order of their names, then those that flags add.
  const std::vector<Prompt>& all() const { return prompts_; }

  /// The prompt of this name, or of another name of the same use: `query`, `search_query` and
  /// `retrieval.query` are one, and so are `document`, `passage`, `search_document` and
  /// `retrieval.passage`. Null if there is none.
  const Prompt* Find(std::string_view name) const;
  /// The same by sentence-transformers' rule, which has an empty prompt `query` and `document` for
  /// any model: these two names are no others'.
  const Prompt* FindOwn(std::string_view name) const;
  /// The prompt of a request that names none. Null if there is none.
  const Prompt* Default() const { return default_name_.empty() ? nullptr : FindOwn(default_name_); }

 private:
  std::vector<Prompt> prompts_;
  std::string default_name_;
};

/// Whether clients send this name to any model, whatever prompts it has: that of a query, a
/// document or, if the model has no prompts at all, another use that hosted models know.
bool IsUsualPromptName(std::string_view name, bool has_prompts);

/// What a text is for if its prompt has this name, in the words of sentence-transformers: "query",
/// "document", or empty for neither.
std::string_view TaskOfPrompt(std::string_view name);

/// What requests for embeddings depend on besides the model's config.
struct Embedder {
  EmbeddingPrompts prompts;
  bool pools_prompt = true;  ///< Whether the rows of a prompt are pooled with those of its text.
  Similarity similarity = Similarity::kCosine;  ///< By which texts are compared.
};

/// Reads what sentence-transformers' files in a model's directory say: prompts, their default and
/// the similarity from config_sentence_transformers.json, and `include_prompt` of the Pooling
/// module. Any of them may be absent. As in sentence-transformers, the files of a model of another
/// class, such as a CrossEncoder, do not count. `flags` are texts NAME=TEXT, which count more than
/// the files. Throws StartupError, one line that names the file or the flag.
Embedder LoadEmbedder(const std::filesystem::path& model_dir, std::span<const std::string> flags);

}  // namespace scorecast::coordinator
