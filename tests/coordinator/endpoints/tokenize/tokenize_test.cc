#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/tokenize/detokenize_request.h"
#include "coordinator/endpoints/tokenize/text_tokens.h"
#include "coordinator/endpoints/tokenize/tokenize_endpoint.h"
#include "coordinator/endpoints/tokenize/tokenize_request.h"
#include "coordinator/text/unicode/utf8.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/chat_server.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/validation.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace tokenize_test {

using nlohmann::json;

/// The response of `endpoint` to a body, or the error.
json Respond(FakeServer& server, const Endpoint& endpoint, const std::string& body) {
  const auto call = std::make_shared<AskingCall>();
  Begin(server.service, endpoint, endpoint.FromJson(json::parse(body)), call);
  const auto response = call->Wait().Respond();
  return json::parse(response ? JsonOf(**response).dump() : endpoint.ErrorToJson(response.error()));
}

std::string Reason(FakeServer& server, const Endpoint& endpoint, const std::string& body) {
  return Respond(server, endpoint, body).value("reason", "none");
}

TEST(Tokenize, PromptGivesVllmsResponse) {
  FakeServer server;
  // BOS is 259, and the end of a text is 0.
  EXPECT_EQ(Respond(server, TokenizeEndpoint(), R"({"prompt":"ab yes","model":"m"})"),
            json::parse(R"({"count":5,"max_model_len":512,"tokens":[259,97,98,257,0],)"
                        R"("token_strs":null})"));
  EXPECT_EQ(Respond(server, TokenizeEndpoint(),
                    R"({"prompt":"ab yes","add_special_tokens":false,"return_token_strs":true})"),
            json::parse(R"({"count":3,"max_model_len":512,"tokens":[97,98,257],)"
                        R"("token_strs":["a","b"," yes"]})"));
  EXPECT_EQ(Respond(server, TokenizeEndpoint(), R"({"prompt":"","add_special_tokens":false})"),
            json::parse(R"({"count":0,"max_model_len":512,"tokens":[],"token_strs":null})"));
}

TEST(Tokenize, MessagesGiveVllmsResponse) {
  FakeServer server(WithChat(FakeServer::MultiItem()));
  // The tokens of a text that the template renders.
  const auto tokens = [](const std::string& text) {
    json ids = {kChatBos};
    for (const char byte : text) {
      ids.push_back(TokenId{byte});
    }
    return ids;
  };
  const std::string messages = R"({"messages":[{"role":"user","content":"ab"}])";
  const json expected = tokens("<user>ab</>");
  EXPECT_EQ(Respond(server, TokenizeEndpoint(), messages + R"(,"add_generation_prompt":false})"),
            (json{{"count", expected.size()},
                  {"max_model_len", 512},
                  {"tokens", expected},
                  {"token_strs", nullptr}}));
  const json response =
      Respond(server, TokenizeEndpoint(), messages + R"(,"return_token_strs":true})");
  EXPECT_EQ(response["tokens"], tokens("<user>ab</><assistant>"));
  EXPECT_EQ(response["token_strs"].size(), response["tokens"].size());
  EXPECT_EQ(Reason(server, TokenizeEndpoint(), messages + R"(,"prompt":"a"})"), "not_supported");
  EXPECT_EQ(Reason(server, TokenizeEndpoint(), messages + R"(,"inputs":"a"})"), "not_supported");
  FakeServer silent;
  EXPECT_EQ(Reason(silent, TokenizeEndpoint(), messages + "}"), "no_chat_template");
}

TEST(Tokenize, InputsGiveTeisResponse) {
  FakeServer server;
  EXPECT_EQ(Respond(server, TokenizeEndpoint(), R"({"inputs":"é yes"})"), json::parse(R"([[
      {"id":259,"text":"","special":true,"start":null,"stop":null},
      {"id":195,"text":"é","special":false,"start":0,"stop":1},
      {"id":169,"text":"é","special":false,"start":0,"stop":1},
      {"id":257,"text":" yes","special":false,"start":1,"stop":5},
      {"id":0,"text":"\u0000","special":true,"start":null,"stop":null}]])"));
  EXPECT_EQ(
      Respond(server, TokenizeEndpoint(), R"({"inputs":["a",""],"add_special_tokens":false})"),
      json::parse(R"([[{"id":97,"text":"a","special":false,"start":0,"stop":1}],[]])"));
  EXPECT_EQ(Respond(server, TokenizeEndpoint(), R"({"inputs":[]})"), json::array());
}

TEST(Tokenize, Refusals) {
  FakeServer server;
  const Endpoint& endpoint = TokenizeEndpoint();
  EXPECT_EQ(Reason(server, endpoint, "{}"), "missing_field");
  EXPECT_EQ(Reason(server, endpoint, R"({"prompt":["a"]})"), "wrong_type");
  EXPECT_EQ(Reason(server, endpoint, R"({"inputs":[1]})"), "wrong_type");
  EXPECT_EQ(Reason(server, endpoint, R"({"inputs":"a","prompt_name":"q"})"), "not_supported");
  EXPECT_EQ(Reason(server, endpoint, R"({"inputs":"a","prompt":"b"})"), "not_supported");
  EXPECT_EQ(Reason(server, DetokenizeEndpoint(), R"({"ids":[1],"tokens":[2]})"), "not_supported");
  EXPECT_EQ(Reason(server, endpoint, R"({"prompt":"a","timeout_ms":0})"), "timeout_out_of_range");
  EXPECT_EQ(Reason(server, endpoint, json{{"inputs", std::vector<std::string>(129)}}.dump()),
            "too_many_items");
}

TEST(Tokenize, NeedsATokenizer) {
  CheckingServer server;
  server.tokenizer_ = nullptr;
  for (const char* body : {R"({"prompt":"a"})", R"({"inputs":"a"})"}) {
    EXPECT_EQ(PrepareBody(TokenizeEndpoint(), body, server.context()).error().reason,
              "no_tokenizer");
  }
  EXPECT_EQ(PrepareBody(DetokenizeEndpoint(), R"({"ids":[1]})", server.context()).error().reason,
            "no_tokenizer");
}

TEST(Detokenize, BothForms) {
  FakeServer server;
  const Endpoint& endpoint = DetokenizeEndpoint();
  EXPECT_EQ(Respond(server, endpoint, R"({"tokens":[97,257,98]})"),
            json::parse(R"({"prompt":"a yesb"})"));
  EXPECT_EQ(Respond(server, endpoint, R"({"tokens":[]})"), json::parse(R"({"prompt":""})"));
  EXPECT_EQ(Respond(server, endpoint, R"({"ids":[97,98]})"), json::parse(R"(["ab"])"));
  EXPECT_EQ(Respond(server, endpoint, R"({"ids":[[97],[98,99],[]]})"),
            json::parse(R"(["a","bc",""])"));
}

TEST(Detokenize, ManyIds) {
  FakeServer server;
  std::vector<TokenId> ids;
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    ids.insert(ids.end(), {97, 257, 195, 169});
    text += "a yesé";
  }
  EXPECT_EQ(Respond(server, DetokenizeEndpoint(), json{{"tokens", ids}}.dump())["prompt"], text);
  EXPECT_EQ(Respond(server, DetokenizeEndpoint(), json{{"ids", {ids, ids}}}.dump()),
            (json{text, text}));
}

TEST(Detokenize, Refusals) {
  FakeServer server;
  const Endpoint& endpoint = DetokenizeEndpoint();
  EXPECT_EQ(Reason(server, endpoint, "{}"), "missing_field");
  EXPECT_EQ(Reason(server, endpoint, R"({"tokens":"a"})"), "wrong_type");
  EXPECT_EQ(Reason(server, endpoint, R"({"tokens":[300]})"), "token_out_of_vocabulary");
  EXPECT_EQ(Reason(server, endpoint, R"({"ids":[[1],[-1]]})"), "token_out_of_vocabulary");
  EXPECT_EQ(Reason(server, endpoint, R"({"tokens":[4294967296]})"), "id_out_of_range");
}

TEST(Tokenize, DoesNotWaitForTheRanksNorForTheQueue) {
  FakeServer server(FakeServer::MultiItem(), {.max_queue = 1});
  server.cluster.Hold();
  std::vector<std::shared_ptr<AskingCall>> calls;
  const Endpoint& score = *server.service.FindByUrl("/v1/score");
  const json body = json::parse(R"({"query":[1],"items":[[2]],"label_token_ids":[3]})");
  for (int i = 0; i < 4; ++i) {  // One in a pass, and those that the queue takes.
    calls.push_back(std::make_shared<AskingCall>());
    Begin(server.service, score, score.FromJson(body), calls.back());
  }
  EXPECT_EQ(Respond(server, TokenizeEndpoint(), R"({"prompt":"a"})")["count"], 3);
  server.cluster.Release();
  server.scheduler.WaitIdle();
}

/// The tokens of a text without what the tokenizer's rule adds.
std::vector<TextToken> TokensOf(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TextToken> tokens;
  const auto count = FindTokens(tokenizer, text, false, {}, {},
                                [&](const TextToken& token) { tokens.push_back(token); });
  EXPECT_EQ(count.value(), tokens.size());
  return tokens;
}

TEST(FindTokens, PassesOnATokenAsSoonAsItsPlaceIsKnown) {
  const FakeTokenizer tokenizer({});
  const std::string text(1000, 'a');
  const std::atomic<bool> stop = false;
  std::size_t found = 0;
  std::vector<std::size_t> found_at_looks;
  const Interruption interruption(stop, [&] { found_at_looks.push_back(found); });
  ASSERT_TRUE(FindTokens(tokenizer, text, false, {}, {.interruption = &interruption},
                         [&](const TextToken&) { ++found; }));
  EXPECT_EQ(found, 1000u);
  EXPECT_GE(found_at_looks.back(), 990u);
}

TEST(FindTokens, EndsIfNobodyWaits) {
  const FakeTokenizer tokenizer({});
  std::atomic<bool> stop = false;
  std::size_t found = 0;
  const Interruption interruption(stop);
  const auto count =
      FindTokens(tokenizer, std::string(1000, 'a'), false, {}, {.interruption = &interruption},
                 [&](const TextToken&) { stop = ++found == 10; });
  EXPECT_EQ(count.error(), EncodeFault::kStopped);
  EXPECT_EQ(found, 10u);
}

TEST(FindTokens, ATokenThatEndsWithAPartOfACharacterHasAllOfIt) {
  const FakeTokenizer tokenizer({{" \xc3", 260}, {"\xa9!", 261}});
  const std::vector<TextToken> tokens = TokensOf(tokenizer, "a é!b");
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[1].text, " é");
  EXPECT_EQ(std::pair(*tokens[1].start, *tokens[1].stop), std::pair(1ul, 3ul));
  EXPECT_EQ(tokens[2].text, "é!");
  EXPECT_EQ(std::pair(*tokens[2].start, *tokens[2].stop), std::pair(2ul, 4ul));
  EXPECT_EQ(std::pair(*tokens[3].start, *tokens[3].stop), std::pair(4ul, 5ul));
}

/// What Hugging Face's library says of a text.
struct Golden {
  std::string tokenizer;
  std::string text;
  std::vector<TokenId> ids;
  std::vector<std::pair<std::size_t, std::size_t>> places;
};

std::vector<Golden> Goldens() {
  std::vector<Golden> goldens;
  std::ifstream file(std::filesystem::path(reference::kTestsDirectory) /
                     "coordinator/endpoints/tokenize/places.jsonl");
  for (std::string line; std::getline(file, line);) {
    const json golden = json::parse(line);
    goldens.push_back({golden["tokenizer"], golden["text"], golden["ids"], golden["places"]});
  }
  return goldens;
}

using Place = std::pair<std::size_t, std::size_t>;

/// The place without the white space at its ends. The reference counts that white space or not, as
/// the tokenizer's post-processor says.
Place Trimmed(const Place& place, const std::vector<std::string>& characters) {
  auto [start, stop] = place;
  const auto is_space = [&](std::size_t i) {
    return characters[i] == " " || characters[i] == "\n" || characters[i] == "\t";
  };
  while (start < stop && is_space(start)) {
    ++start;
  }
  while (start < stop && is_space(stop - 1)) {
    --stop;
  }
  return {start, stop};
}

std::vector<std::string> CharactersOf(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const std::size_t length = FirstCodePoint(text).length;
    characters.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return characters;
}

TEST(FindTokens, PlacesAreThoseOfTheReference) {
  std::map<std::string, std::unique_ptr<Tokenizer>> tokenizers;
  std::map<std::string, std::size_t> without_place;
  std::size_t tokens = 0;
  for (const Golden& golden : Goldens()) {
    std::unique_ptr<Tokenizer>& tokenizer = tokenizers[golden.tokenizer];
    if (tokenizer == nullptr) {
      tokenizer = LoadTokenizer(std::filesystem::path(reference::kTestsDirectory) /
                                "coordinator/text/data" / golden.tokenizer);
    }
    SCOPED_TRACE(golden.tokenizer + ": " + golden.text);
    const std::vector<std::string> characters = CharactersOf(golden.text);
    const std::vector<TextToken> own = TokensOf(*tokenizer, golden.text);
    ASSERT_EQ(own.size(), golden.ids.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      ++tokens;
      EXPECT_EQ(own[i].id, golden.ids[i]);
      if (!own[i].start) {
        ++without_place[golden.tokenizer];
        continue;
      }
      const Place place = Trimmed({*own[i].start, *own[i].stop}, characters);
      // The reference gives a token of white space alone the place before, at or behind it.
      if (place.first < place.second) {
        EXPECT_EQ(place, Trimmed(golden.places[i], characters)) << "token " << i;
      }
    }
  }
  // The others normalize, or have tokens for single bytes or for characters that they lack.
  for (const char* name : {"cased", "digits", "ignore-merges", "sentencepiece-bpe"}) {
    EXPECT_EQ(without_place[name], 0u) << name;
  }
  EXPECT_GT(tokens, 1000u);
}

}  // namespace tokenize_test
}  // namespace scorecast::coordinator
