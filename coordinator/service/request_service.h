#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/endpoints.h"
#include "coordinator/request/server_options.h"
#include "coordinator/request/value_limit.h"
#include "coordinator/schedule/queue/scheduler.h"
#include "coordinator/service/call.h"
#include "coordinator/service/deadline_timer.h"
#include "coordinator/service/request_observer.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/error.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// The only path from a request to its response, for every transport and every endpoint. Every call
/// gets one response, at the latest when its deadline passes or when RefuseAll is called, whatever
/// the tokenizer and the ranks do then. Safe to call from any number of threads.
class RequestService {
 public:
  using CallPointer = std::shared_ptr<Call>;

  /// The arguments must outlive the service. `tokenizer` may be null. `options.delimiter`, if set,
  /// is in the model's vocabulary. Deadlines are those of the clock `now`. `observer` may be null;
  /// it must outlive the scheduler's jobs as well: see Call::SetObserver.
  RequestService(const proto::ModelConfig& config, const Tokenizer* tokenizer,
                 const ServerOptions& options, Scheduler& scheduler,
                 EndpointList endpoints = Endpoints(), DeadlineTimer::Now now = Clock::now,
                 RequestObserver* observer = nullptr);
  /// Refuses what is left. No call may be under way.
  ~RequestService();

  RequestService(const RequestService&) = delete;
  RequestService& operator=(const RequestService&) = delete;

  EndpointList endpoints() const { return endpoints_; }
  // Both return null if no endpoint matches. The field 0 (v1::Request::ENDPOINT_NOT_SET) matches
  // none.
  const Endpoint* FindByUrl(std::string_view url) const {
    return coordinator::FindByUrl(endpoints_, url);
  }
  const Endpoint* FindByMessageField(int field) const;

  /// The name of the model that is served.
  const std::string& model_name() const { return options_.model_name; }
  /// Upper bound on the values of a request: see MaxValues.
  std::int64_t max_values() const { return MaxValues(config_, options_); }
  /// The error of Admit for a request to another model than the server's, or of a kind that the
  /// model cannot compute.
  std::optional<proto::Error> RequestFault(const Endpoint& endpoint,
                                           const EndpointRequest& request) const;
  /// See EndpointRequest::ResponseBytesBound. Only of a request without RequestFault.
  std::int64_t ResponseBytesBound(const EndpointRequest& request) const {
    return request.ResponseBytesBound(config_);
  }

  /// The first step, which is short: from now on the call has a deadline and can be cancelled. The
  /// deadline and `total_ms` count from its arrival. If it names no endpoint, `parsed` says why. A
  /// request with a long response is refused if the call's `replies` have no room for it: with a
  /// 503, or with a 413 if they could never have room. A refused call is over when this returns.
  void Admit(const CallPointer& call, ParsedRequest parsed);
  /// The second step, which takes as long as the request's text is: checks, tokenizes and queues,
  /// on the calling thread. Ends early if the call is over. Called once. `give_way` may be empty:
  /// see Interruption. False if it has ended early, or found a fault of the request.
  bool Prepare(const CallPointer& call, const std::function<void()>& give_way = {});
  /// Both steps.
  void Begin(const CallPointer& call, ParsedRequest parsed);

  /// Tells of a request's wait for I/O: see RequestObserver::OnIoWait. Called on any thread.
  void NoteIoWait(Clock::duration wait);

  /// A transport has refused a request, or a client, without Admit. `endpoint` is null if it is not
  /// known.
  void NoteRefusal(const Endpoint* endpoint, std::string_view address, const proto::Error& error);

  /// Ends calls whose clients have left. Their response is a 499.
  void Cancel(const std::vector<CallPointer>& calls);

  /// From now on every new request gets a 503.
  void StartDraining() { draining_ = true; }
  bool is_draining() const { return draining_; }
  /// Starts draining, and ends every call that is not over with a 503.
  void RefuseAll();
  /// Starts draining. Requests that the pass in flight completes get their responses; all others
  /// that need the ranks get a 503 `draining`, at the latest when the pass has ended.
  void StopAfterPass();
  /// Returns when every admitted call is over, after `time` at the latest. False if the time ran
  /// out.
  bool WaitAllOver(Clock::duration time);

  /// See Scheduler.
  void WaitForRoom() { scheduler_.WaitForRoom(); }

  /// The timer of the deadlines, for tests that replace the clock.
  DeadlineTimer& deadlines() { return deadlines_; }

 private:
  std::optional<proto::Error> AdmissionFault(const Call& call, const ParsedRequest& parsed) const;
  /// False if no call is admitted any more.
  bool Register(const CallPointer& call);
  /// Called last, because the service may be destroyed once no call is active.
  void Deregister(const std::vector<CallPointer>& calls);
  /// Ends those of the calls that are not over with the error.
  void EndAll(const std::vector<CallPointer>& calls, const proto::Error& error);
  /// The call's job has ended.
  void Computed(const CallPointer& call, JobResult result);

  const proto::ModelConfig& config_;
  const Tokenizer* tokenizer_;
  const ServerOptions& options_;
  Scheduler& scheduler_;
  const EndpointList endpoints_;
  RequestObserver* const observer_;
  std::atomic<bool> draining_ = false;

  std::mutex mutex_;
  std::condition_variable over_;
  bool refuses_all_ = false;
  std::unordered_set<CallPointer> active_;  ///< Admitted, and not completely ended.
  DeadlineTimer deadlines_;
};

}  // namespace scorecast::coordinator
