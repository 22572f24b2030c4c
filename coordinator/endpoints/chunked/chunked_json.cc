#include "coordinator/endpoints/chunked/chunked_json.h"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/chunked/chunked_fields.h"
#include "coordinator/json/body_reader.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

void ReadPrompt(BodyReader& reader, ChunkedRequest& request) {
  request.system_prompt = reader.OptionalTextOrIds("system_prompt");
  request.chunks = reader.TextOrIdsList("chunks");
  request.chunk_groups = reader.Integers("chunk_groups");
  request.question = reader.OptionalTextOrIds("question");
  request.questions = reader.TextOrIdsList("questions");
  request.prompt = reader.String("prompt");
  request.chunk_position_strategy = reader.String("chunk_position_strategy");
  request.chunk_temperature = reader.Number("chunk_temperature", request.chunk_temperature);
  request.chunk_scale = reader.Number("chunk_scale", request.chunk_scale);
}

void ReadScoring(BodyReader& reader, ChunkedRequest& request) {
  request.label_token_ids = reader.TokenIds("label_token_ids");
  request.labels = reader.Strings("labels");
  request.apply_softmax = reader.Bool("apply_softmax", request.apply_softmax);
  request.activation = reader.String("activation");
  request.label_temperature = reader.Number("label_temperature", request.label_temperature);
  request.return_token_logprobs =
      reader.Bool("return_token_logprobs", request.return_token_logprobs);
  request.top_logprobs = reader.Integer("top_logprobs").value_or(request.top_logprobs);
}

void ReadGeneration(BodyReader& reader, ChunkedRequest& request) {
  SamplingOptions& sampling = request.sampling;
  request.max_new_tokens = reader.Integer("max_new_tokens").value_or(request.max_new_tokens);
  sampling.temperature = reader.Number("temperature", sampling.temperature);
  sampling.top_p = reader.Number("top_p", sampling.top_p);
  sampling.top_k = reader.Integer("top_k").value_or(sampling.top_k);
  sampling.seed = reader.Unsigned("seed");
  request.stop = reader.StringOrStrings("stop").value_or(std::vector<std::string>());
  request.stop_token_ids = reader.TokenIds("stop_token_ids").value_or(std::vector<TokenId>());
  request.ignore_eos = reader.Bool("ignore_eos", request.ignore_eos);
  request.stream = reader.Bool("stream", request.stream);
}

}  // namespace

Expected<ChunkedRequest> ChunkedRequestFromJson(const nlohmann::json& body) {
  BodyReader reader(body, kChunkedFields);
  ChunkedRequest request;
  ReadPrompt(reader, request);
  ReadScoring(reader, request);
  ReadGeneration(reader, request);
  reader.ReadOptions(request);
  reader.ReadPriority(request);
  if (reader.error()) {
    return Unexpected(*std::move(reader.error()));
  }
  return request;
}

}  // namespace scorecast::coordinator
