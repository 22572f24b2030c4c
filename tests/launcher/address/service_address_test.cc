#include "launcher/address/service_address.h"

#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace service_address_test {

const ServiceAddress kFull = {.host = "node7",
                              .requests = {"10.0.0.7", 41234},
                              .http = IpPort{"10.0.0.7", 41235},
                              .pid = 4711,
                              .job_id = "123"};

TEST(IpPort, PutsIpv6InBrackets) {
  EXPECT_EQ((IpPort{"10.0.0.7", 80}.ToText()), "10.0.0.7:80");
  EXPECT_EQ((IpPort{"2001:db8::1", 80}.ToText()), "[2001:db8::1]:80");
}

TEST(ServiceAddress, IsOneLineOfJson) {
  EXPECT_EQ(kFull.ToJson(),
            R"({"host":"node7","ip":"10.0.0.7","port":41234,"http_port":41235,"pid":4711,)"
            R"("job_id":"123"})"
            "\n");
  ServiceAddress address = kFull;
  address.http.reset();
  address.job_id.reset();
  EXPECT_EQ(address.ToJson(), R"({"host":"node7","ip":"10.0.0.7","port":41234,"pid":4711})"
                              "\n");
  address.http = IpPort{"127.0.0.1", 80};
  EXPECT_EQ(address.ToJson(), R"({"host":"node7","ip":"10.0.0.7","port":41234,"http_port":80,)"
                              R"("http_ip":"127.0.0.1","pid":4711})"
                              "\n");
}

TEST(ServiceAddress, IsReadAsItWasWritten) {
  ServiceAddress address = kFull;
  EXPECT_EQ(ServiceAddress::FromJson(address.ToJson()), address);
  address.http->ip = "127.0.0.1";
  EXPECT_EQ(ServiceAddress::FromJson(address.ToJson()), address);
  address.http.reset();
  address.job_id.reset();
  address.requests.ip = "2001:db8::1";
  EXPECT_EQ(ServiceAddress::FromJson(address.ToJson()), address);
}

TEST(ServiceAddress, AHostNameThatIsNotUtf8IsWrittenNevertheless) {
  ServiceAddress address = kFull;
  address.host = "n\xff";
  const std::optional<ServiceAddress> read = ServiceAddress::FromJson(address.ToJson());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->requests, address.requests);
}

TEST(ServiceAddress, OtherTextIsNone) {
  EXPECT_TRUE(ServiceAddress::FromJson(
      R"({"host":"h","ip":"10.0.0.7","port":1,"pid":2,"a later field":[]})"));
  for (const std::string text : {
           "",
           "{",
           "[]",
           "7",
           R"({"host":"h","ip":"10.0.0.7","port":1})",
           R"({"host":"h","ip":"node7","port":1,"pid":2})",
           R"({"host":"h","ip":"10.0.0.7","port":0,"pid":2})",
           R"({"host":"h","ip":"10.0.0.7","port":65536,"pid":2})",
           R"({"host":"h","ip":"10.0.0.7","port":-1,"pid":2})",
           R"({"host":"h","ip":"10.0.0.7","port":1.5,"pid":2})",
           R"({"host":"h","ip":"10.0.0.7","port":"1","pid":2})",
           R"({"host":7,"ip":"10.0.0.7","port":1,"pid":2})",
       }) {
    EXPECT_FALSE(ServiceAddress::FromJson(text)) << text;
  }
}

TEST(OwnJobId, IsThatOfTheSchedulerBeforeThatOfTheLauncher) {
  const auto variables = {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "SLURM_JOB_ID"};
  for (const char* variable : variables) {
    unsetenv(variable);
  }
  EXPECT_EQ(OwnJobId(), std::nullopt);
  for (const char* variable : variables) {
    setenv(variable, (std::string("id of ") + variable).c_str(), 1);
    EXPECT_EQ(OwnJobId(), std::string("id of ") + variable);
  }
  setenv("SLURM_JOB_ID", "", 1);
  EXPECT_EQ(OwnJobId(), "id of PMIX_NAMESPACE");
  for (const char* variable : variables) {
    unsetenv(variable);
  }
}

}  // namespace service_address_test
}  // namespace scorecast::launcher
