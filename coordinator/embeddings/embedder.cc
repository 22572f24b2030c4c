#include "coordinator/embeddings/embedder.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

constexpr std::array<std::string_view, 3> kQueryNames = {"query", "search_query",
                                                         "retrieval.query"};
constexpr std::array<std::string_view, 4> kDocumentNames = {"document", "passage",
                                                            "search_document", "retrieval.passage"};
/// Further uses of Cohere's and Jina's models.
constexpr std::array<std::string_view, 4> kOtherNames = {"classification", "clustering",
                                                         "separation", "text-matching"};

template <typename Names>
bool Has(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// All names of the same use; only the name itself if it is no usual one.
std::span<const std::string_view> SameUse(const std::string_view& name) {
  if (Has(kQueryNames, name)) {
    return kQueryNames;
  }
  return Has(kDocumentNames, name) ? std::span<const std::string_view>(kDocumentNames)
                                   : std::span(&name, 1);
}

/// Calls `read` with the root of a JSON file, if the file exists.
template <typename Read>
void ReadIfThere(const std::filesystem::path& file, const Read& read) {
  if (ModelFileExists(file)) {
    const nlohmann::json document = ParseJsonFile(ReadModelFile(file), file.string());
    read(JsonCursor(document, file.string()));
  }
}

EmbeddingPrompts ReadPrompts(const JsonCursor& root) {
  std::vector<EmbeddingPrompts::Prompt> prompts;
  std::string default_name;
  if (const auto all = root.Find("prompts")) {
    all->ForEachMember([&](const std::string& name, const JsonCursor& text) {
      prompts.push_back({name, text.String()});
    });
  }
  if (const auto name = root.Find("default_prompt_name")) {
    default_name = name->String();
    const bool is_there =
        std::ranges::find(prompts, default_name, &EmbeddingPrompts::Prompt::name) != prompts.end();
    if (!is_there && default_name != "query" && default_name != "document") {
      name->Fail("names no prompt");
    }
  }
  // sentence-transformers writes empty prompts for a query and a document of any model.
  const bool is_plain =
      default_name.empty() &&
      std::ranges::all_of(prompts, [](const auto& prompt) { return prompt.text.empty(); });
  return is_plain ? EmbeddingPrompts() : EmbeddingPrompts(std::move(prompts), default_name);
}

Similarity ReadSimilarity(const JsonCursor& root) {
  const auto name = root.Find("similarity_fn_name");
  if (!name) {
    return Similarity::kCosine;
  }
  std::string names;
  for (const Similarity one :
       {Similarity::kCosine, Similarity::kDot, Similarity::kEuclidean, Similarity::kManhattan}) {
    if (name->String() == NameOf(one)) {
      return one;
    }
    names += (names.empty() ? "" : ", ") + std::string(NameOf(one));
  }
  name->Fail("is " + Quoted(name->String()) + ": supported are " + names);
}

bool PoolsPrompt(const std::filesystem::path& model_dir) {
  bool pools = true;
  ReadIfThere(model_dir / "modules.json", [&](const JsonCursor& root) {
    root.ForEachElement([&](const JsonCursor& module) {
      if (!module.At("type").String().ends_with(".Pooling")) {
        return;
      }
      ReadIfThere(model_dir / module.At("path").String() / "config.json",
                  [&](const JsonCursor& pooling) {
                    pools = pooling.Flag("include_prompt", /*by_default=*/true);
                  });
    });
  });
  return pools;
}

/// Whether the files are those of an embedder, as they are unless they say otherwise.
bool IsEmbedder(const JsonCursor& root) {
  const auto name = root.Find("model_type");
  return !name || name->String() == "SentenceTransformer";
}

EmbeddingPrompts::Prompt PromptFromFlag(const std::string& flag) {
  const std::size_t sign = flag.find('=');
  if (sign == 0 || sign == std::string::npos) {
    throw proto::StartupError("--prompt " + Quoted(flag) + ": it must be NAME=TEXT");
  }
  if (!IsValidUtf8(flag)) {
    throw proto::StartupError("--prompt " + Quoted(flag) + " is not valid UTF-8");
  }
  return {flag.substr(0, sign), flag.substr(sign + 1)};
}

}  // namespace

void EmbeddingPrompts::Set(Prompt prompt) {
  const auto found = std::ranges::find(prompts_, prompt.name, &Prompt::name);
  if (found == prompts_.end()) {
    prompts_.push_back(std::move(prompt));
  } else {
    *found = std::move(prompt);
  }
}

const EmbeddingPrompts::Prompt* EmbeddingPrompts::Find(std::string_view name) const {
  const auto named = [&](std::string_view wanted) -> const Prompt* {
    const auto found = std::ranges::find(prompts_, wanted, &Prompt::name);
    return found == prompts_.end() ? nullptr : &*found;
  };
  if (const Prompt* own = named(name)) {
    return own;
  }
  for (const std::string_view other : SameUse(name)) {
    if (const Prompt* found = named(other)) {
      return found;
    }
  }
  return nullptr;
}

const EmbeddingPrompts::Prompt* EmbeddingPrompts::FindOwn(std::string_view name) const {
  const Prompt* const found = Find(name);
  const bool is_exact = name == "query" || name == "document";
  return found != nullptr && is_exact && found->name != name ? nullptr : found;
}

bool IsUsualPromptName(std::string_view name, bool has_prompts) {
  return Has(kQueryNames, name) || Has(kDocumentNames, name) ||
         (!has_prompts && Has(kOtherNames, name));
}

std::string_view TaskOfPrompt(std::string_view name) {
  if (Has(kQueryNames, name)) {
    return "query";
  }
  return Has(kDocumentNames, name) ? "document" : "";
}

Embedder LoadEmbedder(const std::filesystem::path& model_dir, std::span<const std::string> flags) {
  Embedder embedder;
  bool is_embedder = true;
  ReadIfThere(model_dir / "config_sentence_transformers.json", [&](const JsonCursor& root) {
    is_embedder = IsEmbedder(root);
    if (is_embedder) {
      embedder.prompts = ReadPrompts(root);
      embedder.similarity = ReadSimilarity(root);
    }
  });
  if (is_embedder) {
    embedder.pools_prompt = PoolsPrompt(model_dir);
  }
  for (const std::string& flag : flags) {
    embedder.prompts.Set(PromptFromFlag(flag));
  }
  return embedder;
}

}  // namespace scorecast::coordinator
