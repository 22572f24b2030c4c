#!/bin/sh
# Runs tests whose clients come from PyPI, in an environment that is kept in DIR for the next time.
#
#   pypi_test.sh DIR MODULE…
set -eu
environment=$1
shift
here=$(dirname "$0")
"$here/make_environment" "$environment" "$here/requirements.txt"
test -e "$environment/made_from.txt" || exit 0
exec "$environment/bin/python" -m unittest -v "$@"
