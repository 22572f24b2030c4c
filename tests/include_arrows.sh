#!/bin/sh
# Holds every #include to the arrows of docs/architecture.md.
#
#   include_arrows.sh TREE          lists the includes that break them; exit code 1 if there are any
#   include_arrows.sh --self-check  plants one violation of each kind and expects to see it
set -u

# set_allowed FILE: sets `allowed` to the folders and single headers that FILE may include. A folder
# that is not listed here may include nothing of ours, so that a new folder gets its arrows before
# its first file.
set_allowed() {
  contracts='proto/base proto/model proto/plan'
  messages='proto/scorecast.pb.h proto/http_responses.pb.h proto/json_description.pb.h'
  jobs='coordinator/schedule/clock.h coordinator/schedule/client_id.h coordinator/schedule/job.h'
  case $1 in
    proto/base/*) allowed='proto/base' ;;
    proto/log/*) allowed='proto/log' ;;
    proto/model/*) allowed='proto/base proto/model' ;;
    proto/plan/*) allowed=$contracts ;;
    proto/mpi/*) allowed='proto/base proto/mpi' ;;
    proto/tls/*) allowed='proto/base proto/tls' ;;
    proto/wire/*) allowed='proto/base proto/wire proto/scorecast.pb.h' ;;
    coordinator/text/unicode/*) allowed='coordinator/text/unicode proto/base' ;;
    coordinator/text/models/* | coordinator/text/steps/*)
      folder=${1#coordinator/text/}
      allowed="coordinator/text/${folder%%/*} coordinator/text/unicode $contracts" ;;
    coordinator/text/files/*)
      allowed="coordinator/text/files coordinator/text/models coordinator/text/steps"
      allowed="$allowed coordinator/text/unicode $contracts" ;;
    coordinator/text/*) allowed="coordinator/text $contracts" ;;
    # Jobs, the pages that they need, the passes that compute them, and the queue: each builds on those before it.
    coordinator/schedule/*/*)
      folder=${1#coordinator/schedule/}
      allowed="coordinator/schedule/${folder%%/*} $jobs $contracts"
      case $folder in
        pass/*) allowed="$allowed coordinator/schedule/pages" ;;
        queue/*) allowed="$allowed coordinator/schedule/pages coordinator/schedule/pass" ;;
      esac ;;
    coordinator/schedule/*) allowed="$jobs $contracts" ;;
    # Knows neither requests nor how they arrive.
    coordinator/access/*) allowed="coordinator/access $jobs proto/base proto/log" ;;
    coordinator/generate/*)
      allowed="coordinator/generate coordinator/schedule coordinator/text $contracts" ;;
    # Packs for every endpoint, and knows none of their requests.
    coordinator/prompts/*) allowed="coordinator/prompts coordinator/schedule coordinator/text $contracts" ;;
    coordinator/templates/*) allowed="coordinator/templates coordinator/text $contracts" ;;
    # Knows conversations, but no requests.
    coordinator/chat/*) allowed="coordinator/chat coordinator/text $contracts" ;;
    coordinator/decisions/*) allowed="coordinator/decisions coordinator/templates coordinator/text $contracts" ;;
    coordinator/embeddings/*) allowed="coordinator/embeddings coordinator/text $contracts" ;;
    coordinator/rerank/*)
      allowed="coordinator/rerank coordinator/chat coordinator/prompts coordinator/templates coordinator/text"
      allowed="$allowed $contracts" ;;
    coordinator/resources/*)
      allowed="coordinator/resources coordinator/endpoints coordinator/json coordinator/request"
      allowed="$allowed coordinator/chat coordinator/decisions coordinator/generate coordinator/rerank"
      allowed="$allowed coordinator/schedule coordinator/text $contracts" ;;
    # Knows the service only as a browser does.
    coordinator/page/*) allowed='coordinator/page coordinator/resources/resource.h coordinator/resources/reply_field.h' ;;
    coordinator/request/*)
      allowed="coordinator/request coordinator/embeddings coordinator/prompts coordinator/rerank"
      allowed="$allowed coordinator/schedule"
      allowed="$allowed coordinator/text proto/log $contracts" ;;
    coordinator/json/*)
      allowed="coordinator/json coordinator/request coordinator/rerank coordinator/schedule"
      allowed="$allowed coordinator/text proto/wire/error_message.h $messages $contracts" ;;
    coordinator/endpoints/*)
      allowed="coordinator/endpoints coordinator/json coordinator/request coordinator/generate"
      allowed="$allowed coordinator/prompts coordinator/chat coordinator/decisions coordinator/embeddings"
      allowed="$allowed coordinator/rerank coordinator/schedule"
      allowed="$allowed coordinator/text proto/log $messages $contracts" ;;
    coordinator/service/*)
      allowed="coordinator/service coordinator/access coordinator/endpoints coordinator/json coordinator/request coordinator/generate"
      allowed="$allowed coordinator/schedule coordinator/text $contracts" ;;
    # What transports share knows no protocol.
    coordinator/transports/connection/*)
      allowed="coordinator/transports/connection coordinator/access coordinator/service coordinator/endpoints"
      allowed="$allowed coordinator/request coordinator/generate coordinator/schedule proto/log proto/tls $contracts" ;;
    # Files know nothing of what is in them.
    coordinator/transports/batch/files/*)
      allowed='coordinator/transports/batch/files proto/base' ;;
    # HTTP requests, however they arrive.
    coordinator/transports/web/*)
      allowed="coordinator/transports/web coordinator/transports/connection coordinator/access"
      allowed="$allowed coordinator/service coordinator/endpoints coordinator/json coordinator/request"
      allowed="$allowed coordinator/resources coordinator/schedule coordinator/text $contracts" ;;
    # No transport includes another one.
    coordinator/transports/*)
      transport=${1#coordinator/transports/}
      allowed="coordinator/transports/${transport%%/*} coordinator/transports/connection coordinator/access"
      allowed="$allowed coordinator/service coordinator/endpoints coordinator/json coordinator/request"
      allowed="$allowed coordinator/generate coordinator/rerank coordinator/resources"
      allowed="$allowed coordinator/schedule coordinator/status coordinator/text"
      allowed="$allowed proto/log proto/wire proto/scorecast.pb.h $contracts"
      case $transport in
        http/* | socket/*) allowed="$allowed coordinator/transports/web" ;;
      esac ;;
    coordinator/status/*)
      allowed="coordinator/status coordinator/resources coordinator/transports/connection"
      allowed="$allowed coordinator/schedule $contracts" ;;
    # What the clients of a front see.
    coordinator/front/clients/*)
      allowed="coordinator/front coordinator/access coordinator/endpoints coordinator/generate/seed.h"
      allowed="$allowed coordinator/json coordinator/metrics"
      allowed="$allowed coordinator/request coordinator/resources coordinator/schedule coordinator/service"
      allowed="$allowed coordinator/status coordinator/transports/connection coordinator/transports/web"
      allowed="$allowed proto/base proto/log proto/tls proto/wire proto/scorecast.pb.h" ;;
    # Lines of a batch that replicas compute.
    coordinator/front/batch/*)
      allowed="coordinator/front coordinator/endpoints coordinator/request coordinator/schedule"
      allowed="$allowed coordinator/transports/batch proto/base proto/wire proto/scorecast.pb.h" ;;
    # Passes requests on, and computes none.
    coordinator/front/*)
      allowed="coordinator/front coordinator/access coordinator/schedule coordinator/transports/connection"
      allowed="$allowed proto/base proto/log proto/tls proto/wire proto/scorecast.pb.h" ;;
    coordinator/metrics/*)
      allowed="coordinator/metrics coordinator/endpoints coordinator/resources coordinator/schedule"
      allowed="$allowed coordinator/service coordinator/status $contracts" ;;
    shard/*) allowed='shard proto' ;;
    # No folder of the launcher includes another one that includes it.
    launcher/address/*) allowed='launcher/address proto/base' ;;
    launcher/calibrate/*) allowed='launcher/calibrate proto/base' ;;
    launcher/client/*) allowed='launcher/client launcher/address launcher/calibrate coordinator proto' ;;
    launcher/supervisor/*) allowed='launcher/supervisor launcher/address coordinator proto' ;;
    launcher/host/*) allowed='launcher/host launcher/address launcher/supervisor proto' ;;
    launcher/engine/*) allowed='launcher/engine launcher/host coordinator shard proto' ;;
    launcher/cost/*) allowed='launcher/cost launcher/engine launcher/host coordinator/schedule shard proto' ;;
    launcher/log/*) allowed='launcher/log launcher/engine coordinator proto' ;;
    launcher/*) allowed='launcher coordinator shard proto' ;;
    bench/*) allowed='bench launcher coordinator shard proto' ;;
    # The oracle shares only the description of its input with the code that it judges.
    tests/reference/*)
      allowed='tests/reference proto/plan/packed_sequence.h proto/model/model_config.h proto/model/token_id.h' ;;
    tests/bench/*) allowed='tests bench proto' ;;
    tests/*) allowed='tests launcher coordinator shard proto' ;;
    *) allowed='' ;;
  esac
}

# violates FILE HEADER OPENING: whether FILE may not include HEADER, opened by a quote or a bracket.
violates() {
  case $2 in
    mpi.h)
      case $1 in
        proto/mpi/* | shard/exchange/* | tests/mpi/* | bench/*) return 1 ;;
        *) return 0 ;;
      esac ;;
    bench/* | coordinator/* | launcher/* | proto/* | shard/* | tests/*) ;;
    # Headers of ours are named from the root; other names in angle brackets are not ours.
    *)
      case $3 in
        *'"') return 0 ;;
        *) return 1 ;;
      esac ;;
  esac
  case /$2/ in
    */../* | */./*) return 0 ;;
  esac
  # An endpoint's headers are for the endpoint itself, the table of endpoints, and those outside
  # the coordinator. But a form of score requests is a kind of reranking.
  case $2 in
    coordinator/endpoints/rerank/pair_score_request.h)
      case $1 in
        coordinator/endpoints/score/*) return 1 ;;
      esac ;;
  esac
  case $2 in
    coordinator/endpoints/*/*)
      endpoint=${2#coordinator/endpoints/}
      case $1 in
        coordinator/endpoints/endpoints.cc | coordinator/endpoints/"${endpoint%%/*}"/*) ;;
        coordinator/*) return 0 ;;
      esac ;;
  esac
  set_allowed "$1"
  for target in $allowed; do
    case $2 in
      "$target" | "$target"/*) return 1 ;;
    esac
  done
  return 0
}

# Prints FILE:LINE:#include … of every include that breaks the arrows, and "seen" after the first
# include.
list() {
  for folder in bench coordinator launcher proto shard tests; do
    test -d "$folder" || continue
    find "$folder" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.inc' \) \
      -exec grep -En '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' /dev/null {} +
  done | {
    first=yes
    while IFS= read -r found; do
      test "$first" = no || echo seen
      first=no
      file=${found%%:*}
      rest=${found#*:*:}              # without FILE:LINE:
      rest=${rest#*include}           # ' "a/b.h"  // why'
      header=${rest#*[\"\<]}          # 'a/b.h"  // why'
      opening=${rest%"$header"}       # ' "'
      header=${header%%[\"\>]*}
      if violates "$file" "$header" "$opening"; then
        echo "$found"
      fi
    done
  }
}

check() (
  cd "$1" || exit 2
  found=$(list)
  case $found in
    *seen*) ;;
    *) echo "no source files in $1"; exit 2 ;;
  esac
  violations=$(printf '%s\n' "$found" | grep -vx seen)
  test -z "$violations" && exit 0
  echo 'includes against the arrows:'
  printf '%s\n' "$violations"
  exit 1
)

# expect STATUS FILE LINE: checks a tree that has FILE with this line, and one more file without a
# fault.
expect() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/proto/base" "$tree/${2%/*}"
  echo '#include <vector>' > "$tree/proto/base/other.h"
  printf '%s\n' "$3" > "$tree/$2"
  output=$(check "$tree")
  status=$?
  if test "$status" -ne "$1"; then
    echo "$2 with $3: expected status $1, got $status"
    printf '%s\n' "$output"
    failed=1
  fi
}

self_check() {
  tree=$(mktemp -d) || exit 2
  trap 'rm -rf "$tree"' EXIT
  failed=0
  while read -r status file include; do
    expect "$status" "$file" "$include"
  done <<'CASES'
0 proto/base/a.h #include "proto/base/b.h"
1 proto/base/a.h #include "proto/model/b.h"
1 proto/base/a.h #include "coordinator/text/b.h"
1 proto/base/a.h #include <mpi.h>
0 proto/model/a.h #include "proto/base/b.h"
1 proto/model/a.h #include "proto/plan/b.h"
0 proto/plan/a.cc #include "proto/model/b.h"
1 proto/plan/a.cc #include "proto/mpi/b.h"
1 proto/plan/a.cc #include "shard/b.h"
0 proto/mpi/a.h #include "proto/base/b.h"
0 proto/mpi/a.h #include <mpi.h>
1 proto/mpi/a.h #include "proto/plan/b.h"
0 proto/log/a.cc #include "proto/log/b.h"
1 proto/log/a.cc #include "proto/base/b.h"
0 coordinator/request/a.cc #include "proto/log/b.h"
0 coordinator/transports/connection/a.cc #include "proto/log/b.h"
1 coordinator/schedule/a.cc #include "proto/log/b.h"
1 proto/unknown/a.h #include "proto/base/b.h"
0 coordinator/request/a.cc #include "coordinator/schedule/b.h"
1 coordinator/request/a.cc #include "coordinator/json/b.h"
0 coordinator/request/a.cc #include "coordinator/prompts/b.h"
0 coordinator/prompts/a.cc #include "coordinator/text/b.h"
0 coordinator/prompts/a.cc #include "coordinator/schedule/pages/b.h"
1 coordinator/prompts/a.cc #include "coordinator/request/b.h"
1 coordinator/prompts/a.cc #include "coordinator/endpoints/b.h"
1 coordinator/prompts/a.cc #include "coordinator/rerank/b.h"
0 coordinator/rerank/a.cc #include "coordinator/prompts/b.h"
0 coordinator/rerank/a.cc #include "coordinator/templates/b.h"
0 coordinator/rerank/a.cc #include "coordinator/chat/b.h"
1 coordinator/chat/a.cc #include "coordinator/rerank/b.h"
0 coordinator/decisions/a.cc #include "coordinator/templates/b.h"
0 coordinator/chat/a.cc #include "coordinator/text/b.h"
1 coordinator/chat/a.cc #include "coordinator/templates/b.h"
1 coordinator/chat/a.cc #include "coordinator/request/b.h"
1 coordinator/request/a.cc #include "coordinator/chat/b.h"
0 coordinator/endpoints/deep/a.cc #include "coordinator/chat/b.h"
0 coordinator/resources/a.cc #include "coordinator/chat/b.h"
1 coordinator/decisions/a.cc #include "coordinator/rerank/b.h"
1 coordinator/templates/a.cc #include "coordinator/rerank/b.h"
0 coordinator/access/a.cc #include "coordinator/schedule/client_id.h"
1 coordinator/access/a.cc #include "coordinator/schedule/queue/b.h"
1 coordinator/access/a.cc #include "coordinator/service/b.h"
0 coordinator/service/a.cc #include "coordinator/access/b.h"
1 coordinator/schedule/a.cc #include "coordinator/access/b.h"
1 coordinator/schedule/a.cc #include "coordinator/prompts/b.h"
1 coordinator/text/a.cc #include "coordinator/prompts/b.h"
0 coordinator/endpoints/deep/a.cc #include "coordinator/prompts/b.h"
1 coordinator/request/a.cc #include "proto/scorecast.pb.h"
0 coordinator/json/a.cc #include "coordinator/request/b.h"
1 coordinator/json/a.cc #include "coordinator/endpoints/b.h"
0 coordinator/json/a.cc #include "proto/json_description.pb.h"
1 coordinator/json/a.cc #include "proto/wire/b.h"
0 coordinator/endpoints/deep/er/a.cc #include "coordinator/generate/b.h"
0 coordinator/endpoints/deep/a.cc #include "coordinator/endpoints/b.h"
0 coordinator/endpoints/deep/a.cc #include "coordinator/endpoints/deep/b.h"
1 coordinator/endpoints/deep/a.cc #include "coordinator/endpoints/deeper/b.h"
0 coordinator/endpoints/score/a.cc #include "coordinator/endpoints/rerank/pair_score_request.h"
1 coordinator/endpoints/score/a.cc #include "coordinator/endpoints/rerank/b.h"
1 coordinator/endpoints/deep/a.cc #include "coordinator/endpoints/rerank/pair_score_request.h"
0 coordinator/endpoints/endpoints.cc #include "coordinator/endpoints/deep/b.h"
1 coordinator/endpoints/endpoints.h #include "coordinator/endpoints/deep/b.h"
1 coordinator/endpoints/a.cc #include "coordinator/endpoints/deep/b.h"
1 coordinator/transports/deep/a.cc #include "coordinator/endpoints/deep/b.h"
0 coordinator/endpoints/a.cc #include "proto/scorecast.pb.h"
0 coordinator/endpoints/a.cc #include "proto/http_responses.pb.h"
1 coordinator/service/a.cc #include "proto/http_responses.pb.h"
1 coordinator/endpoints/a.cc #include "proto/wire/b.h"
1 coordinator/endpoints/a.cc #include "coordinator/transports/b.h"
1 coordinator/endpoints/a.cc #include "launcher/b.h"
0 coordinator/transports/deep/a.cc #include "coordinator/endpoints/b.h"
0 coordinator/transports/a.cc #include "proto/wire/b.h"
0 coordinator/transports/a.cc #include "coordinator/status/b.h"
1 coordinator/transports/a.cc #include "proto/mpi/b.h"
0 coordinator/transports/deep/a.cc #include "coordinator/transports/deep/b.h"
0 coordinator/transports/deep/a.cc #include "coordinator/transports/connection/b.h"
1 coordinator/transports/deep/a.cc #include "coordinator/transports/other/b.h"
0 coordinator/transports/http/a.cc #include "coordinator/transports/web/b.h"
0 coordinator/transports/socket/a.cc #include "coordinator/transports/web/b.h"
1 coordinator/transports/socket/a.cc #include "coordinator/transports/http/b.h"
1 coordinator/transports/batch/a.cc #include "coordinator/transports/web/b.h"
1 coordinator/transports/web/a.cc #include "coordinator/transports/http/b.h"
1 coordinator/transports/web/a.cc #include "proto/wire/b.h"
0 coordinator/transports/web/a.cc #include "coordinator/transports/connection/b.h"
1 coordinator/transports/connection/a.cc #include "coordinator/transports/web/b.h"
0 coordinator/transports/batch/a.cc #include "coordinator/transports/batch/files/b.h"
0 coordinator/transports/batch/files/a.cc #include "proto/base/b.h"
1 coordinator/transports/batch/files/a.cc #include "coordinator/transports/batch/b.h"
1 coordinator/transports/batch/files/a.cc #include "coordinator/endpoints/b.h"
0 coordinator/transports/connection/a.cc #include "coordinator/transports/connection/b.h"
1 coordinator/transports/connection/a.cc #include "coordinator/transports/socket/b.h"
1 coordinator/transports/connection/a.cc #include "coordinator/json/b.h"
1 coordinator/transports/connection/a.cc #include "proto/wire/b.h"
1 coordinator/transports/connection/a.cc #include "proto/scorecast.pb.h"
1 coordinator/transports/a.cc #include "shard/b.h"
0 coordinator/status/a.cc #include "coordinator/schedule/b.h"
0 coordinator/status/a.cc #include "coordinator/transports/connection/b.h"
1 coordinator/status/a.cc #include "coordinator/transports/socket/b.h"
1 coordinator/schedule/a.cc #include "coordinator/status/b.h"
0 coordinator/resources/a.cc #include "coordinator/endpoints/b.h"
1 coordinator/resources/a.cc #include "coordinator/endpoints/deep/b.h"
1 coordinator/resources/a.cc #include "coordinator/transports/connection/b.h"
1 coordinator/endpoints/a.cc #include "coordinator/resources/b.h"
0 coordinator/page/a.cc #include "coordinator/resources/resource.h"
1 coordinator/page/a.cc #include "coordinator/resources/openapi.h"
1 coordinator/page/a.cc #include "coordinator/metrics/b.h"
0 coordinator/metrics/a.cc #include "coordinator/status/b.h"
1 coordinator/metrics/a.cc #include "coordinator/transports/socket/b.h"
0 coordinator/front/a.cc #include "coordinator/transports/connection/b.h"
0 coordinator/front/a.cc #include "coordinator/schedule/queue/b.h"
1 coordinator/front/a.cc #include "coordinator/endpoints/b.h"
1 coordinator/front/a.cc #include "coordinator/transports/socket/b.h"
1 coordinator/transports/socket/a.cc #include "coordinator/front/b.h"
1 coordinator/front/a.cc #include "coordinator/transports/batch/b.h"
0 coordinator/front/batch/a.cc #include "coordinator/transports/batch/b.h"
0 coordinator/front/batch/a.cc #include "coordinator/front/b.h"
1 coordinator/front/batch/a.cc #include "coordinator/metrics/b.h"
1 coordinator/transports/batch/a.cc #include "coordinator/front/b.h"
1 coordinator/endpoints/a.cc #include "coordinator/metrics/b.h"
1 coordinator/text/a.cc #include "coordinator/request/b.h"
1 coordinator/schedule/a.cc #include "coordinator/request/b.h"
0 coordinator/schedule/queue/a.cc #include "coordinator/schedule/pass/b.h"
0 coordinator/schedule/pass/a.cc #include "coordinator/schedule/pages/b.h"
0 coordinator/schedule/pages/a.cc #include "coordinator/schedule/job.h"
1 coordinator/schedule/pages/a.cc #include "coordinator/schedule/pass/b.h"
1 coordinator/schedule/pass/a.cc #include "coordinator/schedule/queue/b.h"
1 coordinator/schedule/a.cc #include "coordinator/schedule/pages/b.h"
0 coordinator/service/a.cc #include "coordinator/endpoints/b.h"
1 coordinator/service/a.cc #include "coordinator/transports/connection/b.h"
1 coordinator/endpoints/a.cc #include "coordinator/service/b.h"
0 coordinator/schedule/a.cc #include "proto/plan/b.h"
0 coordinator/generate/a.cc #include "coordinator/schedule/b.h"
0 coordinator/generate/a.cc #include "coordinator/text/b.h"
1 coordinator/text/unicode/a.cc #include "coordinator/text/steps/b.h"
1 coordinator/text/models/a.cc #include "coordinator/text/steps/b.h"
0 coordinator/text/steps/a.cc #include "coordinator/text/unicode/b.h"
1 coordinator/text/files/a.cc #include "coordinator/text/tokenizer.h"
0 coordinator/text/files/a.cc #include "coordinator/text/models/b.h"
0 coordinator/text/a.cc #include "coordinator/text/files/b.h"
1 coordinator/generate/a.cc #include "coordinator/request/b.h"
1 coordinator/schedule/a.cc #include "coordinator/generate/b.h"
0 shard/deep/er/a.cc #include "proto/mpi/b.h"
1 shard/a.cc #include "coordinator/text/b.h"
1 shard/a.cc #include "launcher/b.h"
1 shard/a.cc #include "tests/reference/b.h"
1 shard/a.cc #include <mpi.h>
0 shard/exchange/a.h #include <mpi.h>
1 shard/worker/a.cc #include <mpi.h>
1 shard/exchange/a.h #include "coordinator/text/b.h"
1 shard/a.cc # include  <coordinator/text/b.h>
1 shard/a.cc #include "b.h"
1 shard/a.cc #include "../coordinator/text/b.h"
1 shard/a.cc #include "shard/../coordinator/text/b.h"
0 shard/a.cc #include <nlohmann/json.hpp>
0 shard/a.cc // #include "coordinator/text/b.h"
0 launcher/a.cc #include "coordinator/endpoints/b.h"
0 launcher/commands/a.cc #include "launcher/engine/b.h"
0 launcher/engine/a.cc #include "launcher/host/b.h"
0 launcher/client/a.cc #include "launcher/calibrate/b.h"
1 launcher/calibrate/a.cc #include "launcher/client/b.h"
1 launcher/calibrate/a.cc #include "coordinator/text/b.h"
1 launcher/host/a.cc #include "launcher/engine/b.h"
1 launcher/engine/a.cc #include "launcher/log/b.h"
1 launcher/log/a.cc #include "launcher/commands/b.h"
0 launcher/a.cc #include "coordinator/endpoints/deep/b.h"
0 launcher/a.cc #include "shard/b.h"
1 launcher/a.cc #include "bench/b.h"
1 launcher/a.cc #include "tests/reference/b.h"
1 launcher/a.cc #include "mpi.h"
0 bench/a.cc #include <mpi.h>
0 bench/a.cc #include "shard/b.h"
1 bench/a.cc #include "tests/reference/b.h"
0 tests/shard/a.cc #include "tests/reference/b.h"
0 tests/shard/a.cc #include "coordinator/endpoints/b.h"
1 tests/shard/a.cc #include <mpi.h>
0 tests/bench/a.cc #include "bench/b.h"
1 tests/shard/a.cc #include "bench/b.h"
0 tests/mpi/a.cc #include <mpi.h>
0 tests/reference/a.h #include "proto/plan/packed_sequence.h"
1 tests/reference/a.h #include "proto/plan/forward_plan.h"
1 tests/reference/a.h #include "shard/b.h"
CASES
  rm -rf "${tree:?}"/*
  check "$tree" > /dev/null
  test $? -eq 2 || { echo 'an empty tree passes'; failed=1; }
  exit "$failed"
}

case ${1-} in
  --self-check) self_check ;;
  '') echo "usage: $0 TREE | --self-check" >&2; exit 2 ;;
  *) check "$1" ;;
esac
