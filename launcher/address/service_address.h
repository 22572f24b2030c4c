#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace scorecast::launcher {

/// An IP address in digits, and a TCP port.
struct IpPort {
  std::string ip;
  std::uint16_t port = 0;

  /// IP:PORT, with an IPv6 address in brackets.
  std::string ToText() const;
  bool operator==(const IpPort&) const = default;
};

/// Where a service is, and which process and job it is. `--address-file` has this as JSON:
///
///   {"host":"node7","ip":"10.0.0.7","port":41234,"http_port":41235,"pid":4711,"job_id":"123"}
///
/// Without HTTP there is no `http_port`, and without a job no `job_id`. `http_ip` is present only
/// if it differs from `ip`.
struct ServiceAddress {
  std::string host;  ///< Name of rank 0's host.
  IpPort requests;   ///< Address at which clients on other hosts reach the request socket.
  std::optional<IpPort> http;
  pid_t pid = 0;  ///< Process id of rank 0.
  std::optional<std::string> job_id;

  /// One line, which ends with a newline.
  std::string ToJson() const;
  /// Nothing if the text does not have this form. Unknown fields are ignored.
  static std::optional<ServiceAddress> FromJson(std::string_view text);
  bool operator==(const ServiceAddress&) const = default;
};

/// The name of this host.
std::string OwnHostName();

/// Id of the job of this process, from the environment: Slurm's (SLURM_JOB_ID), else the name that
/// PMIx gives to the job (PMIX_NAMESPACE), else Open MPI's number (OMPI_MCA_ess_base_jobid).
/// Nothing if no launcher has started this process.
std::optional<std::string> OwnJobId();

}  // namespace scorecast::launcher
