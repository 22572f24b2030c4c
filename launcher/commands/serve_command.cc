#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <google/protobuf/stubs/logging.h>
#include <sys/resource.h>
#include <unistd.h>

#include "coordinator/access/api_keys.h"
#include "coordinator/access/file_watch.h"
#include "coordinator/endpoints/endpoints.h"
#include "coordinator/endpoints/refused_urls.h"
#include "coordinator/endpoints/tei/tei_endpoints.h"
#include "coordinator/metrics/metrics.h"
#include "coordinator/page/page.h"
#include "coordinator/request/model_kind.h"
#include "coordinator/request/value_limit.h"
#include "coordinator/resources/model_resources.h"
#include "coordinator/resources/openapi.h"
#include "coordinator/resources/resource.h"
#include "coordinator/schedule/queue/scheduler.h"
#include "coordinator/schedule/queue/scheduler_status.h"
#include "coordinator/service/request_service.h"
#include "coordinator/status/health.h"
#include "coordinator/status/service_load.h"
#include "coordinator/transports/connection/request_server.h"
#include "coordinator/transports/connection/tls_files.h"
#include "coordinator/transports/http/http_protocol.h"
#include "coordinator/transports/socket/frame_protocol.h"
#include "coordinator/transports/socket/server_state.h"
#include "coordinator/transports/socket/session_messages.h"
#include "coordinator/transports/web/web_options.h"
#include "launcher/address/address_file.h"
#include "launcher/address/reachable_address.h"
#include "launcher/address/service_address.h"
#include "launcher/commands/access_flags.h"
#include "launcher/commands/command_end.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/listening_sockets.h"
#include "launcher/cost/measure_layout.h"
#include "launcher/engine/build_id.h"
#include "launcher/engine/calibration.h"
#include "launcher/engine/decision_probe.h"
#include "launcher/engine/engine.h"
#include "launcher/engine/run_settings.h"
#include "launcher/log/status_log.h"
#include "launcher/supervisor/supervisor_link.h"
#include "launcher/supervisor/systemd_sockets.h"
#include "proto/log/log.h"
#include "proto/mpi/mpi_environment.h"
#include "proto/tls/tls_context.h"
#include "proto/wire/frame.h"
#include "shard/worker/queued_cluster.h"

namespace scorecast::launcher {
namespace {

/// Time that a client has to read its last replies.
constexpr auto kLastRepliesTime = std::chrono::seconds(2);
/// The same if mpirun was told to end. mpirun then leaves the ranks about a second.
constexpr auto kHurriedRepliesTime = std::chrono::milliseconds(500);
/// Time that the pass in flight has to end, counted from the end of the drain.
constexpr auto kLastPassTime = std::chrono::seconds(3);
/// Time that the ranks have to end after the last pass. A busy machine delays them by less.
constexpr auto kRanksEndTime = std::chrono::seconds(10);

enum class Drain { kOrderly, kHurried };

/// mpirun sends SIGTERM to every rank, and SIGKILL a second later.
bool IsEndedByMpirun(int signal) {
  return signal != SIGUSR1 && std::getenv("OMPI_MCA_orte_hnp_uri") != nullptr;
}

/// Waits for the signals that end a service. The first signal says how the service ends, and a
/// second one hurries it. Later ones, while the process ends, are ignored.
class DrainSignals {
 public:
  /// The only instance.
  static DrainSignals& Get() {
    static auto* const signals = new DrainSignals;
    return *signals;
  }

  Drain First() { return first_.get_future().get(); }
  /// Waits for a second signal, at most `time`. True if it came.
  bool SecondWithin(std::chrono::milliseconds time) {
    return second_future_.wait_for(time) == std::future_status::ready;
  }

 private:
  DrainSignals() {
    EndSignals::Get().Handle([this](int received, int signal) {
      if (received == 1) {
        first_.set_value(IsEndedByMpirun(signal) ? Drain::kHurried : Drain::kOrderly);
      } else if (received == 2) {
        second_.set_value();
      }
    });
  }

  std::promise<Drain> first_;
  std::promise<void> second_;
  std::future<void> second_future_ = second_.get_future();
};

/// Generous upper bound on the files that the process opens besides its clients' connections.
constexpr rlim_t kOtherDescriptors = 256;

/// Raises the process's limit of file descriptors, because every connection takes one. Lowers
/// `max_connections` to the number that the limit leaves room for.
void FitConnectionsToDescriptors(std::size_t& max_connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return;
  }
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t left = limit.rlim_max - std::min(limit.rlim_max / 2, kOtherDescriptors);
  if (limit.rlim_max != RLIM_INFINITY && left < max_connections) {
    proto::LogWarning("--max-connections {}: the limit of open files, {}, leaves {}",
                      max_connections, limit.rlim_max, left);
    max_connections = left;
  }
}

/// Waits until all accepted requests are computed, for at most `time` or until a second signal
/// comes. All that are left then get a 503 at once, even if the ranks are stuck.
void FinishRequests(coordinator::RequestService& requests, std::chrono::seconds time,
                    DrainSignals& signals) {
  const auto end = coordinator::Clock::now() + time;
  while (coordinator::Clock::now() < end && !requests.WaitAllOver(std::chrono::milliseconds(50)) &&
         !signals.SecondWithin(std::chrono::milliseconds(0))) {
  }
  requests.RefuseAll();
}

#ifdef __clang__
constexpr const char* kCompiler = __VERSION__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

/// 0 means no limit.
double SecondsOf(std::int64_t max_ms) {
  return max_ms > 0 ? static_cast<double>(max_ms) * 1e-3 : std::numeric_limits<double>::infinity();
}

/// Who is let in. Each may be null.
struct Keys {
  std::shared_ptr<coordinator::ApiKeys> clients;
  std::shared_ptr<coordinator::ApiKeys> fronts;
};

/// The objects with which rank 0 serves clients.
struct Service {
  Service(const ServeFlags& flags, const Keys& keys, Engine& engine,
          const coordinator::PassTimeModel& time_model)
      : metrics(coordinator::Endpoints(), flags.metrics_clients,
                {.version = SCORECAST_VERSION,
                 .build_id = BuildId(),
                 .compiler = kCompiler,
                 .mpi = proto::MpiLibrary()}),
        cluster(engine.runner(), engine.limits()),
        scheduler(cluster, {.max_queue = flags.max_queue,
                            .max_queue_tokens = flags.max_queue_tokens,
                            .max_wait_seconds = SecondsOf(flags.max_wait_ms),
                            .cached_pages = engine.cached_pages(),
                            .max_pass_seconds = SecondsOf(flags.max_pass_ms),
                            .time_model = time_model,
                            .on_pass =
                                [this](const coordinator::PassSummary& pass) {
                                  metrics.passes.OnPass(pass);
                                }}),
        requests(engine.config(), engine.tokenizer(), engine.server_options(), scheduler,
                 coordinator::Endpoints(), coordinator::Clock::now, &metrics.requests),
        load([this] { return scheduler.status(); },
             [this] {
               return coordinator::WorkDone{.requests = metrics.requests.ended(),
                                            .pass_seconds = metrics.passes.seconds()};
             }),
        server(std::in_place, requests, SocketOptionsOf(flags, keys), flags.io_threads) {}

  static coordinator::SocketOptions SocketOptionsOf(const ServeFlags& flags, const Keys& keys) {
    coordinator::SocketOptions options = flags.socket;
    options.keys = keys.clients;
    options.front_keys = keys.fronts;
    options.proxies = ProxiesOf(flags.access);
    options.max_request_bytes = flags.engine.max_request_bytes;
    options.max_wait_seconds = SecondsOf(flags.max_wait_ms);
    FitConnectionsToDescriptors(options.max_connections);
    return options;
  }

  coordinator::ServiceStatus Status() const {
    return {cluster.Status(), scheduler.status(), server->status()};
  }

  coordinator::Metrics metrics;
  shard::QueuedCluster cluster;
  coordinator::Scheduler scheduler;
  coordinator::RequestService requests;
  coordinator::LoadMeter load;
  std::optional<coordinator::RequestServer> server;
};

/// Takes the service's sockets.
void ReserveSockets(const ServeFlags& flags, ListeningSockets& sockets) {
  sockets.Reserve(kRequestSocket, flags.port);
  if (flags.http_port >= 0) {
    sockets.Reserve(kHttpSocket, static_cast<std::uint16_t>(flags.http_port));
  }
  if (flags.health_port >= 0) {
    sockets.Reserve(kHealthSocket, static_cast<std::uint16_t>(flags.health_port));
  }
}

/// The sockets of the clients, not that of probes.
std::vector<std::string> ClientSocketsOf(const ServeFlags& flags) {
  std::vector<std::string> names = {kRequestSocket};
  if (flags.http_port >= 0) {
    names.emplace_back(kHttpSocket);
  }
  return names;
}

/// The address at which clients on other hosts reach a reserved socket.
IpPort ReachableAddressOf(const ListeningSockets& sockets, const std::string& name) {
  const IpPort address = sockets.AddressOf(name);
  return {ReachableAddress(address.ip), address.port};
}

/// The address of this service. Its sockets must be reserved.
ServiceAddress AddressOf(const ServeFlags& flags, const ListeningSockets& sockets) {
  ServiceAddress address;
  address.host = OwnHostName();
  address.requests = ReachableAddressOf(sockets, kRequestSocket);
  if (flags.http_port >= 0) {
    address.http = ReachableAddressOf(sockets, kHttpSocket);
  }
  address.pid = getpid();
  address.job_id = OwnJobId();
  return address;
}

/// A line of the log, from which programs read the addresses.
std::string ReadyLine(const ServiceAddress& address, bool has_tls) {
  return "ready: requests on " + address.requests.ToText() +
         (address.http ? ", HTTP on " + address.http->ToText() : "") + " (host " + address.host +
         (has_tls ? ", TLS)" : ")");
}

/// The same resource at another path, where Weaviate's client looks for it.
coordinator::Resource At(std::string path, coordinator::Resource resource) {
  resource.path = std::move(path);
  return resource;
}

/// The state of the service, which clients read with GET. `service` must have a server, and must
/// outlive the resources.
std::vector<coordinator::Resource> StateResourcesOf(const ServeFlags& flags, const Engine& engine,
                                                    const Service& service) {
  coordinator::Resource metrics = coordinator::MetricsResource(
      service.metrics, [&service] { return service.Status(); }, engine.page_bytes());
  metrics.is_open = flags.access.open_metrics;
  const coordinator::Resource ready =
      coordinator::ReadyResource([&service] { return service.cluster.Status(); },
                                 [&service] { return service.requests.is_draining(); });
  return {coordinator::HealthResource(), coordinator::PingResource(), ready,
          At("/weaviate/.well-known/ready", ready), std::move(metrics)};
}

/// The resources that clients read with GET: the state of the service, the model, the tokenizer,
/// the document that describes all of these and the endpoints, and the page. `service` as above.
std::vector<coordinator::Resource> ResourcesOf(const ServeFlags& flags, const Engine& engine,
                                               const Service& service) {
  const coordinator::ServiceFacts facts{
      .config = engine.config(),
      .options = engine.server_options(),
      .dtype = engine.dtype(),
      .version = SCORECAST_VERSION,
      .max_queue = flags.max_queue,
      .max_batch_tokens = engine.limits().max_rows,
      .tokenizing_threads = flags.io_threads,
      .created = std::time(nullptr),
  };
  std::vector<coordinator::Resource> resources = StateResourcesOf(flags, engine, service);
  resources.push_back(ModelsResource(facts));
  resources.push_back(ModelResource(facts));
  resources.push_back(InfoResource(facts));
  resources.push_back(At("/weaviate/meta", InfoResource(facts)));
  resources.push_back(coordinator::TokenizerInfoResource(flags.engine.model));
  resources.push_back(
      coordinator::OpenApiResource(coordinator::Endpoints(), resources, facts.version));
  // Some clients take GET / for the health of a service.
  resources.push_back(flags.no_page ? At("/", coordinator::HealthResource())
                                    : coordinator::PageResource());
  return resources;
}

/// What the service has at its URLs. `service` as above.
coordinator::WebOptions WebOptionsOf(const ServeFlags& flags, const Engine& engine,
                                     const Service& service) {
  coordinator::WebOptions options = flags.http.web;
  options.resources = ResourcesOf(flags, engine, service);
  options.refused_urls = coordinator::RefusedUrls();
  options.root_url = coordinator::TeiRootUrl(engine.config());
  return options;
}

using TlsFilesPointer = std::shared_ptr<coordinator::TlsFiles>;

/// Null without TLS.
TlsFilesPointer TlsFilesOf(const ServeFlags& flags) {
  return flags.tls_files.certificate.empty()
             ? nullptr
             : std::make_shared<coordinator::TlsFiles>(flags.tls_files);
}

/// The files that are read again when they change. `tls_files` may be null.
std::vector<coordinator::FileWatch::Look> LooksAt(const Keys& all_keys,
                                                  const TlsFilesPointer& tls_files) {
  std::vector<coordinator::FileWatch::Look> looks;
  for (const auto& keys : {all_keys.clients, all_keys.fronts}) {
    if (keys != nullptr) {
      looks.emplace_back([keys] { static_cast<void>(keys->Reload()); });  // Logs what it finds.
    }
  }
  if (tls_files != nullptr) {
    looks.emplace_back([tls_files] { tls_files->Reload(); });
  }
  return looks;
}

/// While the service drains, clients of HTTP read that it does, so that a proxy turns to another
/// service. Those of a socket that is held elsewhere wait for the next process.
coordinator::ListenOptions HttpListenOptions(const ListeningSockets& sockets,
                                             const std::string& name) {
  return {.accepts_while_draining = !sockets.IsHeldElsewhere(name)};
}

/// Opens the service to what asks for its state.
void ListenForProbes(const ServeFlags& flags, const Engine& engine, ListeningSockets& sockets,
                     Service& service) {
  coordinator::HttpOptions options;
  options.web.resources = StateResourcesOf(flags, engine, service);
  options.is_on_loopback = sockets.IsOnLoopback(kHealthSocket);
  options.allowed_hosts = flags.http.allowed_hosts;
  options.header_timeout = flags.http.header_timeout;
  options.web.compress_from = flags.http.web.compress_from;
  proto::Log(proto::LogLevel::kInfo,
             "health: " + ReachableAddressOf(sockets, kHealthSocket).ToText() +
                 (flags.tls_files.certificate.empty() ? "" : " (without TLS)"));
  service.server->ListenForProbes(
      sockets.Take(kHealthSocket).Release(),
      coordinator::MakeHttpProtocol(/*endpoints=*/{}, std::move(options)),
      HttpListenOptions(sockets, kHealthSocket));
}

/// What fronts and other clients of the request socket are told of the service.
coordinator::ServerFacts FactsOf(const ServeFlags& flags, const Engine& engine) {
  return {.version = SCORECAST_VERSION,
          .model = engine.server_options().model_name,
          .kind = std::string(coordinator::NameOf(coordinator::KindOf(engine.config()))),
          .fingerprint = FingerprintOf(RunSettingsOf(flags.engine, engine)),
          .dtype = engine.dtype(),
          .kernel_set = KernelsOf(engine.arithmetic_settings()),
          .max_values = coordinator::MaxValues(engine.config(), engine.server_options())};
}

/// Opens the service to its clients.
void Listen(const ServeFlags& flags, const Engine& engine, ListeningSockets& sockets,
            const TlsFilesPointer& tls_files, Service& service) {
  const auto state = [&service, &server = *service.server] {
    return coordinator::StateOf(
        {service.cluster.Status(), service.scheduler.status(), server.status()},
        service.requests.is_draining());
  };
  // Fronts ask for the same over the request socket, also without a port for HTTP.
  const coordinator::WebOptions web = WebOptionsOf(flags, engine, service);
  service.server->Listen(sockets.Take(kRequestSocket).Release(),
                         coordinator::MakeFrameProtocol(service.requests.endpoints(),
                                                        FactsOf(flags, engine), state, web),
                         {.tls = tls_files, .protocols = {std::string(proto::kTlsProtocol)}});
  if (flags.http_port >= 0) {
    coordinator::HttpOptions options = flags.http;
    options.web = web;
    options.load = [&service] { return service.load.Get(); };
    options.is_on_loopback = sockets.IsOnLoopback(kHttpSocket);
    if (!options.is_on_loopback && !options.allowed_hosts.empty()) {
      proto::LogWarning(
          "--allowed-host changes nothing: HTTP listens on {}, not on a loopback address",
          sockets.AddressOf(kHttpSocket).ip);
    }
    coordinator::ListenOptions listen = HttpListenOptions(sockets, kHttpSocket);
    listen.tls = tls_files;
    listen.protocols = {"http/1.1", "http/1.0"};
    service.server->Listen(
        sockets.Take(kHttpSocket).Release(),
        coordinator::MakeHttpProtocol(service.requests.endpoints(), std::move(options)), listen);
  }
  if (flags.health_port >= 0) {
    ListenForProbes(flags, engine, sockets, service);
  }
}

/// Called on rank 0. Clients are served on threads of their own; plans are run on this thread.
/// `address_file` is removed when the drain begins. `supervisor` may be null.
void RunService(const ServeFlags& flags, Service& service, const ServiceAddress& address,
                const std::optional<AddressFile>& address_file, SupervisorLink* supervisor) {
  DrainSignals& signals = DrainSignals::Get();
  // Everything is ready before this line is logged, because programs act on it.
  if (supervisor != nullptr) {
    supervisor->Ready(flags.drain_time + kLastRepliesTime + kLastPassTime + kRanksEndTime);
  }
  proto::Log(proto::LogLevel::kInfo, ReadyLine(address, !flags.tls_files.certificate.empty()));
  std::optional<StatusLog> status_log(std::in_place, [&] { return service.Status(); });
  std::thread control([&] {
    const Drain drain = signals.First();
    proto::LogInfo("draining");
    if (supervisor != nullptr) {
      supervisor->Draining();
    }
    service.server->StartDraining();
    if (address_file) {
      address_file->Remove();
    }
    FinishRequests(service.requests,
                   drain == Drain::kHurried ? std::chrono::seconds(0) : flags.drain_time, signals);
    const auto drained = coordinator::Clock::now();
    service.server->CloseConnections(drain == Drain::kHurried ? kHurriedRepliesTime
                                                              : kLastRepliesTime);
    status_log.reset();
    service.server.reset();
    if (!service.scheduler.WaitIdleFor(drained + kLastPassTime - coordinator::Clock::now())) {
      EndWithStuckRanks("the last pass does not end: leaving it");
    }
    service.cluster.Stop();
  });
  service.cluster.Run();
  control.join();
  LimitTimeOfEnd(kRanksEndTime);
  proto::LogInfo("stopped");
}

}  // namespace

int RunServeCommand(const ServeFlags& flags) {
  // Must outlive the engine: if this connection ends, the supervisor takes rank 0 to have ended.
  std::unique_ptr<SupervisorLink> supervisor;
  std::optional<ListeningSockets> sockets;
  TlsFilesPointer tls_files;
  ServiceAddress address;
  Keys keys;
  Engine engine(flags.engine, [&](const Engine&) {
    keys = {ReadApiKeys(flags.access), ReadFrontKeys(flags.access)};
    supervisor = SupervisorLink::Connect([] { kill(getpid(), SIGUSR1); });
    tls_files = TlsFilesOf(flags);
    sockets.emplace(flags.host, supervisor.get());
    ReserveSockets(flags, *sockets);
    CheckReach(flags.access, *sockets, ClientSocketsOf(flags));
    address = AddressOf(flags, *sockets);
    if (!flags.address_file.empty()) {
      AddressFile::Prepare(flags.address_file, address);
    }
  });
  engine.Load();
  const coordinator::PassTimeModel time_model = Calibrate(engine, SecondsOf(flags.max_pass_ms));
  WriteCostCalibration(engine, flags.write_calibration);
  ProbeDecisions(engine);
  std::optional<Service> service;
  std::optional<AddressFile> address_file;
  std::optional<coordinator::FileWatch> file_watch;
  engine.StartupPhase([&] {
    if (engine.is_root()) {
      // A malformed message is reported to its client, and not logged.
      google::protobuf::SetLogHandler(nullptr);
      DrainSignals::Get();
      if (supervisor) {
        supervisor->Listening();
      }
      service.emplace(flags, keys, engine, time_model);
      Listen(flags, engine, *sockets, tls_files, *service);
      if (auto looks = LooksAt(keys, tls_files); !looks.empty()) {
        file_watch.emplace(std::move(looks));
      }
      if (!flags.address_file.empty()) {
        address_file = AddressFile::Write(flags.address_file, address);
        address_file->RemoveAtExit();
        if (supervisor) {
          supervisor->Wrote(address_file->path());
        }
      }
    } else {
      LeaveSignalsToRankZero();
    }
  });
  if (engine.is_root()) {
    RunService(flags, *service, address, address_file, supervisor.get());
    LogCache(service->scheduler.cache_counters(), engine);
    engine.runner().StopFollowers();
  } else {
    engine.runner().Follow();
  }
  return kExitOk;
}

}  // namespace scorecast::launcher
