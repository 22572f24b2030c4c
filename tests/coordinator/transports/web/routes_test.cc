#include "coordinator/transports/web/routes.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/transports/web/request_path.h"

namespace scorecast::coordinator {
namespace routes_test {

using ::testing::HasSubstr;

TEST(Routes, FindEndpointsAndResourcesAndSayWhatThereIs) {
  const std::vector<Resource> resources = {{"/health", [] { return Share({}); }}};
  const std::vector<RefusedUrl> refused = {{"/v1/images", "There are no images."}};
  const Routes routes(Endpoints(), resources, refused);
  EXPECT_EQ(routes.Find("/v1/score").endpoint, routes.Find("/score").endpoint);
  EXPECT_EQ(routes.Find("/v1/score").Allow(), "POST, OPTIONS");
  EXPECT_EQ(routes.Find("/health").Allow(), "GET, HEAD, OPTIONS");
  EXPECT_FALSE(routes.Find("/v1/images").exists());
  const auto not_found = [&](const char* path) { return routes.NotFound(path, routes.Find(path)); };
  EXPECT_EQ(not_found("/v1/images").message, "There are no images.");
  EXPECT_FALSE(routes.Find("/v1").exists());
  EXPECT_EQ(routes.Find("/inference/a/b").endpoint, &DeepInfraRerankEndpoint());
  EXPECT_EQ(routes.Find("/inference/v1/rerank").endpoint, &RerankEndpoint());
  EXPECT_EQ(routes.Find("/v1/retrieval/a/b/reranking").endpoint, &RerankEndpoint());
  EXPECT_FALSE(routes.Find("/inference/").exists());
  EXPECT_FALSE(routes.Find("/v1/retrieval/reranking").exists());
  EXPECT_EQ(routes.Find("/rerank", "/pinecone").endpoint, &PineconeRerankEndpoint());
  EXPECT_EQ(routes.Find("/pinecone/rerank", "/pinecone").endpoint, &PineconeRerankEndpoint());
  EXPECT_EQ(routes.Find("/health", "/pinecone").resource, &resources.front());
  EXPECT_THAT(not_found("/v1").message, HasSubstr("POST /v1/score"));
  EXPECT_THAT(not_found("/v1").message, HasSubstr("GET /health"));
}

TEST(Routes, DoubledSlashesAndVersionsAreTheSameUrl) {
  const std::vector<Resource> resources = {{"/health", [] { return Share({}); }}};
  const Routes routes(Endpoints(), resources, {});
  for (const char* path : {"/v1/v1/rerank", "//v1/rerank", "/v1//rerank", "/v2/v1/rerank"}) {
    EXPECT_EQ(routes.Find(path).endpoint, routes.Find("/v1/rerank").endpoint) << path;
  }
  EXPECT_EQ(routes.Find("/v1/v2/rerank").endpoint, routes.Find("/v2/rerank").endpoint);
  EXPECT_NE(routes.Find("/v1/v2/embed").endpoint, routes.Find("/v1/embed").endpoint);
  EXPECT_EQ(routes.Find("//health").resource, routes.Find("/health").resource);
  EXPECT_FALSE(routes.Find("/v1/health").exists());
  EXPECT_FALSE(routes.Find("/v3/v1/rerank").exists());
  EXPECT_FALSE(routes.Find("*").exists());
  EXPECT_EQ(UsualPath("//"), "/");
}

TEST(Routes, UrlsOfFireworksNameNoModel) {
  const Routes routes(Endpoints(), {}, {});
  for (const char* path :
       {"/inference/v1//rerank", "/inference//v1/rerank", "/inference/v1/v1/rerank",
        "//inference/v1/rerank", "/inference/v2/v1/rerank"}) {
    EXPECT_EQ(routes.Find(path).endpoint, &RerankEndpoint()) << path;
  }
  for (const char* path :
       {"/inference/v1", "/inference//v1", "/v1/inference/v1", "/v1/inference/v1/rerank",
        "/inference/v1/chat/completions", "/inference//v1/chat/completions",
        "/inference/v1//chat/completions", "/inference/v1/v1/completions",
        "/inference/v1/completions", "/inference/v1/embeddings", "/v1/inference/v1/embeddings"}) {
    EXPECT_FALSE(routes.Find(path).exists()) << path;
  }
  for (const auto& [path, model] :
       std::vector<std::pair<std::string, std::string>>{{"/inference/v1-large", "v1-large"},
                                                        {"/inference/a/v1/b", "a/v1/b"},
                                                        {"//inference/a", "a"},
                                                        {"/v1/v1/inference/a", "a"},
                                                        {"/v1/inference/a", "a"}}) {
    const Route route = routes.Find(path);
    EXPECT_EQ(route.endpoint, &DeepInfraRerankEndpoint()) << path;
    EXPECT_EQ(route.id, model) << path;
  }
}

TEST(Routes, AnIdMayHaveSlashes) {
  const auto get = [](std::string_view id) { return Share({.body = std::string(id)}); };
  const std::vector<Resource> resources = {
      {.path = "/v1/models", .get = [] { return Share({.body = "all"}); }},
      {.path = "/v1/models/{id}", .get = nullptr, .get_by_id = get}};
  const Routes routes(Endpoints(), resources, {});
  const auto content = [&](const char* target) {
    return routes.Find(PathOf(target).value()).Content()->body;
  };
  EXPECT_EQ(content("/v1/models"), "all");
  EXPECT_EQ(content("/v1/models/"), "all");
  EXPECT_EQ(content("/v1/models/name"), "name");
  EXPECT_EQ(content("/v1/models/org/name"), "org/name");
  EXPECT_EQ(content("/v1/models/org%2Fname?x=1"), "org/name");
  EXPECT_EQ(content("/v1/v1/models/org/name"), "org/name");
  EXPECT_EQ(content("/v1/models//org//name"), "/org//name");
  EXPECT_EQ(content("/v1/models/v1"), "v1");
  EXPECT_THAT(routes.NotFound("/x", {}).message, HasSubstr("GET /v1/models/{id}"));
}

TEST(Routes, NamesTheUrlThatIsProbablyMeant) {
  const std::vector<Resource> resources = {{"/health", [] { return Share({}); }}};
  const Routes routes(Endpoints(), resources, {});
  const auto meant = [&](const char* path) {
    const std::string message = routes.NotFound(path, {}).message;
    const std::size_t begin = message.find("Did you mean ");
    return begin == std::string::npos
               ? ""
               : message.substr(begin + 13, message.find('?', begin) - begin - 13);
  };
  EXPECT_EQ(meant("/v1/reranks"), "/v1/rerank");
  EXPECT_EQ(meant("/api/v1/rerank"), "/v1/rerank");
  EXPECT_EQ(meant("/v1/embedding"), "/v1/embeddings");
  EXPECT_EQ(meant("/v1/chat/completion"), "/v1/chat/completions");
  EXPECT_EQ(meant("/v1/health"), "/health");
  EXPECT_EQ(meant("/v1/inference/v1/rerank"), "/inference/v1/rerank");
  EXPECT_EQ(meant("/inference/v1/chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(meant("/inference/v1/completions"), "/v1/completions");
  EXPECT_EQ(meant("/inference/v1/embeddings"), "/v1/embeddings");
  EXPECT_EQ(meant("/v1"), "");
  EXPECT_EQ(meant("/images"), "");
}

}  // namespace routes_test
}  // namespace scorecast::coordinator
