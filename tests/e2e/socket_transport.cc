#include "tests/e2e/socket_transport.h"

#include <limits>
#include <map>
#include <stdexcept>
#include <thread>

#include <google/protobuf/util/json_util.h>

#include "coordinator/json/json_text.h"
#include "coordinator/json/response_writer.h"
#include "proto/http_responses.pb.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace {

using nlohmann::json;

[[noreturn]] void ThrowOnlyJson(const std::string& field, const json& value) {
  throw std::invalid_argument("only JSON can express " + field + ": " + value.dump());
}

void ToIds(const json& list, v1::TokenIds& ids) {
  for (const json& id : list) {
    if (!id.is_number_integer() || id.get<std::int64_t>() < std::numeric_limits<int>::min() ||
        id.get<std::int64_t>() > std::numeric_limits<int>::max()) {
      ThrowOnlyJson("a list of ids", list);
    }
    ids.add_ids(id.get<std::int32_t>());
  }
}

void ToTextOrIds(const json& value, v1::TextOrIds& message) {
  if (value.is_string()) {
    message.set_text(value.get<std::string>());
  } else if (value.is_array()) {
    ToIds(value, *message.mutable_ids());
  } else {
    ThrowOnlyJson("a text", value);
  }
}

void ToLabels(const json& value, v1::LabelTokenIds& labels) {
  if (!value.is_array()) {
    ThrowOnlyJson("label_token_ids", value);
  }
  if (value.empty() || !value.front().is_array()) {
    ToIds(value, *labels.mutable_for_all());
    return;
  }
  for (const json& list : value) {
    ToIds(list, *labels.mutable_per_item()->add_lists());
  }
}

void ToStrings(const std::string& field, const json& value,
               google::protobuf::RepeatedPtrField<std::string>& strings) {
  if (!value.is_array()) {
    ThrowOnlyJson(field, value);
  }
  for (const json& one : value) {
    *strings.Add() = one.get<std::string>();
  }
}

void SetField(const std::string& name, const json& value, v1::ScoreRequest& score) {
  if (name == "query") {
    ToTextOrIds(value, *score.mutable_query());
  } else if (name == "items" && value.is_string()) {
    score.add_items()->set_text(value.get<std::string>());
  } else if (name == "items" && value.is_array()) {
    for (const json& item : value) {
      ToTextOrIds(item, *score.add_items());
    }
  } else if (name == "label_token_ids") {
    ToLabels(value, *score.mutable_label_token_ids());
  } else if (name == "labels") {
    ToStrings(name, value, *score.mutable_labels());
  } else if (name == "apply_softmax" && value.is_boolean()) {
    score.set_apply_softmax(value.get<bool>());
  } else if (name == "activation" && value.is_string()) {
    score.set_activation(value.get<std::string>());
  } else if (name == "item_first" && value.is_boolean()) {
    score.set_item_first(value.get<bool>());
  } else if (name == "temperature" && value.is_number()) {
    score.set_temperature(value.get<double>());
  } else if (name == "return_token_logprobs" && value.is_boolean()) {
    score.set_return_token_logprobs(value.get<bool>());
  } else if (name == "likelihood" && value.is_boolean()) {
    score.set_likelihood(value.get<bool>());
  } else if (name == "top_logprobs" && value.is_number_integer()) {
    score.set_top_logprobs(value.get<std::int64_t>());
  } else if (name == "score_extraction_token" && value.is_string()) {
    score.mutable_score_extraction_token()->set_text(value.get<std::string>());
  } else if (name == "score_extraction_token" && value.is_number_integer()) {
    score.mutable_score_extraction_token()->set_id(value.get<std::int32_t>());
  } else if (name == "max_new_tokens" && value.is_number_integer()) {
    score.set_max_new_tokens(value.get<std::int64_t>());
  } else if (name == "timeout_ms" && value.is_number_integer()) {
    score.set_timeout_ms(value.get<std::int64_t>());
  } else if (name == "priority" && value.is_number_integer()) {
    score.set_priority(value.get<std::int64_t>());
  } else if (name == "model" && value.is_string()) {
    score.set_model(value.get<std::string>());
  } else if (name == "cache_salt" && value.is_string()) {
    score.set_cache_salt(value.get<std::string>());
  } else {
    ThrowOnlyJson(name, value);
  }
}

using Setter = void (*)(const std::string& name, const json& value, v1::ChunkedRequest& request);

/// Converts a list whose elements are texts or lists of ids.
void ToParts(const std::string& name, const json& value,
             google::protobuf::RepeatedPtrField<v1::TextOrIds>& parts) {
  if (!value.is_array()) {
    ThrowOnlyJson(name, value);
  }
  for (const json& part : value) {
    ToTextOrIds(part, *parts.Add());
  }
}

/// Sets a field whose JSON value has the type that the setter takes.
template <typename Value, void (v1::ChunkedRequest::*set)(Value)>
void Plain(const std::string& /*name*/, const json& value, v1::ChunkedRequest& request) {
  (request.*set)(value.get<Value>());
}

const std::map<std::string, Setter>& ChunkedSetters() {
  using Chunked = v1::ChunkedRequest;
  static const std::map<std::string, Setter> setters = {
      {"system_prompt", [](const std::string&, const json& value,
                           Chunked& to) { ToTextOrIds(value, *to.mutable_system_prompt()); }},
      {"chunks", [](const std::string& name, const json& value,
                    Chunked& to) { ToParts(name, value, *to.mutable_chunks()); }},
      {"chunk_groups",
       [](const std::string&, const json& value, Chunked& to) {
         for (const json& size : value) {
           to.add_chunk_groups(size.get<std::int64_t>());
         }
       }},
      {"question", [](const std::string&, const json& value,
                      Chunked& to) { ToTextOrIds(value, *to.mutable_question()); }},
      {"questions", [](const std::string& name, const json& value,
                       Chunked& to) { ToParts(name, value, *to.mutable_questions()); }},
      {"prompt", [](const std::string&, const json& value,
                    Chunked& to) { to.set_prompt(value.get<std::string>()); }},
      {"chunk_position_strategy",
       [](const std::string&, const json& value, Chunked& to) {
         to.set_chunk_position_strategy(value.get<std::string>());
       }},
      {"chunk_temperature", Plain<double, &Chunked::set_chunk_temperature>},
      {"chunk_scale", Plain<double, &Chunked::set_chunk_scale>},
      {"label_token_ids", [](const std::string&, const json& value,
                             Chunked& to) { ToIds(value, *to.mutable_label_token_ids()); }},
      {"labels", [](const std::string& name, const json& value,
                    Chunked& to) { ToStrings(name, value, *to.mutable_labels()); }},
      {"apply_softmax", Plain<bool, &Chunked::set_apply_softmax>},
      {"activation", [](const std::string&, const json& value,
                        Chunked& to) { to.set_activation(value.get<std::string>()); }},
      {"label_temperature", Plain<double, &Chunked::set_label_temperature>},
      {"return_token_logprobs", Plain<bool, &Chunked::set_return_token_logprobs>},
      {"top_logprobs", Plain<std::int64_t, &Chunked::set_top_logprobs>},
      {"max_new_tokens", Plain<std::int64_t, &Chunked::set_max_new_tokens>},
      {"temperature", Plain<double, &Chunked::set_temperature>},
      {"top_p", Plain<double, &Chunked::set_top_p>},
      {"top_k", Plain<std::int64_t, &Chunked::set_top_k>},
      {"seed", Plain<std::uint64_t, &Chunked::set_seed>},
      {"stop", [](const std::string& name, const json& value,
                  Chunked& to) { ToStrings(name, value, *to.mutable_stop()); }},
      {"stop_token_ids",
       [](const std::string&, const json& value, Chunked& to) {
         for (const json& id : value) {
           to.add_stop_token_ids(id.get<std::int32_t>());
         }
       }},
      {"ignore_eos", Plain<bool, &Chunked::set_ignore_eos>},
      {"stream", Plain<bool, &Chunked::set_stream>},
      {"cache_salt", [](const std::string&, const json& value,
                        Chunked& to) { to.set_cache_salt(value.get<std::string>()); }},
  };
  return setters;
}

/// Embeddings as HTTP has them in the encoding that was asked for.
std::string EmbeddingsBody(const v1::EmbeddingsResponse& response) {
  const v1::Embedding& first = response.data(0);
  const google::protobuf::Descriptor& form =
      !first.base64().empty() ? *v1::OpenAiBase64Response::descriptor()
      : first.bytes().empty() ? *v1::OpenAiEmbeddingsResponse::descriptor()
                              : *v1::JinaBinaryResponse::descriptor();
  return coordinator::ResponseJson(
      response, coordinator::FormOf(*v1::EmbeddingsResponse::descriptor(), form));
}

std::string BodyOf(const v1::Response& response) {
  switch (response.result_case()) {
    case v1::Response::kScore:
      return coordinator::ResponseJson(response.score());
    case v1::Response::kChunked:
      return coordinator::ResponseJson(response.chunked());
    case v1::Response::kCompletions:
      return coordinator::ResponseJson(response.completions(),
                                       coordinator::FormOf(*v1::CompletionsResponse::descriptor(),
                                                           *v1::TextCompletion::descriptor()));
    case v1::Response::kRerank:
      return coordinator::ResponseJson(
          response.rerank(), coordinator::FormOf(*v1::RerankResponse::descriptor(),
                                                 *v1::CohereRerankResponse::descriptor()));
    case v1::Response::kSystemone:
      return coordinator::ResponseJson(response.systemone(),
                                       coordinator::FormOf(*v1::SystemOneResponse::descriptor(),
                                                           *v1::SystemOneBody::descriptor()));
    case v1::Response::kEmbeddings:
      return EmbeddingsBody(response.embeddings());
    default:
      return coordinator::ResponseJson(
          response.error(),
          coordinator::FormOf(*v1::Error::descriptor(), *v1::ErrorBody::descriptor()));
  }
}

}  // namespace

v1::Request ToRequest(std::uint64_t request_id, const json& body) {
  if (!body.contains("items") || body.at("items").is_null()) {
    ThrowOnlyJson("a request without items", body);
  }
  v1::Request request;
  request.set_request_id(request_id);
  request.mutable_score();
  for (const auto& [name, value] : body.items()) {
    if (!value.is_null()) {
      SetField(name, value, *request.mutable_score());
    }
  }
  return request;
}

v1::Request ToChunkedRequest(std::uint64_t request_id, const json& body) {
  v1::Request request;
  request.set_request_id(request_id);
  request.mutable_chunked();
  for (const auto& [name, value] : body.items()) {
    const auto setter = ChunkedSetters().find(name);
    if (setter == ChunkedSetters().end()) {
      ThrowOnlyJson(name, value);
    }
    setter->second(name, value, *request.mutable_chunked());
  }
  return request;
}

/// Sets fields that have the names and types of the JSON.
void SetFields(const json& fields, google::protobuf::Message& message) {
  if (!google::protobuf::util::JsonStringToMessage(fields.dump(), &message).ok()) {
    ThrowOnlyJson("a " + std::string(message.GetDescriptor()->name()), fields);
  }
}

v1::Request ToRerankRequest(std::uint64_t request_id, const json& body) {
  v1::Request request;
  request.set_request_id(request_id);
  SetFields(body, *request.mutable_rerank());
  return request;
}

v1::Request ToEmbeddingsRequest(std::uint64_t request_id, json body) {
  v1::Request request;
  request.set_request_id(request_id);
  v1::EmbeddingsRequest& message = *request.mutable_embeddings();
  const json input = body.at("input");
  body.erase("input");
  SetFields(body, message);
  for (const json& text : input) {
    ToTextOrIds(text, *message.add_input());
  }
  return request;
}

/// `prompt` is one list of ids, or one text.
v1::Request ToCompletionsRequest(std::uint64_t request_id, json body) {
  v1::Request request;
  request.set_request_id(request_id);
  ToTextOrIds(body.at("prompt"), *request.mutable_completions()->add_prompt());
  body.erase("prompt");
  // The other fields have the names and types of the JSON.
  v1::CompletionsRequest others;
  if (!google::protobuf::util::JsonStringToMessage(body.dump(), &others).ok()) {
    ThrowOnlyJson("a request to complete prompts", body);
  }
  request.mutable_completions()->MergeFrom(others);
  return request;
}

void ToTextOrJson(const json& value, v1::TextOrJson& message) {
  if (value.is_string()) {
    message.set_text(value.get<std::string>());
  } else if (!value.is_null()) {
    message.set_json(value.dump());
  }
}

void ToCriteria(const json& value, v1::DecisionCriteria& message) {
  if (value.is_object()) {
    message.mutable_options();
    for (const auto& [key, description] : value.items()) {
      v1::DecisionOption& option = *message.mutable_options()->add_options();
      option.set_key(key);
      ToTextOrJson(description, *option.mutable_value());
    }
  } else if (value.is_array()) {
    message.mutable_levels();
    for (const json& level : value) {
      ToTextOrJson(level, *message.mutable_levels()->add_levels());
    }
  }
}

v1::Request ToSystemOneRequest(std::uint64_t request_id, const json& body) {
  v1::Request request;
  request.set_request_id(request_id);
  v1::SystemOneRequest& message = *request.mutable_systemone();
  ToTextOrJson(body.at("state"), *message.mutable_state());
  for (const auto& [id, question] : body.at("questions").items()) {
    v1::NamedQuestion& named = *message.add_questions();
    named.set_key(id);
    named.mutable_value()->set_type(question.at("type").get<std::string>());
    ToTextOrJson(question.value("instructions", json()),
                 *named.mutable_value()->mutable_instructions());
    if (question.contains("criteria")) {
      ToCriteria(question.at("criteria"), *named.mutable_value()->mutable_criteria());
    }
  }
  message.set_x_label_mass(body.value("x_label_mass", false));
  return request;
}

v1::Request ToMessage(std::uint64_t request_id, const EndpointRequest& request) {
  if (request.url == "/v1/systemone") {
    return ToSystemOneRequest(request_id, request.body);
  }
  if (request.url == "/v1/rerank") {
    return ToRerankRequest(request_id, request.body);
  }
  if (request.url == "/v1/embeddings") {
    return ToEmbeddingsRequest(request_id, request.body);
  }
  if (request.url == "/v1/completions") {
    return ToCompletionsRequest(request_id, request.body);
  }
  return request.url == "/v1/chunked" ? ToChunkedRequest(request_id, request.body)
                                      : ToRequest(request_id, request.body);
}

std::string ToBatchLine(const v1::Response& response) {
  coordinator::OrderedJson batch_response;
  batch_response["status_code"] = response.has_error() ? response.error().code() : 200;
  batch_response["body"] = coordinator::OrderedJson::parse(BodyOf(response));
  coordinator::OrderedJson line;
  line["custom_id"] = std::to_string(response.request_id());
  line["response"] = std::move(batch_response);
  line["error"] = nullptr;
  return coordinator::ToJsonText(line);
}

namespace {

/// Sends the requests on one connection. If `in_turn`, each is sent after the reply to the one
/// before it; otherwise all are sent at once, from another thread.
BatchRun RunOnConnection(const BatchCommand& command, const std::vector<EndpointRequest>& requests,
                         bool in_turn) {
  std::vector<v1::Request> messages;
  for (const EndpointRequest& request : requests) {
    messages.push_back(ToMessage(messages.size(), request));
  }
  Service service(command);
  const auto client = service.Connect();
  std::thread sender;
  if (!in_turn) {
    // Another thread sends, because the server stops reading while its client does not read
    // replies.
    sender = std::thread([&] {
      for (const v1::Request& message : messages) {
        try {
          client->Send(message);
        } catch (const std::runtime_error&) {
          return;  // Receive fails too.
        }
      }
    });
  }
  BatchRun run;
  run.lines.resize(messages.size());
  bool all_succeeded = true;
  std::string fault;
  try {
    for (const v1::Request& message : messages) {
      const v1::Response response = in_turn ? client->Call(message) : client->Receive();
      std::string& line = run.lines.at(response.request_id());
      if (!line.empty()) {
        throw std::runtime_error("two replies to a request: " + line);
      }
      line = ToBatchLine(response);
      all_succeeded = all_succeeded && !response.has_error();
    }
  } catch (const std::exception& thrown) {
    fault = thrown.what();
  }
  boost::system::error_code gone;
  client->socket().shutdown(boost::asio::ip::tcp::socket::shutdown_both, gone);
  if (sender.joinable()) {
    sender.join();
  }
  const ProcessResult result = service.Drain();
  run.err = result.err + fault;
  run.exit_code = !fault.empty()                            ? 1
                  : result.exit_code == 0 && !all_succeeded ? 3
                                                            : result.exit_code;
  return run;
}

}  // namespace

BatchRun RunThroughSocket(const BatchCommand& command,
                          const std::vector<EndpointRequest>& requests) {
  return RunOnConnection(command, requests, /*in_turn=*/false);
}

BatchRun RunInTurn(const BatchCommand& command, const std::vector<EndpointRequest>& requests) {
  return RunOnConnection(command, requests, /*in_turn=*/true);
}

}  // namespace scorecast::testing
