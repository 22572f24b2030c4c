#include "tests/e2e/socket_door.h"

#include <limits>
#include <map>
#include <stdexcept>
#include <thread>

#include "coordinator/doors/json_text.h"
#include "coordinator/doors/score_json.h"
#include "coordinator/socket/score_messages.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace {

using nlohmann::json;

[[noreturn]] void OnlyJson(const std::string& field, const json& value) {
  throw std::invalid_argument("only JSON can say " + field + ": " + value.dump());
}

void ToIds(const json& list, v1::TokenIds& ids) {
  for (const json& id : list) {
    if (!id.is_number_integer() || id.get<std::int64_t>() < std::numeric_limits<int>::min() ||
        id.get<std::int64_t>() > std::numeric_limits<int>::max()) {
      OnlyJson("a list of ids", list);
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
    OnlyJson("a text", value);
  }
}

void ToLabels(const json& value, v1::LabelTokenIds& labels) {
  if (!value.is_array()) {
    OnlyJson("label_token_ids", value);
  }
  if (value.empty() || !value.front().is_array()) {
    ToIds(value, *labels.mutable_for_all());
    return;
  }
  for (const json& list : value) {
    ToIds(list, *labels.mutable_per_item()->add_lists());
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
  } else if (name == "labels" && value.is_array()) {
    for (const json& label : value) {
      score.add_labels(label.get_ref<const std::string&>());
    }
  } else if (name == "apply_softmax" && value.is_boolean()) {
    score.set_apply_softmax(value.get<bool>());
  } else if (name == "item_first" && value.is_boolean()) {
    score.set_item_first(value.get<bool>());
  } else if (name == "temperature" && value.is_number()) {
    score.set_temperature(value.get<double>());
  } else if (name == "return_token_logprobs" && value.is_boolean()) {
    score.set_return_token_logprobs(value.get<bool>());
  } else if (name == "top_logprobs" && value.is_number_integer()) {
    score.set_top_logprobs(value.get<std::int64_t>());
  } else if (name == "max_new_tokens" && value.is_number_integer()) {
    score.set_max_new_tokens(value.get<std::int64_t>());
  } else if (name == "timeout_ms" && value.is_number_integer()) {
    score.set_timeout_ms(value.get<std::int64_t>());
  } else if (name == "model" && value.is_string()) {
    score.set_model(value.get<std::string>());
  } else {
    OnlyJson(name, value);
  }
}

proto::Error ToError(const v1::Error& message) {
  proto::Error error = {message.code(), message.reason(), message.message(), message.param(), {}};
  if (message.has_retry_after_seconds()) {
    error.retry_after_seconds = message.retry_after_seconds();
  }
  return error;
}

}  // namespace

v1::Request ToRequest(std::uint64_t request_id, const json& body) {
  if (!body.contains("items") || body.at("items").is_null()) {
    OnlyJson("that there are no items", body);
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

std::string ToBatchLine(const v1::Response& response) {
  coordinator::JsonAnswerBody answer;
  if (response.has_score()) {
    answer["status_code"] = 200;
    answer["body"] =
        coordinator::ScoreResponseToJson(coordinator::ScoreResponseFromMessage(response.score()));
  } else {
    answer["status_code"] = response.error().code();
    answer["body"] = coordinator::ErrorBody(ToError(response.error()));
  }
  coordinator::JsonAnswerBody line;
  line["custom_id"] = std::to_string(response.request_id());
  line["response"] = std::move(answer);
  line["error"] = nullptr;
  return coordinator::ToJsonText(line);
}

BatchRun RunThroughSocket(const BatchCommand& command, const std::vector<json>& bodies) {
  std::vector<v1::Request> requests;
  for (const json& body : bodies) {
    requests.push_back(ToRequest(requests.size(), body));
  }
  Service service(command);
  const auto client = service.Connect();
  // A server does not read on while its client does not.
  std::thread sender([&] {
    for (const v1::Request& request : requests) {
      try {
        client->Send(request);
      } catch (const std::runtime_error&) {
        return;  // Receive fails too.
      }
    }
  });
  BatchRun run;
  run.lines.resize(requests.size());
  bool all_answered = true;
  std::string fault;
  try {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const v1::Response response = client->Receive();
      std::string& line = run.lines.at(response.request_id());
      if (!line.empty()) {
        throw std::runtime_error("answered twice: " + line);
      }
      line = ToBatchLine(response);
      all_answered = all_answered && response.has_score();
    }
  } catch (const std::exception& thrown) {
    fault = thrown.what();
  }
  boost::system::error_code gone;
  client->socket().shutdown(boost::asio::ip::tcp::socket::shutdown_both, gone);
  sender.join();
  const ProcessResult result = service.Drain();
  run.err = result.err + fault;
  run.exit_code = !fault.empty()                           ? 1
                  : result.exit_code == 0 && !all_answered ? 3
                                                           : result.exit_code;
  return run;
}

}  // namespace scorecast::testing
