#include "coordinator/endpoints/refused_urls.h"

#include <algorithm>
#include <array>
#include <string>

namespace scorecast::coordinator {
namespace {

struct RefusedUrl {
  std::string_view url;
  std::string_view sentence;
};

constexpr std::string_view kNoChat =
    "Chat templates are the client's: /v1/chunked completes a prompt.";
constexpr std::string_view kNoCompletions =
    "/v1/chunked completes a prompt, and /v1/score scores labels.";
constexpr std::string_view kNoEmbeddings =
    "This server has no embeddings: /v1/rerank compares a query with documents.";
constexpr std::string_view kNoClasses = "/v1/score returns the scores of a classifier's classes.";

constexpr std::array kRefusedUrls = std::to_array<RefusedUrl>({
    {"/v1/chat/completions", kNoChat},
    {"/chat/completions", kNoChat},
    {"/v1/responses", kNoChat},
    {"/v1/messages", kNoChat},
    {"/api/chat", kNoChat},
    {"/v1/completions", kNoCompletions},
    {"/completions", kNoCompletions},
    {"/completion", kNoCompletions},
    {"/generate", kNoCompletions},
    {"/generate_stream", kNoCompletions},
    {"/api/generate", kNoCompletions},
    {"/v1/embeddings", kNoEmbeddings},
    {"/embeddings", kNoEmbeddings},
    {"/embed", kNoEmbeddings},
    {"/embed_all", kNoEmbeddings},
    {"/embed_sparse", kNoEmbeddings},
    {"/api/embed", kNoEmbeddings},
    {"/api/embeddings", kNoEmbeddings},
    {"/similarity", kNoEmbeddings},
    {"/pooling", kNoEmbeddings},
    {"/encode", kNoEmbeddings},
    {"/predict", kNoClasses},
    {"/classify", kNoClasses},
    {"/v1/classify", kNoClasses},
});

}  // namespace

std::optional<proto::Error> RefusedUrlFault(std::string_view url) {
  const auto refused = std::ranges::find(kRefusedUrls, url, &RefusedUrl::url);
  if (refused == kRefusedUrls.end()) {
    return std::nullopt;
  }
  return proto::Error{
      404, "not_supported",
      std::string(url) + " is not supported by this server. " + std::string(refused->sentence), ""};
}

}  // namespace scorecast::coordinator
