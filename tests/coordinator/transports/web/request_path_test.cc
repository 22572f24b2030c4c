#include "coordinator/transports/web/request_path.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace request_path_test {

TEST(RequestPath, IsDecodedAndHasNoQuery) {
  for (const auto& [target, path] :
       std::vector<std::pair<std::string, std::string>>{{"/", "/"},
                                                        {"/v1/score", "/v1/score"},
                                                        {"/v1/score/", "/v1/score"},
                                                        {"/v1/score//?a=/b", "/v1/score"},
                                                        {"/v1/score?query=%zz", "/v1/score"},
                                                        {"/v1/score#part", "/v1/score"},
                                                        {"/v1%2Fscore", "/v1/score"},
                                                        {"/v1/%73core%2f", "/v1/score"},
                                                        {"/a%20b%00", std::string("/a b\0", 5)},
                                                        {"/%c3%a4", "/\xc3\xa4"},
                                                        {"*", "*"},
                                                        {"http://host:80/v1/score?x", "/v1/score"},
                                                        {"https://host", "/"},
                                                        {"HTTP://host/health", "/health"},
                                                        {"https://host?x", "/"}}) {
    const auto found = PathOf(target);
    ASSERT_TRUE(found) << target;
    EXPECT_EQ(*found, path) << target;
  }
  for (const std::string target : {"", "v1", "host:443", "ftp://host/", "/%", "/%4", "/%4g",
                                   "/%%41", "/inference/%ff", "/%c3", "/\xff"}) {
    const auto found = PathOf(target);
    ASSERT_FALSE(found) << target;
    EXPECT_EQ(found.error().reason, "bad_url");
  }
}

}  // namespace request_path_test
}  // namespace scorecast::coordinator
