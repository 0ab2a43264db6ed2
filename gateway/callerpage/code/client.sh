#!/bin/sh
# send.sh sends one GET request, again as often and as late as the gateway asks for.
#   TIDEGATE_URL=https://api.example.com TIDEGATE_KEY=your-key sh send.sh /v1/chat/hello chat
set -eu
: "${TIDEGATE_URL:?is the address of the gateway}" "${TIDEGATE_KEY:?is your key}"
path=${1:?is the path} semantic=${2:-} tries=6
head=$(mktemp) && body=$(mktemp)
trap 'rm -f "$head" "$body"' EXIT

try=1
while :; do
  : >"$head" && : >"$body"
  # The key goes through standard input: what stands on a command line can be read by others.
  status=$(printf 'header = "X-API-Key: %s"\n' "$TIDEGATE_KEY" |
    curl --silent --show-error --config - --max-time 90 --dump-header "$head" --output "$body" --write-out '%{http_code}' \
      --header "X-Semantic: $semantic" --header "X-Max-Wait: 30s" "$TIDEGATE_URL$path") || status=000

  case $status in
    2??) cat "$body"; exit 0 ;;
  esac
  # When to come back: retry_after_ms of the gateway, or Retry-After of whoever answers behind it.
  asked=$(sed -n 's/.*"retryable":true.*"retry_after_ms":\([0-9]*\).*/\1/p' "$body" | head -n 1)
  if [ -z "$asked" ] && { [ "$status" = 429 ] || [ "$status" = 503 ]; } && ! grep -q '"retryable":' "$body"; then
    asked=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9][0-9]*\).*/\1000/p' "$head" | head -n 1)
  fi
  if [ "$status" = 000 ]; then asked=0; fi # nobody answered; a GET may be sent again
  if [ -z "$asked" ] || [ "$try" -ge "$tries" ]; then
    echo "send.sh: status $status after $try attempt(s)" >&2
    cat "$body" >&2
    exit 1
  fi
  # Never earlier than asked, twice as long each time, and up to a fifth more so that many do not return in step.
  least=$((200 << (try - 1)))
  if [ "$asked" -lt "$least" ]; then asked=$least; fi
  random=$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')
  ms=$((asked + asked * random / 5 / 65536))
  sleep "$((ms / 1000)).$(printf '%03d' $((ms % 1000)))"
  try=$((try + 1))
done
