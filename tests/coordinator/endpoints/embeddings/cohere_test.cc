// Requests of Cohere's clients for embeddings, from the body to the response.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/cohere/embed_endpoints.h"
#include "tests/coordinator/endpoints/embeddings/embedding_server.h"

namespace scorecast::coordinator {
namespace cohere_test {

using ::testing::HasSubstr;

struct Server : EmbeddingServer {
  OrderedJson V1(const std::string& body) const {
    return ValueOrFail(Respond(CohereV1EmbedEndpoint(), body));
  }
  OrderedJson V2(const std::string& body) const {
    return ValueOrFail(Respond(CohereV2EmbedEndpoint(), body));
  }
  std::string Fault(const std::string& body) const {
    return FaultOf(CohereV2EmbedEndpoint(), body);
  }
};

TEST(CohereEmbed, Version2ReturnsEmbeddingsByType) {
  const Server server;
  const std::vector<float> vector = server.VectorOfText("ab");
  const OrderedJson response =
      server.V2(R"({"model":"m","texts":["ab","c"],"input_type":"search_query","embedding_types":)"
                R"(["float","base64","binary","ubinary"]})");
  const OrderedJson& embeddings = response["embeddings"];
  EXPECT_EQ(FloatsOf(embeddings["float"][0]), vector);
  EXPECT_EQ(FloatsOf(embeddings["float"][1]), server.VectorOfText("c"));
  EXPECT_EQ(embeddings["base64"][0], Base64Of(vector));
  EXPECT_EQ(embeddings["binary"][0], OrderedJson(PackedBits(vector, true)));
  EXPECT_EQ(embeddings["ubinary"][0], OrderedJson(PackedBits(vector, false)));
  EXPECT_EQ(response["texts"], OrderedJson({"ab", "c"}));
  EXPECT_EQ(response["response_type"], "embeddings_by_type");
  EXPECT_EQ(response["meta"].dump(),
            R"({"api_version":{"version":"2"},"billed_units":{"input_tokens":7}})");
  EXPECT_EQ(server.V2(R"({"texts":["ab"]})")["embeddings"].size(), 1U) << "float alone";
}

TEST(CohereEmbed, Version1ReturnsAListUnlessTypesAreGiven) {
  const Server server;
  const OrderedJson floats = server.V1(R"({"texts":["ab"]})");
  EXPECT_EQ(FloatsOf(floats["embeddings"][0]), server.VectorOfText("ab"));
  EXPECT_EQ(floats["response_type"], "embeddings_floats");
  EXPECT_EQ(floats["meta"]["api_version"]["version"], "1");
  EXPECT_FALSE(floats["id"].get<std::string>().empty());
  const OrderedJson by_type = server.V1(R"({"texts":["ab"],"embedding_types":["ubinary"]})");
  EXPECT_EQ(by_type["response_type"], "embeddings_by_type");
  EXPECT_EQ(by_type["embeddings"].size(), 1U);
}

TEST(CohereEmbed, TextsMayBeInputs) {
  const Server server;
  const OrderedJson response =
      server.V2(R"({"inputs":[{"content":[{"type":"text","text":"ab"}]}]})");
  EXPECT_EQ(FloatsOf(response["embeddings"]["float"][0]), server.VectorOfText("ab"));
  EXPECT_EQ(server.Fault(R"({"inputs":[{"content":[]}]})"), "not_one_text inputs[0].content");
  EXPECT_EQ(
      server.Fault(R"({"inputs":[{"content":[{"type":"image_url","image_url":{"url":"x"}}]}]})"),
      "not_supported inputs[0].content[0].image_url");
  EXPECT_EQ(server.Fault(R"({"inputs":["a"]})"), "wrong_type inputs[0]");
  EXPECT_EQ(server.Fault(R"({"texts":["a"],"inputs":[{"content":[]}]})"), "empty_input inputs");
  EXPECT_EQ(server.Fault(R"({})"), "empty_input texts");
  EXPECT_EQ(server.Fault(R"({"texts":["a"],"images":["x"]})"), "not_supported images");
}

TEST(CohereEmbed, LongTextsAreCutUnlessTheClientForbidsIt) {
  Server server;
  server.config_.max_position_embeddings = 5;
  const auto first = [&](const std::string& field) {
    return FloatsOf(server.V2(R"({"texts":["abcd"])" + field + "}")["embeddings"]["float"][0]);
  };
  EXPECT_EQ(first(""), server.VectorOfText("abc"));
  EXPECT_EQ(first(R"(,"truncate":"START")"), server.VectorOfText("bcd"));
  EXPECT_EQ(first(R"(,"max_tokens":4)"), server.VectorOfText("ab"));
  EXPECT_EQ(server.Fault(R"({"texts":["abcd"],"truncate":"NONE"})"),
            "context_length_exceeded texts");
  EXPECT_EQ(server.Fault(R"({"texts":["a"],"truncate":"MIDDLE"})"), "unknown_truncate truncate");
  EXPECT_EQ(server.Fault(R"({"texts":["a"],"max_tokens":0})"),
            "max_tokens_out_of_range max_tokens");
}

TEST(CohereEmbed, TypesAndDimensionsAreChecked) {
  const Server server;
  const auto refused = server.Respond(CohereV2EmbedEndpoint(),
                                      R"({"texts":["a"],"embedding_types":["float","int8"]})");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().param, "embedding_types[1]");
  EXPECT_THAT(refused.error().message, HasSubstr("not published"));
  EXPECT_EQ(server.Fault(R"({"texts":["a"],"output_dimension":17})"),
            "dimensions_out_of_range output_dimension");
  EXPECT_EQ(server.Fault(R"({"texts":["a"],"output_dimension":12,"embedding_types":["binary"]})"),
            "dimensions_not_divisible embedding_types");
  std::vector<float> cut = server.VectorOfText("ab");
  cut.resize(8);
  Normalize(cut);
  EXPECT_EQ(
      FloatsOf(server.V2(R"({"texts":["ab"],"output_dimension":8})")["embeddings"]["float"][0]),
      cut);
}

}  // namespace cohere_test
}  // namespace scorecast::coordinator
