#pragma once

#include <functional>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/chunked/chunked_service.h"
#include "coordinator/json/json_text.h"
#include "coordinator/endpoints/score/score_service.h"
#include "coordinator/schedule/job.h"

namespace scorecast::coordinator {

struct JsonAnswer {
  int status_code = 200;
  JsonAnswerBody body;
};

/// As ScoreService's: called once by the door's user, not on the computing thread.
using FinishJson = std::function<JsonAnswer()>;

/// Takes a body that arrived at the time given. `ready` is called once, on this or on the computing
/// thread.
using JsonDoor = std::function<void(const nlohmann::json& body, Clock::time_point arrived,
                                    std::function<void(FinishJson)> ready)>;

/// What speaks JSON, by URL. A new door is a row.
using JsonDoors = std::map<std::string, JsonDoor, std::less<>>;

/// The services outlive the doors.
JsonDoors MakeJsonDoors(ScoreService& score, ChunkedService& chunked);

}  // namespace scorecast::coordinator
