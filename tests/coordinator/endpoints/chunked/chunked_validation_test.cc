// Every way in which a chunked request can be refused, with its code, its reason and its field.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {
namespace chunked_validation_test {

using proto::Expected;

struct Server : CheckingServer {
  Server() {
    options_.max_items = 4;
    options_.chunks.enable_chunk_aware = true;
    options_.chunks.max_chunk_len = 20;
  }

  Expected<PreparedRequest> Prepare(const std::string& body) const {
    return PrepareBody(ChunkedEndpoint(), body, context());
  }
};

class ChunkedValidation : public ValidationTest<Server> {};

Server WithoutBos() {
  Server server;
  server.tokenizer_ = &server.without_bos_;
  return server;
}

Server WithoutTokenizer() {
  Server server;
  server.tokenizer_ = nullptr;
  return server;
}

/// A request of text, and one of ids, with a prompt in parts and these further fields.
std::string Text(const std::string& fields) {
  return R"({"system_prompt":"s","chunks":["ab","c"],"question":"?",)" + fields + "}";
}
std::string Ids(const std::string& fields) {
  return R"({"system_prompt":[1],"chunks":[[1,2],[3]],"question":[4],)" + fields + "}";
}
/// A request with these fields and labels.
std::string Labelled(const std::string& fields) {
  return "{" + fields + R"(,"label_token_ids":[5]})";
}
/// A request for a completion with these options.
std::string Generated(const std::string& fields) { return Text(R"("max_new_tokens":2,)" + fields); }
std::string Prompt(const std::string& prompt) { return Labelled(R"("prompt":")" + prompt + "\""); }
std::string Letters(std::size_t n) { return std::string(n, 'x'); }

TEST_F(ChunkedValidation, TheRequestsUnderTestAreOtherwiseValid) {
  ExpectAccepted({}, Text(R"("labels":[" yes"," no"])"));
  ExpectAccepted({}, Ids(R"("label_token_ids":[5])"));
  ExpectAccepted({}, Labelled(R"("question":"?")"));
  ExpectAccepted({}, Generated(R"("temperature":0)"));
  ExpectAccepted({}, Prompt("s # # a # # ?"));
  ExpectAccepted({}, Labelled(R"("questions":["?","why?"])"));
}

TEST_F(ChunkedValidation, WrongTypes) {
  ExpectRefused({}, "[]", "wrong_type", "");
  ExpectRefused({}, "7", "wrong_type", "");
  ExpectRefused({}, Labelled(R"("system_prompt":7,"question":"?")"), "wrong_type", "system_prompt");
  ExpectRefused({}, Labelled(R"("chunks":"a","question":"?")"), "wrong_type", "chunks");
  ExpectRefused({}, Labelled(R"("chunks":["a",7],"question":"?")"), "wrong_type", "chunks[1]");
  ExpectRefused({}, Labelled(R"("chunks":[[1],[1.5]],"question":[1])"), "wrong_type",
                "chunks[1][0]");
  ExpectRefused({}, Labelled(R"("question":{})"), "wrong_type", "question");
  ExpectRefused({}, Labelled(R"("questions":"?")"), "wrong_type", "questions");
  ExpectRefused({}, Labelled(R"("prompt":[1,2])"), "wrong_type", "prompt");
  ExpectRefused({}, Text(R"("label_token_ids":[[5]])"), "wrong_type", "label_token_ids[0]");
  ExpectRefused({}, Text(R"("chunk_groups":[1.5],"label_token_ids":[5])"), "wrong_type",
                "chunk_groups[0]");
  ExpectRefused({}, Generated(R"("stop":[7])"), "wrong_type", "stop[0]");
  ExpectRefused({}, Generated(R"("stop":7)"), "wrong_type", "stop");
  ExpectRefused({}, Generated(R"("stop_token_ids":7)"), "wrong_type", "stop_token_ids");
  for (const char* seed : {"-1", "1.5", "18446744073709551616", "\"1\""}) {
    ExpectRefused({}, Generated(R"("seed":)" + std::string(seed)), "wrong_type", "seed");
  }
  for (const char* field : {"stream", "ignore_eos", "apply_softmax", "return_token_logprobs"}) {
    ExpectRefused({}, Generated("\"" + std::string(field) + "\":1"), "wrong_type", field);
  }
  for (const char* field :
       {"chunk_temperature", "chunk_scale", "label_temperature", "temperature", "top_p"}) {
    ExpectRefused({}, Generated("\"" + std::string(field) + "\":\"1\""), "wrong_type", field);
  }
  for (const char* field : {"top_logprobs", "top_k", "timeout_ms", "priority"}) {
    ExpectRefused({}, Generated("\"" + std::string(field) + "\":1.5"), "wrong_type", field);
  }
  for (const char* field : {"chunk_position_strategy", "model", "cache_salt", "activation"}) {
    ExpectRefused({}, Generated("\"" + std::string(field) + "\":1"), "wrong_type", field);
  }
}

TEST_F(ChunkedValidation, NullIsAbsentAndUnknownFieldsAreIgnored) {
  ExpectAccepted({}, Labelled(R"("system_prompt":null,"chunks":null,"questions":null,)"
                              R"("prompt":null,"chunk_groups":null,"stop":null,"seed":null,)"
                              R"("chunk_position_strategy":null,"question":"?","user":[1])"));
}

TEST_F(ChunkedValidation, OneFormOfThePrompt) {
  ExpectRefused({}, Labelled(R"("chunks":["a"])"), "missing_field", "question");
  ExpectRefused({}, Labelled(R"("question":"?","questions":["?"])"), "question_given_twice",
                "questions");
  for (const char* part : {R"("system_prompt":"s")", R"("chunks":["a"])", R"("question":"?")",
                           R"("questions":["?"])"}) {
    const std::string given = part;
    ExpectRefused({}, Labelled(R"("prompt":"p",)" + given), "prompt_given_twice",
                  given.substr(1, given.find('"', 1) - 1));
  }
}

TEST_F(ChunkedValidation, AnEmptyQuestion) {
  ExpectRefused({}, Labelled(R"("question":"")"), "empty_question", "question");
  ExpectRefused({}, Labelled(R"("question":[])"), "empty_question", "question");
  ExpectRefused({}, Labelled(R"("questions":["?",""])"), "empty_question", "questions[1]");
  ExpectRefused({}, Labelled(R"("questions":[])"), "empty_question", "questions");
  ExpectRefused({}, Prompt("s # # a # # "), "empty_question", "prompt");
  ExpectRefused({}, Prompt(" # #  # # "), "empty_question", "prompt");
}

TEST_F(ChunkedValidation, AnEmptyPrompt) {
  ExpectAccepted({}, Prompt(""));
  ExpectRefused(WithoutBos(), Prompt(""), "empty_prompt", "prompt");
}

TEST_F(ChunkedValidation, TextAndIdsMustNotBeMixed) {
  ExpectRefused({}, Labelled(R"("system_prompt":[1],"question":"?")"), "text_and_ids_mixed",
                "system_prompt");
  ExpectRefused({}, Labelled(R"("chunks":["a",[1]],"question":"?")"), "text_and_ids_mixed",
                "chunks[1]", "question is text, chunks[1] token ids");
  ExpectRefused({}, Labelled(R"("chunks":["a"],"question":[1])"), "text_and_ids_mixed", "chunks[0]",
                "question is token ids, chunks[0] text");
  ExpectRefused({}, Labelled(R"("questions":["?",[1]])"), "text_and_ids_mixed", "questions[1]");
}

TEST_F(ChunkedValidation, TextNeedsATokenizer) {
  ExpectAccepted(WithoutTokenizer(), Ids(R"("label_token_ids":[5])"));
  ExpectRefused(WithoutTokenizer(), Labelled(R"("question":"?")"), "no_tokenizer", "question");
  ExpectRefused(WithoutTokenizer(), Prompt("p"), "no_tokenizer", "prompt");
  ExpectRefused(WithoutTokenizer(), Ids(R"("max_new_tokens":1,"stop":"x")"), "no_tokenizer",
                "stop");
}

TEST_F(ChunkedValidation, TextMustBeValidUtf8) {
  // The JSON parser refuses such text earlier, but other forms of a request may not.
  const nlohmann::json body = {
      {"label_token_ids", {5}}, {"question", "?"}, {"chunks", {"a", "\xff"}}};
  const Server server;
  const auto prepared = PrepareParsed(ChunkedEndpoint().FromJson(body), server.context());
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().reason, "invalid_utf8");
  EXPECT_EQ(prepared.error().param, "chunks[1]");
}

TEST_F(ChunkedValidation, IdsMustBeInTheVocabulary) {
  ExpectRefused({}, Labelled(R"("system_prompt":[300],"question":[1])"), "token_out_of_vocabulary",
                "system_prompt", "300");
  ExpectRefused({}, Labelled(R"("chunks":[[1],[2,-1]],"question":[1])"), "token_out_of_vocabulary",
                "chunks[1]");
  ExpectRefused({}, Labelled(R"("questions":[[1],[300]])"), "token_out_of_vocabulary",
                "questions[1]");
  ExpectRefused({}, Labelled(R"("chunks":["a<x>"],"question":"?")"), "token_out_of_vocabulary",
                "chunks[0]");
  ExpectRefused({}, Prompt("a<x>"), "token_out_of_vocabulary", "prompt");
  ExpectRefused({}, Generated(R"("stop_token_ids":[1,300])"), "token_out_of_vocabulary",
                "stop_token_ids");
}

TEST_F(ChunkedValidation, AChunkThatIsTooLongIsNamed) {
  ExpectAccepted({}, Labelled(R"("chunks":["a",")" + Letters(20) + R"("],"question":"?")"));
  ExpectRefused({}, Labelled(R"("chunks":["a",")" + Letters(21) + R"("],"question":"?")"),
                "chunk_too_long", "chunks[1]", "21 > 20");
  ExpectRefused({}, Prompt("s # # a # # " + Letters(21) + " # # ?"), "chunk_too_long", "chunks[1]");
  // Each chunk of a group is checked separately.
  const std::string group = R"(,"chunk_groups":[2],"question":"?")";
  ExpectAccepted({}, Labelled(R"("chunks":[")" + Letters(15) + R"(","abcdefgh"])" + group));
  ExpectRefused({}, Labelled(R"("chunks":["a",")" + Letters(21) + R"("])" + group),
                "chunk_too_long", "chunks[1]");
  // Parts that are not chunks may be longer.
  ExpectAccepted({}, Labelled(R"("system_prompt":")" + Letters(21) + R"(","question":")" +
                              Letters(21) + "\""));
}

TEST_F(ChunkedValidation, TooManyChunksOrQuestions) {
  ExpectAccepted({}, Labelled(R"("chunks":["","","",""],"question":"?")"));
  ExpectRefused({}, Labelled(R"("chunks":["","","","",""],"question":"?")"), "too_many_chunks",
                "chunks", "5 > 4");
  ExpectRefused({}, Prompt("s # #  # #  # #  # #  # #  # # ?"), "too_many_chunks", "prompt");
  ExpectRefused({}, Labelled(R"("questions":["1","2","3","4","5"])"), "too_many_questions",
                "questions", "5 > 4");
}

TEST_F(ChunkedValidation, GroupsMustHoldAllChunks) {
  const auto groups = [](const std::string& list) {
    return Text(R"("label_token_ids":[5],"chunk_groups":)" + list);
  };
  ExpectAccepted({}, groups("[2]"));
  ExpectAccepted({}, groups("[1,1]"));
  ExpectAccepted({}, Labelled(R"("question":"?","chunk_groups":[])"));
  ExpectRefused({}, groups("[1]"), "bad_chunk_groups", "chunk_groups");
  ExpectRefused({}, groups("[]"), "bad_chunk_groups", "chunk_groups");
  ExpectRefused({}, groups("[1,2]"), "bad_chunk_groups", "chunk_groups[1]");
  ExpectRefused({}, groups("[2,0]"), "bad_chunk_groups", "chunk_groups[1]");
  ExpectRefused({}, groups("[3,-1]"), "bad_chunk_groups", "chunk_groups[0]");
  ExpectRefused({}, groups("[9223372036854775807,1]"), "bad_chunk_groups", "chunk_groups[0]");
  ExpectRefused({}, Labelled(R"("prompt":"plain","chunk_groups":[1])"), "bad_chunk_groups",
                "chunk_groups[0]");
}

TEST_F(ChunkedValidation, StrategyAndWeighting) {
  ExpectAccepted({}, Generated(R"("chunk_position_strategy":"offset")"));
  ExpectRefused({}, Generated(R"("chunk_position_strategy":"other")"), "unknown_position_strategy",
                "chunk_position_strategy", "other");
  ExpectAccepted({}, Generated(R"("chunk_temperature":0.01,"chunk_scale":1e-6)"));
  ExpectAccepted({}, Generated(R"("chunk_temperature":100,"chunk_scale":1e6)"));
  for (const std::string field : {"chunk_temperature", "chunk_scale"}) {
    for (const char* value : {"0", "-1", "9e-7", "1.1e6"}) {
      ExpectRefused({}, Generated("\"" + field + "\":" + value), field + "_out_of_range", field);
    }
  }
}

TEST_F(ChunkedValidation, CacheSalt) {
  ExpectAccepted({}, Generated(R"("cache_salt":")" + std::string(256, 's') + "\""));
  ExpectRefused({}, Generated(R"("cache_salt":")" + std::string(257, 's') + "\""),
                "cache_salt_too_long", "cache_salt", "257 > 256");
}

TEST_F(ChunkedValidation, Labels) {
  ExpectRefused({}, R"({"question":"?"})", "no_labels", "label_token_ids",
                "or max_new_tokens for a text");
  ExpectRefused({}, Text(R"("top_logprobs":1)"), "no_labels", "label_token_ids");
  ExpectRefused({}, Generated(R"("apply_softmax":true)"), "no_labels", "label_token_ids");
  ExpectRefused({}, Generated(R"("return_token_logprobs":true)"), "no_labels", "label_token_ids");
  ExpectAccepted({}, Generated(R"("top_logprobs":1)"));
  ExpectRefused({}, Text(R"("labels":["a"],"label_token_ids":[5])"), "labels_given_twice",
                "labels");
  ExpectRefused({}, Text(R"("label_token_ids":[])"), "no_labels", "label_token_ids");
  ExpectRefused({}, Text(R"("label_token_ids":[5,5])"), "duplicate_label", "label_token_ids[1]");
  ExpectRefused({}, Text(R"("label_token_ids":[300])"), "label_out_of_vocabulary",
                "label_token_ids[0]");
  ExpectRefused({}, Text(R"("labels":["ab"])"), "label_not_one_token", "labels[0]");
  ExpectRefused({}, Text(R"("label_token_ids":[5],"label_temperature":2)"),
                "temperature_without_softmax", "label_temperature");
  ExpectRefused({}, Text(R"("label_token_ids":[5],"apply_softmax":true,"label_temperature":0)"),
                "temperature_out_of_range", "label_temperature");
  // The temperature of the completion says nothing about labels.
  ExpectAccepted({}, Text(R"("label_token_ids":[5],"temperature":2)"));
  for (const char* value : {"-1", "51"}) {
    ExpectRefused({}, Text(R"("label_token_ids":[5],"top_logprobs":)" + std::string(value)),
                  "top_logprobs_out_of_range", "top_logprobs");
  }
}

TEST_F(ChunkedValidation, Classifiers) {
  Server classifier;
  classifier.config_.num_labels = 3;
  ExpectAccepted(classifier, R"({"system_prompt":"s","chunks":["ab","c"],"question":"?"})");
  ExpectAccepted(classifier, R"({"prompt":"p"})");
  ExpectAccepted(classifier, Ids(R"("apply_softmax":true,"label_temperature":0.5)"));
  ExpectAccepted(classifier, Ids(R"("activation":"sigmoid","max_new_tokens":0)"));
  ExpectRefused(classifier, Ids(R"("max_new_tokens":1)"), "not_for_classifiers", "max_new_tokens",
                "needs a language model");
  ExpectRefused(classifier, Ids(R"("label_token_ids":[1])"), "not_for_classifiers",
                "label_token_ids");
  ExpectRefused(classifier, Text(R"("labels":[" yes"])"), "not_for_classifiers", "labels");
  ExpectRefused(classifier, Ids(R"("return_token_logprobs":true)"), "not_for_classifiers",
                "return_token_logprobs");
  ExpectRefused(classifier, Ids(R"("top_logprobs":1)"), "not_for_classifiers", "top_logprobs");
  ExpectRefused(classifier, Ids(R"("activation":"relu")"), "unknown_activation", "activation");
  ExpectRefused(classifier, Ids(R"("activation":"none","apply_softmax":true)"),
                "contradictory_activation", "activation");
  ExpectRefused(classifier, Ids(R"("label_temperature":2)"), "temperature_without_softmax",
                "label_temperature");
  ExpectRefused({}, Generated(R"("activation":"none")"), "only_for_classifiers", "activation");
}

TEST_F(ChunkedValidation, Sampling) {
  for (const char* value : {"-0.5", "100.5", "1e300"}) {
    ExpectRefused({}, Generated(R"("temperature":)" + std::string(value)),
                  "temperature_out_of_range", "temperature");
  }
  for (const char* value : {"0", "1e-6", "0.01", "100"}) {
    ExpectAccepted({}, Generated(R"("temperature":)" + std::string(value)));
  }
  for (const char* value : {"0", "-1", "1.001"}) {
    ExpectRefused({}, Generated(R"("top_p":)" + std::string(value)), "top_p_out_of_range", "top_p");
  }
  ExpectAccepted({}, Generated(R"("top_p":1e-9)"));
  ExpectRefused({}, Generated(R"("top_k":-2)"), "top_k_out_of_range", "top_k");
  ExpectAccepted({}, Generated(R"("top_k":-1)"));
  ExpectAccepted({}, Generated(R"("top_k":100000)"));
  ExpectAccepted({}, Generated(R"("seed":18446744073709551615)"));
  // The others are those of /v1/completions.
  ExpectRefused({}, Generated(R"("min_p":2)"), "min_p_out_of_range", "min_p");
  ExpectRefused({}, Generated(R"("min_tokens":100)"), "min_tokens_out_of_range", "min_tokens",
                "max_new_tokens");
  ExpectRefused({}, Generated(R"("add_special_tokens":false)"), "not_supported",
                "add_special_tokens");
  ExpectRefused({}, Generated(R"("truncate_prompt_tokens":5)"), "not_supported",
                "truncate_prompt_tokens");
}

TEST_F(ChunkedValidation, StopStrings) {
  ExpectAccepted({}, Generated(R"("stop":"x")"));
  ExpectAccepted({}, Generated(R"("stop":[])"));
  ExpectRefused({}, Generated(R"("stop":["x",""])"), "empty_stop", "stop[1]");
  std::string stops = R"(["x")";
  for (int i = 1; i < 16; ++i) {
    stops += R"(,"x")";
  }
  ExpectAccepted({}, Generated(R"("stop":)" + stops + "]"));
  ExpectRefused({}, Generated(R"("stop":)" + stops + R"(,"x"])"), "too_many_stops", "stop",
                "17 > 16");
  ExpectAccepted({}, Generated(R"("stop":")" + Letters(256) + "\""));
  ExpectRefused({}, Generated(R"("stop":["x",")" + Letters(257) + R"("])"), "stop_too_long",
                "stop[1]", "257 > 256");
  std::string ids = "[1";
  for (int i = 1; i < 1024; ++i) {
    ids += ",1";
  }
  ExpectAccepted({}, Generated(R"("stop_token_ids":)" + ids + "]"));
  ExpectRefused({}, Generated(R"("stop_token_ids":)" + ids + ",1]"), "too_many_stops",
                "stop_token_ids", "1025 > 1024");
}

TEST_F(ChunkedValidation, Positions) {
  // BOS, "s", a chunk of 20, a question: 22 + 42 = 64.
  const std::string chunks = R"("system_prompt":"s","chunks":[")" + Letters(20) + R"(","a"],)";
  const auto with_question = [&](std::size_t length, const std::string& rest) {
    return "{" + chunks + R"("question":")" + Letters(length) + "\"," + rest + "}";
  };
  const std::string labels = R"("label_token_ids":[5])";
  ExpectAccepted({}, with_question(42, labels));
  ExpectRefused({}, with_question(43, labels), "too_many_positions", "question", "65 > 64");
  ExpectAccepted({}, with_question(42, R"("max_new_tokens":1)"));
  ExpectRefused({}, with_question(42, R"("max_new_tokens":2)"), "too_many_positions",
                "max_new_tokens", "completions 1). max_new_tokens may be at most 1.");
  ExpectAccepted({}, with_question(32, R"("max_new_tokens":11)"));
  ExpectRefused({}, with_question(43, R"("max_new_tokens":2)"), "too_many_positions", "question");
  // With `offset` the second chunk's row counts too.
  ExpectAccepted({}, with_question(41, labels + R"(,"chunk_position_strategy":"offset")"));
  ExpectRefused({}, with_question(42, labels + R"(,"chunk_position_strategy":"offset")"),
                "too_many_positions", "question");
  const auto with_parts = [&](std::size_t system_prompt, std::size_t chunk) {
    return R"({"system_prompt":")" + Letters(system_prompt) + R"(","chunks":["a",")" +
           Letters(chunk) + R"("],"questions":["?",")" + Letters(20) + R"("],)" + labels + "}";
  };
  ExpectAccepted({}, with_parts(23, 20));
  ExpectRefused({}, with_parts(24, 20), "too_many_positions", "questions[1]", "65 > 64");
  ExpectRefused({}, with_parts(44, 20), "too_many_positions", "chunks", "85 > 64");
  ExpectRefused({}, with_parts(64, 20), "too_many_positions", "system_prompt", "105 > 64");
  ExpectRefused({}, Prompt(Letters(64)), "too_many_positions", "prompt", "65 > 64");
  for (const char* value : {"-1", "65", "9223372036854775807"}) {
    ExpectRefused({}, Text(R"("max_new_tokens":)" + std::string(value)),
                  "max_new_tokens_out_of_range", "max_new_tokens");
  }
}

TEST_F(ChunkedValidation, Timeout) {
  ExpectRefused({}, Generated(R"("timeout_ms":0)"), "timeout_out_of_range", "timeout_ms");
  ExpectAccepted({}, Generated(R"("timeout_ms":9223372036854775807)"));
}

TEST_F(ChunkedValidation, Priority) {
  ExpectAccepted({}, Generated(R"("priority":-10)"));
  ExpectRefused({}, Generated(R"("priority":11)"), "priority_out_of_range", "priority");
}

TEST_F(ChunkedValidation, Capacity) {
  Server small;
  small.limits_ = {.max_rows = 8, .max_reads = 8, .pass_kv_rows = 64, .kept_kv_rows = 64};
  ExpectAccepted(small, Text(R"("label_token_ids":[5])"));
  // Four segments, each longer than one granule of 16 rows.
  const std::string chunk = "\"" + Letters(17) + "\"";
  ExpectRefused(small, Labelled(R"("chunks":[)" + chunk + "," + chunk + R"(],"question":)" + chunk),
                "capacity", "chunks");
  // A request with a completion keeps its rows, and each of its segments has a page of its own.
  ExpectRefused(small, Generated(R"("temperature":0)"), "capacity", "chunks", "256 rows > 64");
  small.limits_.kept_kv_rows = 256;
  ExpectAccepted(small, Generated(R"("temperature":0)"));
}

}  // namespace chunked_validation_test
}  // namespace scorecast::coordinator
