#include "launcher/commands/listening_flags.h"

#include <string>

#include <CLI/CLI.hpp>

#include "coordinator/transports/http/access.h"

namespace scorecast::launcher {

void AddListeningFlags(CLI::App& app, ListeningFlags& flags) {
  app.add_option("--host", flags.host, "Address to listen on")->capture_default_str();
  app.add_option("--port", flags.port, "Port of the request socket; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--http-port", flags.http_port, "Port for HTTP; 0: any free one, -1: no HTTP")
      ->check(CLI::Range(-1, 65535))
      ->capture_default_str();
  CLI::Option* const certificate =
      app.add_option("--tls-cert", flags.tls_files.certificate,
                     "Certificate, in PEM, followed by those between it and that of its CA: --port "
                     "and --http-port then speak TLS only, --health-port never. The files of "
                     "TLS are read again when they change")
          ->type_name("FILE");
  CLI::Option* const key = app.add_option("--tls-key", flags.tls_files.key, "Its key, in PEM")
                               ->type_name("FILE")
                               ->needs(certificate);
  certificate->needs(key);
  app.add_option("--tls-client-ca", flags.tls_files.client_ca,
                 "Certificates, in PEM, of the CAs of clients, which then need a certificate. Its "
                 "name, instead of the address, is the client's")
      ->type_name("FILE")
      ->needs(certificate);
  app.add_option("--cors-origin", flags.http.cors_origins,
                 "Origin whose pages may use HTTP from a browser, such as https://example.org, or "
                 "*: all; repeat for each origin. Pages of the server's own host need none")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->default_str("none");
  app.add_option("--allowed-host", flags.http.allowed_hosts,
                 "Further name or IP address that the field Host of HTTP may have if --host is a "
                 "loopback address, such as score.example.org, or *: any; repeat for each. "
                 "Without it: localhost and loopback addresses")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Validator(coordinator::AllowedHostFault, "HOST"))
      ->default_str("none");
  app.add_option("--max-wait-ms", flags.max_wait_ms,
                 "Milliseconds that a request may be predicted to wait; one that would wait longer "
                 "is refused with 429. 0: without limit")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{86'400'000}))
      ->capture_default_str();
  app.add_option("--max-connections", flags.socket.max_connections,
                 "Clients connected at once, at most; a further one is refused with 503")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->capture_default_str();
  app.add_option("--max-connections-per-address", flags.socket.max_connections_per_address,
                 "The same for each client address: an IPv4 address, or the first 64 bits of an "
                 "IPv6 address")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->default_str("half of --max-connections");
  app.add_option_function<std::int64_t>(
         "--read-timeout",
         [&flags](std::int64_t seconds) {
           flags.socket.read_timeout = std::chrono::seconds(seconds);
         },
         "Seconds from the first byte of a request within which it must arrive, and one more for "
         "each 64 KiB that have arrived; otherwise its client gets a 408 and is disconnected")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{86400}))
      ->default_str(std::to_string(
          std::chrono::duration_cast<std::chrono::seconds>(flags.socket.read_timeout).count()));
  app.add_option_function<std::int64_t>(
         "--header-timeout",
         [&flags](std::int64_t seconds) {
           flags.http.header_timeout = std::chrono::seconds(seconds);
         },
         "The same for the header of an HTTP request, without more time for its size")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{86400}))
      ->default_str(std::to_string(
          std::chrono::duration_cast<std::chrono::seconds>(flags.http.header_timeout).count()));
  app.add_option_function<std::int64_t>(
         "--idle-timeout",
         [&flags](std::int64_t seconds) {
           flags.socket.idle_timeout = std::chrono::seconds(seconds);
         },
         "Seconds without a byte after which a client is disconnected, if it waits for no reply or "
         "does not read its replies")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{86400}))
      ->default_str(std::to_string(
          std::chrono::duration_cast<std::chrono::seconds>(flags.socket.idle_timeout).count()));
  app.add_option_function<std::int64_t>(
         "--drain-seconds",
         [&flags](std::int64_t seconds) { flags.drain_time = std::chrono::seconds(seconds); },
         "Seconds in which accepted requests are still computed after a signal to end; what is "
         "left then is refused with 503")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{86400}))
      ->default_str(std::to_string(flags.drain_time.count()));
}

}  // namespace scorecast::launcher
