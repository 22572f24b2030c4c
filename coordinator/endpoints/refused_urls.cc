#include "coordinator/endpoints/refused_urls.h"

#include <algorithm>
#include <array>

namespace scorecast::coordinator {
namespace {

struct Instead {
  std::string_view path;
  std::string_view sentence;
};

constexpr std::string_view kNoChat =
    "/v1/chat/completions continues a conversation, and /v1/completions a prompt.";
constexpr std::string_view kNoCompletions =
    "/v1/completions completes a prompt, and /v1/score scores labels.";
constexpr std::string_view kNoEmbeddings =
    "An embedding model is asked by /v1/embeddings, /embed or /v2/embed.";
constexpr std::string_view kNoSparse = "There are no sparse embeddings: /embed returns dense ones.";
constexpr std::string_view kNoVertex =
    "Give its instances, one in each request, to /embed, /predict or /rerank.";
constexpr std::string_view kNoTokenClasses = "Classes are of whole texts: see /predict.";

constexpr std::string_view kNoOtherDecisions =
    "Elsewhere this URL has bodies of several forms: /v1/systemone answers typed questions.";

constexpr std::array kInstead = std::to_array<Instead>({
    {"/chat/completions", kNoChat},
    {"/v1/responses", kNoChat},
    {"/v1/messages", kNoChat},
    {"/api/chat", kNoChat},
    {"/completions", kNoCompletions},
    {"/completion", kNoCompletions},
    {"/generate", kNoCompletions},
    {"/generate_stream", kNoCompletions},
    {"/api/generate", kNoCompletions},
    {"/embed_sparse", kNoSparse},
    {"/vertex", kNoVertex},
    {"/predict_tokens", kNoTokenClasses},
    {"/api/embed", kNoEmbeddings},
    {"/api/embeddings", kNoEmbeddings},
    {"/encode", kNoEmbeddings},
    {"/v1/decisions", kNoOtherDecisions},
    {"/v1/decide", kNoOtherDecisions},
});

}  // namespace

const std::vector<RefusedUrl>& RefusedUrls() {
  static const std::vector<RefusedUrl> urls = [] {
    std::vector<RefusedUrl> all;
    for (const Instead& one : kInstead) {
      const std::string path(one.path);
      all.push_back(
          {path, path + " is not supported by this server. " + std::string(one.sentence)});
    }
    return all;
  }();
  return urls;
}

const RefusedUrl* FindRefusedUrl(std::string_view path) {
  const auto found = std::ranges::find(RefusedUrls(), path, &RefusedUrl::path);
  return found == RefusedUrls().end() ? nullptr : &*found;
}

}  // namespace scorecast::coordinator
