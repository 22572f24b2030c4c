#include "tests/e2e/http_transport.h"

#include <cstdint>
#include <exception>
#include <string>

namespace scorecast::testing {

coordinator::HttpClient ConnectToHttp(const Service& service) {
  const std::string& address = service.http_address();
  return coordinator::HttpClient(
      static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
}

BatchRun RunThroughHttp(const BatchCommand& command, const std::vector<EndpointRequest>& requests) {
  Service service(command);
  coordinator::HttpClient client = ConnectToHttp(service);
  BatchRun run;
  bool all_succeeded = true;
  std::string fault;
  try {
    for (const EndpointRequest& request : requests) {
      const coordinator::HttpReply reply =
          client.Call(coordinator::Post(request.url, request.body.dump()));
      all_succeeded = all_succeeded && reply.status == 200;
      // The body is used as it is, so that comparing lines compares its text.
      run.lines.push_back(R"({"custom_id":")" + std::to_string(run.lines.size()) +
                          R"(","response":{"status_code":)" + std::to_string(reply.status) +
                          R"(,"body":)" + reply.body + R"(},"error":null})");
    }
  } catch (const std::exception& thrown) {
    fault = thrown.what();
  }
  const ProcessResult result = service.Drain();
  run.err = result.err + fault;
  run.exit_code = !fault.empty()                            ? 1
                  : result.exit_code == 0 && !all_succeeded ? 3
                                                            : result.exit_code;
  return run;
}

}  // namespace scorecast::testing
