#!/bin/sh
# Runs tests whose clients come from PyPI, in an environment that is kept in DIR for the next time.
#
#   pypi_test.sh DIR MODULE…
set -eu
environment=$1
shift
"$(dirname "$0")/make_environment" "$environment"
test -x "$environment/bin/schemathesis" || exit 0
exec "$environment/bin/python" -m unittest -v "$@"
