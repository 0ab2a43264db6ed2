"""send.py sends one request, again as often and as late as the gateway asks for.

    TIDEGATE_URL=https://api.example.com TIDEGATE_KEY=your-key python3 send.py /v1/chat/hello chat
"""

import json
import os
import random
import sys
import time
import urllib.error
import urllib.request

SAFE = {"GET", "HEAD", "OPTIONS"}


def send(method, path, body=None, semantic=None, max_wait="30s", tries=6):
    """Returns the body of a good answer; raises the error of the last attempt otherwise."""
    for attempt in range(tries):
        request = urllib.request.Request(os.environ["TIDEGATE_URL"] + path, data=body, method=method)
        request.add_header("X-API-Key", os.environ["TIDEGATE_KEY"])
        request.add_header("X-Max-Wait", max_wait)
        if semantic:
            request.add_header("X-Semantic", semantic)
        try:
            # The timeout has to leave room for the wait, or you hang up while your turn is coming.
            with urllib.request.urlopen(request, timeout=90) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            text = error.read()
            asked = asked_for(error, text)
            if asked is None or attempt == tries - 1:
                print(text.decode(errors="replace"), file=sys.stderr)
                raise
        except OSError:  # nobody answered: what changes something may have been done
            if method not in SAFE or attempt == tries - 1:
                raise
            asked = 0.0
        # Never earlier than asked, twice as long each time, and up to a fifth more so that many do not return in step.
        time.sleep(max(asked, 0.2 * 2**attempt) * random.uniform(1.0, 1.2))


def asked_for(error, text):
    """Seconds after which the same request may succeed; None: it will not."""
    try:
        problem = json.loads(text)
    except ValueError:
        problem = None
    if isinstance(problem, dict) and "retryable" in problem:  # the gateway itself
        return problem["retry_after_ms"] / 1000 if problem["retryable"] else None
    after = error.headers.get("Retry-After", "")
    return float(after) if error.code in (429, 503) and after.isdecimal() else None


if __name__ == "__main__":
    semantic = sys.argv[2] if len(sys.argv) > 2 else None
    sys.stdout.buffer.write(send("GET", sys.argv[1], semantic=semantic))
