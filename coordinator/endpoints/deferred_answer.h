#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "coordinator/request/timings.h"
#include "coordinator/schedule/job.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The rest of a request's work, which is not for the computing thread: a door calls it once, on a
/// thread of its own, while the service lives.
template <typename Response>
using Finish = std::function<proto::Expected<Response>()>;

/// Called once: on the computing thread, or, where nothing is to be computed, on the thread that
/// asks. Must return soon.
template <typename Response>
using Ready = std::function<void(Finish<Response>)>;

/// Of a request that is refused before it is queued.
template <typename Response>
void Refuse(std::string_view door, proto::Error error, const Ready<Response>& ready) {
  LogRefusal(door, error);
  ready([error = std::move(error)]() -> proto::Expected<Response> {
    return proto::Unexpected(error);
  });
}

/// A job's `done`: `respond` makes the answer of its result.
template <typename Response, typename Respond>
std::function<void(JobResult)> WhenDone(const Ready<Response>& ready, Respond respond) {
  return [ready, respond = std::move(respond)](JobResult result) mutable {
    auto shared_result = std::make_shared<JobResult>(std::move(result));
    ready([respond = std::move(respond), shared_result] { return respond(*shared_result); });
  };
}

}  // namespace scorecast::coordinator
