#include "coordinator/endpoints/json_doors.h"

#include <utility>

#include "coordinator/endpoints/chunked/chunked_json.h"
#include "coordinator/request/request_error.h"
#include "coordinator/endpoints/score/score_json.h"

namespace scorecast::coordinator {
namespace {

JsonAnswer Refusal(const proto::Error& error) { return {error.code, ErrorBody(error)}; }

/// `finish` is a service's, whose response `to_json` writes.
template <typename Response>
FinishJson AsJson(std::function<proto::Expected<Response>()> finish,
                  JsonAnswerBody (*to_json)(const Response&)) {
  return [finish = std::move(finish), to_json] {
    const proto::Expected<Response> response = finish();
    return response ? JsonAnswer{200, to_json(*response)} : Refusal(response.error());
  };
}

JsonDoor ScoreDoor(ScoreService& service) {
  return [&service](const nlohmann::json& body, Clock::time_point arrived,
                    std::function<void(FinishJson)> ready) {
    proto::Expected<ScoreRequest> request = ScoreRequestFromJson(body);
    if (!request) {
      ready([error = std::move(request).error()] { return Refusal(error); });
      return;
    }
    service.Score(*request, arrived, [ready = std::move(ready)](ScoreService::Finish finish) {
      ready(AsJson(std::move(finish), ScoreResponseToJson));
    });
  };
}

JsonDoor ChunkedDoor(ChunkedService& service) {
  return [&service](const nlohmann::json& body, Clock::time_point arrived,
                    std::function<void(FinishJson)> ready) {
    proto::Expected<ChunkedRequest> request = ChunkedRequestFromJson(body);
    if (request && request->stream) {
      request = proto::Unexpected(BadRequest(
          "stream_not_here",
          "A line of a batch gets one answer: stream must be false. The request socket streams.",
          "stream"));
    }
    if (!request) {
      ready([error = std::move(request).error()] { return Refusal(error); });
      return;
    }
    service.Answer(*request, arrived, /*on_delta=*/{},
                   [ready = std::move(ready)](ChunkedService::Finish finish) {
                     ready(AsJson(std::move(finish), ChunkedResponseToJson));
                   });
  };
}

}  // namespace

JsonDoors MakeJsonDoors(ScoreService& score, ChunkedService& chunked) {
  return {
      {"/v1/score", ScoreDoor(score)},
      {"/v1/chunked", ChunkedDoor(chunked)},
  };
}

}  // namespace scorecast::coordinator
