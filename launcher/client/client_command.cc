#include "launcher/client/client_command.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "coordinator/text/unicode/utf8.h"
#include "launcher/client/client.h"
#include "launcher/client/retrying_call.h"
#include "launcher/client/server_location.h"

namespace scorecast::launcher {

namespace {

/// Throws std::runtime_error if a text of the message is not valid UTF-8. Of such a message a
/// server could not tell which field it is, because protobuf does not read it.
void CheckUtf8(const google::protobuf::Message& message, const std::string& name) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string place = name + (name.empty() ? "" : ".") + field->name() +
                                (field->is_repeated() ? "[" + std::to_string(i) + "]" : "");
      if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
        CheckUtf8(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                       : reflection.GetMessage(message, field),
                  place);
      } else if (field->type() == google::protobuf::FieldDescriptor::TYPE_STRING &&
                 !coordinator::IsValidUtf8(field->is_repeated()
                                               ? reflection.GetRepeatedString(message, field, i)
                                               : reflection.GetString(message, field))) {
        throw std::runtime_error(place + " is not valid UTF-8");
      }
    }
  }
}

/// The connections of one thread: one for all of its requests while the server keeps it.
class Caller {
 public:
  explicit Caller(const ServerFlags& flags)
      : flags_(flags),
        location_(flags.connect_file.empty() ? ServerLocation::At(flags.connect)
                                             : ServerLocation::InFile(flags.connect_file)) {
    if (flags.tls) {
      options_.tls =
          proto::ClientTls{proto::TlsContext::OfClient(flags.tls_files), flags.tls_server_name};
    }
    options_.timeout = flags.timeout;
    options_.api_key = flags.api_key;
  }

  /// On a connection of its own. Faults say what a user can do.
  v1::Response CallOnce(const v1::Request& request) {
    CheckUtf8(request, "");
    return WithPlainFaults([&] { return RetryingCall(location_, request, options_); });
  }

  /// On the same connection as the request before, if it still is there. Sends the request again
  /// when the server says, if that is within the time of the reply.
  v1::Response Call(const v1::Request& request) {
    CheckUtf8(request, "");
    const auto end = std::chrono::steady_clock::now() + flags_.timeout;
    while (true) {
      v1::Response response = WithPlainFaults([&] { return Try(request); });
      if (!response.has_error() || !response.error().has_retry_after_seconds()) {
        return response;
      }
      const std::chrono::seconds pause(
          std::max<std::int64_t>(response.error().retry_after_seconds(), 1));
      if (std::chrono::steady_clock::now() + pause > end) {
        return response;
      }
      std::this_thread::sleep_for(pause);
    }
  }

 private:
  v1::Response Try(const v1::Request& request) {
    try {
      if (!client_) {
        client_.emplace(location_.Address(), options_);
      }
      return client_->Call(request);
    } catch (const ConnectionLost&) {
      client_.reset();
      return RetryingCall(location_, request, options_);
    }
  }

  template <typename Make>
  v1::Response WithPlainFaults(const Make& make) const {
    try {
      return make();
    } catch (const TimedOut&) {
      std::ostringstream seconds;
      seconds << std::chrono::duration<double>(flags_.timeout).count();
      throw std::runtime_error(location_.Name() + " did not reply within --timeout " +
                               seconds.str() + " s");
    } catch (const ConnectionLost& fault) {
      if (flags_.connect_file.empty() || !std::filesystem::exists(flags_.connect_file)) {
        throw;
      }
      throw std::runtime_error(fault.what() + std::string("; this is the address of ") +
                               location_.Name() + ", which may have been killed");
    }
  }

  const ServerFlags& flags_;
  const ServerLocation location_;
  ClientOptions options_;
  std::optional<Client> client_;
};

/// What the threads of many calls share.
struct ManyCalls {
  std::mutex mutex;
  std::size_t next = 0;
  std::size_t end = 0;       ///< No request from here on is begun.
  std::size_t faulty = 0;    ///< Index of the request of `fault`.
  std::exception_ptr fault;  ///< Of the first request, by index, that has one.
};

}  // namespace

v1::Response CallServer(const ServerFlags& flags, const v1::Request& request) {
  return Caller(flags).CallOnce(request);
}

void CallServerManyTimes(
    const ServerFlags& flags, std::size_t count,
    const std::function<v1::Request(std::size_t index)>& request,
    const std::function<bool(std::size_t index, const v1::Response& response)>& on_response) {
  ManyCalls calls;
  calls.end = count;
  const auto run = [&] {
    Caller caller(flags);
    std::unique_lock lock(calls.mutex);
    while (calls.next < calls.end) {
      const std::size_t index = calls.next++;
      lock.unlock();
      std::exception_ptr fault;
      v1::Response response;
      try {
        response = caller.Call(request(index));
      } catch (...) {
        fault = std::current_exception();
      }
      lock.lock();
      try {
        if (!fault && !on_response(index, response)) {
          calls.end = 0;
        }
      } catch (...) {
        fault = std::current_exception();
      }
      if (fault && (!calls.fault || index < calls.faulty)) {
        calls.fault = fault;
        calls.faulty = index;
      }
      calls.end = calls.fault ? 0 : calls.end;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(kCallsAtOnce, count); ++i) {
      threads.emplace_back(run);
    }
  }
  if (calls.fault) {
    std::rethrow_exception(calls.fault);
  }
}

int PrintRefusal(const v1::Error& error) {
  std::fprintf(stderr, "scorecast: %d %s: %s\n", error.code(), error.reason().c_str(),
               error.message().c_str());
  return 1;
}

void FlushOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw std::runtime_error("cannot write to standard output");
  }
}

}  // namespace scorecast::launcher
