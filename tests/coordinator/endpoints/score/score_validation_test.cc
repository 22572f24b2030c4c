// Every way in which a score request can be refused, with its code, its reason and its field.

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/endpoints/score/score_endpoint.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {
namespace score_validation_test {

using proto::Expected;

struct Server : CheckingServer {
  Server() {
    options_.delimiter = kDelimiter;
    options_.max_multi_item_seq_len = 100;
  }

  Expected<PreparedRequest> Prepare(const std::string& body) const {
    return PrepareBody(ScoreEndpoint(), body, context());
  }
};

class ScoreValidation : public ValidationTest<Server> {};

Server OneByOne() {
  Server server;
  server.options_.delimiter.reset();
  server.options_.one_by_one = true;
  return server;
}

/// Multi-item mode without SGLang's rules.
Server Default() {
  Server server;
  server.options_.delimiter.reset();
  return server;
}

/// SGLang's rules without a delimiter.
Server Mis() {
  Server server = Default();
  server.options_.enable_mis = true;
  return server;
}

/// A request of ids with a query, two items and these further fields.
std::string Ids(const std::string& fields) {
  return R"({"query":[1,2],"items":[[3],[4]],)" + fields + "}";
}
std::string Text(const std::string& fields) {
  return R"({"query":"ab","items":["c","d"],)" + fields + "}";
}
/// A list of `n` ids.
std::string List(int n, int id = 1) {
  std::string list = "[";
  for (int i = 0; i < n; ++i) {
    list += (i > 0 ? "," : "") + std::to_string(id);
  }
  return list + "]";
}
/// A request with a query of `n` ids and these items.
std::string WithQuery(int n, const std::string& items) {
  return R"({"query":)" + List(n) + R"(,"items":)" + items + R"(,"label_token_ids":[5]})";
}

TEST_F(ScoreValidation, TheRequestsUnderTestAreOtherwiseValid) {
  for (const Server& server : {Server(), Default(), Mis(), OneByOne()}) {
    ExpectAccepted(server, Ids(R"("label_token_ids":[5,6])"));
    ExpectAccepted(server, Text(R"("labels":[" yes"," no"])"));
    ExpectAccepted(server, WithQuery(5, "[[1]]"));
  }
}

TEST_F(ScoreValidation, MissingFields) {
  ExpectRefused({}, R"({"items":["a"],"label_token_ids":[1]})", "missing_field", "query");
  ExpectRefused({}, R"({"query":null,"items":["a"],"label_token_ids":[1]})", "missing_field",
                "query");
  ExpectRefused({}, R"({"query":"a","label_token_ids":[1]})", "missing_field", "items",
                "items must be provided");
}

TEST_F(ScoreValidation, WrongTypes) {
  const std::string labels = R"(,"label_token_ids":[5]})";
  ExpectRefused({}, "[]", "wrong_type", "");
  ExpectRefused({}, "null", "wrong_type", "");
  ExpectRefused({}, R"({"query":7,"items":["a"])" + labels, "wrong_type", "query");
  ExpectRefused({}, R"({"query":{},"items":["a"])" + labels, "wrong_type", "query");
  ExpectRefused({}, R"({"query":[1,2.5],"items":[[1]])" + labels, "wrong_type", "query[1]");
  ExpectRefused({}, R"({"query":[true],"items":[[1]])" + labels, "wrong_type", "query[0]");
  ExpectRefused({}, R"({"query":"a","items":42)" + labels, "wrong_type", "items");
  ExpectRefused({}, R"({"query":"a","items":["b",4])" + labels, "wrong_type", "items[1]");
  ExpectRefused({}, R"({"query":[1],"items":[[1],[2,"3"]])" + labels, "wrong_type", "items[1][1]");
  ExpectRefused({}, R"({"query":[1],"items":[[1e-2]])" + labels, "wrong_type", "items[0][0]");
  ExpectRefused({}, R"({"query":[1],"items":[[[1]]])" + labels, "wrong_type", "items[0][0]");
  ExpectRefused({}, Ids(R"("label_token_ids":"bad")"), "wrong_type", "label_token_ids");
  ExpectRefused({}, Ids(R"("label_token_ids":[5,"6"])"), "wrong_type", "label_token_ids[1]");
  ExpectRefused({}, Ids(R"("label_token_ids":[5,[6]])"), "wrong_type", "label_token_ids[1]");
  ExpectRefused({}, Ids(R"("label_token_ids":[[5],6])"), "wrong_type", "label_token_ids[1]");
  ExpectRefused({}, Ids(R"("label_token_ids":[[5],[6,null]])"), "wrong_type",
                "label_token_ids[1][1]");
  ExpectRefused({}, Text(R"("labels":" yes")"), "wrong_type", "labels");
  ExpectRefused({}, Text(R"("labels":[" yes",1])"), "wrong_type", "labels[1]");
  for (const char* field : {"apply_softmax", "item_first", "return_token_logprobs"}) {
    ExpectRefused({}, Ids(R"("label_token_ids":[5],")" + std::string(field) + R"(":1)"),
                  "wrong_type", field);
  }
  for (const char* field : {"top_logprobs", "max_new_tokens", "timeout_ms", "priority"}) {
    ExpectRefused({}, Ids(R"("label_token_ids":[5],")" + std::string(field) + R"(":1.5)"),
                  "wrong_type", field);
    ExpectRefused(
        {}, Ids(R"("label_token_ids":[5],")" + std::string(field) + R"(":18446744073709551615)"),
        "wrong_type", field);
  }
  ExpectRefused({}, Ids(R"("label_token_ids":[5],"temperature":"1")"), "wrong_type", "temperature");
  ExpectRefused({}, Ids(R"("label_token_ids":[5],"model":7)"), "wrong_type", "model");
  ExpectRefused({}, Ids(R"("label_token_ids":[5],"cache_salt":7)"), "wrong_type", "cache_salt");
}

TEST_F(ScoreValidation, NullIsAbsentAndUnknownFieldsAreIgnored) {
  ExpectAccepted({}, Ids(R"("label_token_ids":[5],"labels":null,"apply_softmax":null,)"
                         R"("temperature":null,"top_logprobs":null,"timeout_ms":null,"model":null,)"
                         R"("cache_salt":null,"score_extraction_token":null,)"
                         R"("return_pooled_hidden_states":false,"query_embed_overrides":null,)"
                         R"("rid":{"a":[1]},"user":"b","stream":false,"best_of":1)"));
}

TEST_F(ScoreValidation, FieldsThatWouldChangeTheMeaning) {
  for (const char* field :
       {"return_pooled_hidden_states", "query_embed_overrides", "item_embed_overrides", "best_of",
        "stream", "chat_template", "instruction", "instruct", "add_special_tokens"}) {
    ExpectRefused({}, Ids(R"("label_token_ids":[5],")" + std::string(field) + R"(":7)"),
                  "not_supported", field);
  }
}

TEST_F(ScoreValidation, EmptyQuery) {
  Server no_bos;
  no_bos.tokenizer_ = &no_bos.without_bos_;
  Server one_by_one_no_bos = OneByOne();
  one_by_one_no_bos.tokenizer_ = &one_by_one_no_bos.without_bos_;
  const std::string text = R"({"query":"","items":["a"],"label_token_ids":[5]})";
  const std::string ids = R"({"query":[],"items":[[1]],"label_token_ids":[5]})";
  ExpectRefused(no_bos, text, "empty_query", "query");
  ExpectRefused(one_by_one_no_bos, text, "empty_query", "query");
  ExpectRefused({}, ids, "empty_query", "query");
  ExpectRefused(OneByOne(), ids, "empty_query", "query");
  ExpectRefused(Default(), ids, "empty_query", "query");
  ExpectRefused(Default(), R"({"query":[],"items":[],"label_token_ids":[5]})", "empty_query",
                "query");
  ExpectRefused({}, R"({"query":[],"items":[],"label_token_ids":[5]})", "empty_query", "query");
  ExpectAccepted({}, text);
  ExpectAccepted(OneByOne(), text);
  ExpectAccepted(OneByOne(), R"({"query":"","items":[""],"label_token_ids":[5]})");
}

TEST_F(ScoreValidation, TooManyItems) {
  std::string items = "[";
  for (int i = 0; i < 127; ++i) {
    items += "[],";
  }
  ExpectAccepted({}, WithQuery(2, items + "[]]"));
  for (const Server& server : {Server(), Default(), Mis(), OneByOne()}) {
    ExpectRefused(server, WithQuery(2, items + "[],[]]"), "too_many_items", "items",
                  "Too many items: 129 > 128.");
  }
}

TEST_F(ScoreValidation, LengthAndPositions) {
  // 60 + 20 + 20 = 100 tokens are allowed. The largest position + 1 may be 64.
  Server long_positions;
  long_positions.config_.max_position_embeddings = 1000;
  const std::string two = "[" + List(20) + "," + List(20) + "]";
  ExpectAccepted(long_positions, WithQuery(60, two));
  ExpectRefused(long_positions, WithQuery(61, two), "sequence_too_long", "items", "101 > 100");
  ExpectRefused(long_positions, WithQuery(101, "[]"), "sequence_too_long", "items", "101 > 100");
  long_positions.options_.delimiter_visibility = DelimiterVisibility::kFirst;
  ExpectAccepted(long_positions, WithQuery(59, two));
  ExpectRefused(long_positions, WithQuery(60, two), "sequence_too_long", "items", "101 > 100");

  ExpectAccepted({}, WithQuery(60, "[[1],[1,2,3,4],[1,2,3]]"));
  ExpectRefused({}, WithQuery(60, "[[1],[1,2,3,4,5],[1,2,3]]"), "too_many_positions", "items[1]",
                "65 > 64");
  ExpectRefused({}, WithQuery(65, "[[]]"), "too_many_positions", "query", "65 > 64");
  ExpectRefused({}, WithQuery(65, "[]"), "too_many_positions", "query", "65 > 64");
  Server first;
  first.options_.delimiter_visibility = DelimiterVisibility::kFirst;
  ExpectRefused(first, WithQuery(60, "[[1],[1,2,3,4],[1,2,3]]"), "too_many_positions", "items[1]",
                "65 > 64");

  for (const Server& server : {Default(), OneByOne()}) {
    ExpectAccepted(server, WithQuery(60, "[[1],[1,2,3,4]]"));
    ExpectRefused(server, WithQuery(60, "[[1],[1,2,3,4,5]]"), "too_many_positions", "items[1]",
                  "65 > 64 (query and items[1])");
    ExpectRefused(server, WithQuery(65, "[[]]"), "too_many_positions", "items[0]", "65 > 64");
    ExpectAccepted(server, WithQuery(65, "[]"));
  }
  ExpectRefused(Mis(), WithQuery(60, "[" + List(20) + "," + List(21) + "]"), "sequence_too_long",
                "items", "101 > 100");
  // Only the items' own lengths are limited.
  ExpectAccepted(Default(), WithQuery(40, "[" + List(20) + "," + List(24) + "," + List(24) + "]"));
}

TEST_F(ScoreValidation, Capacity) {
  Server small;
  // Nothing is kept from one pass to the next, so the whole request must fit into one.
  small.limits_ = {.max_rows = 32, .max_reads = 8, .pass_kv_rows = 64, .kept_kv_rows = 0};
  ExpectAccepted(small, WithQuery(16, "[" + List(16) + "]"));
  ExpectRefused(small, WithQuery(32, "[" + List(20) + "," + List(20) + "]"), "capacity", "items");
  Server by_default = Default();
  by_default.limits_ = small.limits_;
  ExpectAccepted(by_default, WithQuery(12, "[" + List(20) + "," + List(20) + ",[]]"));
  ExpectRefused(by_default, WithQuery(12, "[" + List(20) + "," + List(21) + "]"), "capacity",
                "items[1]");
  Server prompts = OneByOne();
  prompts.limits_ = {.max_rows = 32, .max_reads = 8, .pass_kv_rows = 32, .kept_kv_rows = 0};
  ExpectAccepted(prompts, WithQuery(31, "[[1]]"));
  ExpectRefused(prompts, WithQuery(31, "[[1]," + List(2) + "]"), "capacity", "items[1]");
}

// "<d>" is one token, so the items below merge with queries that end in "<".
TEST_F(ScoreValidation, ItemsThatMergeWithTheQuery) {
  const auto text = [](int length, const std::string& end, const std::string& items) {
    return R"({"query":")" + std::string(static_cast<std::size_t>(length), 'x') + end +
           R"(","items":)" + items + R"(,"labels":[" yes"]})";
  };
  Server server;
  server.options_.item_tokenization = ItemTokenization::kContinued;
  ExpectRefused(server, text(1, "<", R"(["c","d>"])"), "delimiter_in_item", "items[1]", "256");
  // " yes" and " no" are tokens. The query's own tokens are BOS, 28 bytes and the space.
  ExpectAccepted(server, text(28, " ", R"(["yes","no"])"));
  ExpectAccepted(server, text(28, " ", R"(["yes","no","a"])"));
  ExpectAccepted(server, text(28, " ", R"(["yes","no","aaaaaaaaaa"])"));
  ExpectRefused(server, text(28, " ", R"(["yes","no","aaaaaaaaaaa"])"), "sequence_too_long",
                "items", "101 > 100");
  ExpectAccepted(server, text(58, " ", R"(["yesaaaa"])"));
  ExpectRefused(server, text(58, " ", R"(["a","yesaaaaa"])"), "sequence_too_long", "items");
  server.options_.max_multi_item_seq_len = 1000;
  ExpectRefused(server, text(58, " ", R"(["a","yesaaaaa"])"), "too_many_positions", "items[1]",
                "65 > 64");
  server.limits_ = {.max_rows = 32, .max_reads = 8, .pass_kv_rows = 64, .kept_kv_rows = 0};
  ExpectAccepted(server, text(28, " ", R"(["yes","a"])"));
  ExpectRefused(server, text(28, " ", R"(["yes","yesaaa"])"), "capacity", "items[1]");
}

TEST_F(ScoreValidation, DelimiterInQueryOrItems) {
  ExpectRefused({}, R"({"query":[1,256],"items":[[1]],"label_token_ids":[5]})",
                "delimiter_in_query", "query", "256");
  ExpectRefused({}, R"({"query":[1],"items":[[1],[],[2,256]],"label_token_ids":[5]})",
                "delimiter_in_item", "items[2]", "256");
  ExpectRefused({}, R"({"query":"a<d>","items":["b"],"label_token_ids":[5]})", "delimiter_in_query",
                "query");
  ExpectRefused({}, R"({"query":"a","items":["b","c<d>d"],"label_token_ids":[5]})",
                "delimiter_in_item", "items[1]");
  // Ids are compared, never text, and digits in a text are text.
  ExpectAccepted({}, R"({"query":"256","items":["256","d>","< d>"],"label_token_ids":[5]})");
  for (const Server& server : {Default(), Mis(), OneByOne()}) {
    ExpectAccepted(server, R"({"query":"a<d>","items":["b<d>"],"label_token_ids":[5]})");
  }
  Server zero;
  zero.options_.delimiter = 0;
  ExpectRefused(zero, R"({"query":[1],"items":[[0]],"label_token_ids":[5]})", "delimiter_in_item",
                "items[0]");
}

TEST_F(ScoreValidation, TokensOutsideTheVocabulary) {
  for (const Server& server : {Server(), Default(), Mis(), OneByOne()}) {
    ExpectAccepted(server, R"({"query":[0,299],"items":[[0]],"label_token_ids":[5]})");
    ExpectRefused(server, R"({"query":[1,300],"items":[[1]],"label_token_ids":[5]})",
                  "token_out_of_vocabulary", "query", "Token ID 300");
    ExpectRefused(server, R"({"query":[1],"items":[[1],[-1]],"label_token_ids":[5]})",
                  "token_out_of_vocabulary", "items[1]", "Token ID -1");
    ExpectRefused(server, R"({"query":[1],"items":[[2147483648]],"label_token_ids":[5]})",
                  "id_out_of_range", "items[0][0]", "2147483648");
    ExpectRefused(server, R"({"query":"a","items":["b<x>"],"label_token_ids":[5]})",
                  "token_out_of_vocabulary", "items[0]", "Token ID 400");
  }
}

TEST_F(ScoreValidation, ExtractionToken) {
  const auto ids = [](const std::string& items, const std::string& token) {
    return R"({"query":[1,2],"items":)" + items + R"(,"label_token_ids":[5],)" +
           R"("score_extraction_token":)" + token + "}";
  };
  const auto text = [](const std::string& query, const std::string& items,
                       const std::string& token) {
    return R"({"query":")" + query + R"(","items":)" + items +
           R"(,"label_token_ids":[5],"score_extraction_token":)" + token + "}";
  };
  for (const Server& server : {Server(), Default(), Mis(), OneByOne()}) {
    ExpectAccepted(server, ids("[[3,4,3],[3]]", "3"));
    ExpectAccepted(server, ids("[]", "3"));
    ExpectAccepted(server, text("ab", R"(["c yes yes"," yes"])", R"(" yes")"));
    ExpectAccepted(server, text("ab", R"(["c yes yes"])", "257"));
    ExpectRefused(server, ids("[[3],[4],[3]]", "3"), "no_extraction_token", "items[1]",
                  "No score-extraction token (id=3) found in items[1]");
    ExpectRefused(server, ids("[[3],[]]", "3"), "no_extraction_token", "items[1]");
    ExpectRefused(server, text("ab", R"(["c"])", R"(" yes")"), "no_extraction_token", "items[0]",
                  "(id=257)");
    ExpectRefused(server, ids("[[2]]", "2"), "extraction_token_in_query", "query",
                  "score-extraction token found in the shared query prefix");
    ExpectRefused(server, text("a yes", R"([" yes"])", R"(" yes")"), "extraction_token_in_query",
                  "query");
    ExpectRefused(server, text("a", R"(["b"])", R"("maybe")"), "not_one_token",
                  "score_extraction_token",
                  R"(score_extraction_token must be exactly one token: "maybe" is 5 tokens.)");
    ExpectRefused(server, text("a", R"(["b"])", R"("<x>")"), "token_out_of_vocabulary",
                  "score_extraction_token", "Token ID 400");
    for (const char* outside : {"300", "-1"}) {
      ExpectRefused(server, ids("[[3]]", outside), "token_out_of_vocabulary",
                    "score_extraction_token", "Token ID " + std::string(outside));
    }
    ExpectRefused(server, ids("[[3]]", "2147483648"), "id_out_of_range", "score_extraction_token");
    ExpectAccepted(server, ids("[[3]]", "3.0"));
    for (const char* other : {"3.5", "[3]", "true"}) {
      ExpectRefused(server, ids("[[3]]", other), "wrong_type", "score_extraction_token",
                    "a string or a token id");
    }
    ExpectRefused(server, ids("[[3]]", R"(3,"item_first":true)"), "not_supported", "item_first",
                  "item_first is not supported with score_extraction_token");
    Server no_tokenizer = server;
    no_tokenizer.tokenizer_ = nullptr;
    ExpectAccepted(no_tokenizer, ids("[[3]]", "3"));
    ExpectRefused(no_tokenizer, ids("[[3]]", R"(" yes")"), "no_tokenizer",
                  "score_extraction_token");
  }
}

TEST_F(ScoreValidation, Labels) {
  const std::string none = R"({"query":[1],"items":[[1]]})";
  ExpectRefused({}, none, "no_labels", "label_token_ids", "label_token_ids or labels is required");
  ExpectRefused({}, Ids(R"("label_token_ids":[])"), "no_labels", "label_token_ids",
                "must be a nonempty list");
  ExpectRefused({}, Ids(R"("label_token_ids":[[5],[]])"), "no_labels", "label_token_ids[1]");
  ExpectRefused({}, Ids(R"("labels":[])"), "no_labels", "labels");
  ExpectRefused({}, Ids(R"("label_token_ids":[5,300])"), "label_out_of_vocabulary",
                "label_token_ids[1]", "Token ID 300 is out of vocabulary (vocab size: 300)");
  ExpectRefused({}, Ids(R"("label_token_ids":[-1])"), "negative_label", "label_token_ids[0]");
  ExpectRefused({}, Ids(R"("label_token_ids":[5,6,5])"), "duplicate_label", "label_token_ids[2]");
  ExpectRefused({}, Ids(R"("label_token_ids":[[5],[6,6]])"), "duplicate_label",
                "label_token_ids[1][1]");
  ExpectRefused({}, Ids(R"("label_token_ids":[[5],[6],[7]])"), "label_lists_mismatch",
                "label_token_ids", "3 lists for 2 items");
  ExpectRefused({}, Ids(R"("label_token_ids":[[5]])"), "label_lists_mismatch", "label_token_ids",
                "1 list for 2 items");
  ExpectRefused({}, Ids(R"("label_token_ids":[4294967296])"), "id_out_of_range",
                "label_token_ids[0]");
  ExpectRefused({}, Text(R"("labels":[" yes"," maybe"])"), "label_not_one_token", "labels[1]",
                " is 6 tokens.");
  ExpectRefused({}, Text(R"("labels":[""])"), "label_not_one_token", "labels[0]");
  ExpectRefused({}, Text(R"("labels":[" yes"," yes"])"), "duplicate_label", "labels[1]");
  ExpectRefused({}, Text(R"("labels":[" yes"],"label_token_ids":[5])"), "labels_given_twice",
                "labels");
  ExpectAccepted({}, Ids(R"("label_token_ids":[[5],[5,299]])"));
  // Labels are checked even if there are no items.
  ExpectRefused({}, R"({"query":[1],"items":[],"label_token_ids":[300]})",
                "label_out_of_vocabulary", "label_token_ids[0]");
}

TEST_F(ScoreValidation, Classifiers) {
  Server classifier;
  classifier.config_.num_labels = 3;
  Server by_default = Default();
  by_default.config_.num_labels = 3;
  Server one_by_one = OneByOne();
  one_by_one.config_.num_labels = 3;
  for (const Server& server : {classifier, by_default, one_by_one}) {
    for (const char* fields :
         {R"("apply_softmax":false)", R"("apply_softmax":true,"temperature":0.5)",
          R"("activation":null)", R"("activation":"none")", R"("activation":"sigmoid")",
          R"("activation":"softmax","temperature":2)",
          R"("activation":"softmax","apply_softmax":true)",
          R"("labels":null,"label_token_ids":null,"top_logprobs":0,"max_new_tokens":0)"}) {
      ExpectAccepted(server, Ids(fields));
      ExpectAccepted(server, Text(fields));
    }
    ExpectRefused(server, Ids(R"("label_token_ids":[1])"), "not_for_classifiers", "label_token_ids",
                  "needs a language model, but this model is a classifier. Leave it out");
    ExpectRefused(server, Ids(R"("label_token_ids":[])"), "not_for_classifiers", "label_token_ids");
    ExpectRefused(server, Text(R"("labels":[" yes"])"), "not_for_classifiers", "labels");
    ExpectRefused(server, Ids(R"("return_token_logprobs":true)"), "not_for_classifiers",
                  "return_token_logprobs");
    ExpectRefused(server, Ids(R"("top_logprobs":2)"), "not_for_classifiers", "top_logprobs");
    ExpectRefused(server, Ids(R"("max_new_tokens":1)"), "max_new_tokens_not_zero",
                  "max_new_tokens");
    ExpectRefused(server, Ids(R"("activation":"relu")"), "unknown_activation", "activation",
                  R"(must be "none", "softmax" or "sigmoid", not "relu")");
    ExpectRefused(server, Ids(R"("activation":1)"), "wrong_type", "activation");
    ExpectRefused(server, Ids(R"("activation":"sigmoid","apply_softmax":true)"),
                  "contradictory_activation", "activation",
                  R"("sigmoid" contradicts apply_softmax=True)");
    ExpectRefused(server, Ids(R"("temperature":2)"), "temperature_without_softmax", "temperature");
    ExpectRefused(server, Ids(R"("activation":"sigmoid","temperature":2)"),
                  "temperature_without_softmax", "temperature");
    // The tokens of texts are those of the vocabulary, not of the classes.
    ExpectRefused(server, R"({"query":[1,300],"items":[[1]]})", "token_out_of_vocabulary", "query");
  }
  ExpectRefused({}, Ids(R"("label_token_ids":[5],"activation":"none")"), "only_for_classifiers",
                "activation", "needs a classifier");
}

TEST_F(ScoreValidation, Temperature) {
  const auto with = [](const std::string& fields) {
    return Ids(R"("label_token_ids":[5],)" + fields);
  };
  ExpectAccepted({}, with(R"("apply_softmax":true,"temperature":0.5)"));
  ExpectAccepted({}, with(R"("temperature":1)"));
  ExpectRefused({}, with(R"("temperature":2)"), "temperature_without_softmax", "temperature",
                "temperature requires apply_softmax=True");
  for (const char* value : {"0", "-1", "-0.0"}) {
    ExpectRefused({}, with(R"("apply_softmax":true,"temperature":)" + std::string(value)),
                  "temperature_out_of_range", "temperature",
                  "temperature must be finite and greater than zero");
  }
  // JSON cannot express numbers that are not finite, but messages can.
  const Server server;
  v1::Request request;
  v1::ScoreRequest& score = *request.mutable_score();
  score.mutable_query()->mutable_ids()->add_ids(1);
  score.mutable_label_token_ids()->mutable_for_all()->add_ids(5);
  score.set_apply_softmax(true);
  for (const double value :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    score.set_temperature(value);
    const auto prepared = PrepareParsed(ScoreEndpoint().FromMessage(request),
                                        {server.config_, nullptr, server.options_, server.limits_});
    ASSERT_FALSE(prepared.has_value());
    EXPECT_EQ(prepared.error().reason, "temperature_out_of_range");
  }
}

TEST_F(ScoreValidation, Numbers) {
  const auto with = [](const std::string& fields) {
    return Ids(R"("label_token_ids":[5],)" + fields);
  };
  ExpectAccepted({}, with(R"("top_logprobs":50,"max_new_tokens":0,"timeout_ms":1)"));
  ExpectAccepted({}, with(R"("timeout_ms":9223372036854775807)"));
  ExpectRefused({}, with(R"("top_logprobs":51)"), "top_logprobs_out_of_range", "top_logprobs",
                "from 0 to 50, not 51");
  ExpectRefused({}, with(R"("top_logprobs":-1)"), "top_logprobs_out_of_range", "top_logprobs");
  Server tiny;
  tiny.config_.vocab_size = 20;
  tiny.options_.delimiter = 19;
  ExpectRefused(tiny, with(R"("top_logprobs":21)"), "top_logprobs_out_of_range", "top_logprobs",
                "from 0 to 20");
  ExpectRefused({}, with(R"("max_new_tokens":1)"), "max_new_tokens_not_zero", "max_new_tokens");
  ExpectRefused({}, with(R"("timeout_ms":0)"), "timeout_out_of_range", "timeout_ms");
  ExpectRefused({}, with(R"("timeout_ms":-5)"), "timeout_out_of_range", "timeout_ms");
  ExpectAccepted({}, with(R"("priority":-10)"));
  ExpectAccepted({}, with(R"("priority":10)"));
  ExpectRefused({}, with(R"("priority":11)"), "priority_out_of_range", "priority",
                "priority must be from -10 to 10, not 11.");
  ExpectRefused({}, with(R"("priority":-11)"), "priority_out_of_range", "priority");
}

TEST_F(ScoreValidation, TextAndIds) {
  const std::string labels = R"(,"label_token_ids":[5]})";
  for (const Server& server : {Server(), Default(), Mis(), OneByOne()}) {
    ExpectRefused(server, R"({"query":"a","items":["b",[1]])" + labels, "text_and_ids_mixed",
                  "items[1]", "Invalid combination of query/items types for score_request");
    ExpectRefused(server, R"({"query":[1],"items":["b"])" + labels, "text_and_ids_mixed",
                  "items[0]");
    ExpectRefused(server, R"({"query":[1],"items":"b")" + labels, "text_and_ids_mixed", "items[0]");
    Server no_tokenizer = server;
    no_tokenizer.tokenizer_ = nullptr;
    ExpectAccepted(no_tokenizer, Ids(R"("label_token_ids":[5])"));
    ExpectRefused(no_tokenizer, Text(R"("label_token_ids":[5])"), "no_tokenizer", "query",
                  "no tokenizer");
    ExpectRefused(no_tokenizer, Ids(R"("labels":[" yes"])"), "no_tokenizer", "labels");
  }
}

TEST_F(ScoreValidation, InvalidUtf8) {
  ExpectRefused({}, "{\"query\":\"a\xff\",\"items\":[],\"label_token_ids\":[5]}", "invalid_utf8",
                "");
  const Server server;
  const auto prepare = [&](const nlohmann::json& body) {
    const auto prepared = PrepareParsed(ScoreEndpoint().FromJson(body), server.context());
    return prepared ? "" : prepared.error().reason + " " + prepared.error().param;
  };
  nlohmann::json request = {{"query", "a"}, {"items", {"b", "\xc0\x80"}}, {"labels", {" yes"}}};
  EXPECT_EQ(prepare(request), "invalid_utf8 items[1]");
  request["items"] = {"b"};
  request["labels"] = {" yes", "\xed\xa0\x80"};
  EXPECT_EQ(prepare(request), "invalid_utf8 labels[1]");
  request["query"] = "\x80";
  EXPECT_EQ(prepare(request), "invalid_utf8 query");
}

}  // namespace score_validation_test
}  // namespace scorecast::coordinator
