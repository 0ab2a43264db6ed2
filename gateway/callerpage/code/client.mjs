// send.mjs sends one request, again as often and as late as the gateway asks for.
//   TIDEGATE_URL=https://api.example.com TIDEGATE_KEY=your-key node send.mjs /v1/chat/hello chat
import { setTimeout as sleep } from "node:timers/promises";

const safe = new Set(["GET", "HEAD", "OPTIONS"]);

// send resolves with a good answer and rejects after the last attempt otherwise.
export async function send(method, path, { body, semantic, maxWait = "30s", tries = 6 } = {}) {
  const headers = { "X-API-Key": process.env.TIDEGATE_KEY, "X-Max-Wait": maxWait };
  if (semantic) headers["X-Semantic"] = semantic;
  for (let attempt = 0; ; attempt++) {
    let asked = null;
    let failure;
    try {
      // The timeout has to leave room for the wait, or you hang up while your turn is coming.
      const answer = await fetch(process.env.TIDEGATE_URL + path, { method, headers, body, signal: AbortSignal.timeout(90_000) });
      if (answer.ok) return answer;
      const text = await answer.text();
      failure = new Error(`${answer.status} ${text}`);
      asked = askedFor(answer, text);
    } catch (error) {
      failure = error; // nobody answered: what changes something may have been done
      if (safe.has(method)) asked = 0;
    }
    if (asked === null || attempt === tries - 1) throw failure;
    // Never earlier than asked, twice as long each time, and up to a fifth more so that many do not return in step.
    await sleep(Math.max(asked, 200 * 2 ** attempt) * (1 + Math.random() / 5));
  }
}

// askedFor is after how many milliseconds the same request may succeed; null: it will not.
function askedFor(answer, text) {
  try {
    const problem = JSON.parse(text);
    if (typeof problem.retryable === "boolean") return problem.retryable ? problem.retry_after_ms : null; // the gateway itself
  } catch {
    // not the gateway's words
  }
  const after = answer.headers.get("Retry-After") ?? "";
  return [429, 503].includes(answer.status) && /^\d+$/.test(after) ? Number(after) * 1000 : null;
}

const answer = await send("GET", process.argv[2], { semantic: process.argv[3] });
process.stdout.write(Buffer.from(await answer.arrayBuffer()));
