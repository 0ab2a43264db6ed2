// The gateway's API. Addresses are relative to this file, so the page also works below a path of a proxy.

const base = new URL("../../api/v1/", import.meta.url);

// ApiError says what the gateway answered instead: status 0 means that it did not answer at all.
export class ApiError extends Error {
  constructor(status, code, detail, problems) {
    super(detail || code);
    Object.assign(this, { status, code, detail, problems: problems ?? [] });
  }
}

// lost is called when the gateway does not know us any more (401).
let lost = () => {};
export function onLost(f) {
  lost = f;
}

export function address(path, params) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(params ?? {})) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

// request answers { status, etag, data }; data is decoded JSON, or text where the answer is no JSON. Options:
// params (query), body (an object goes as JSON, a string as it is), type (of a string body), headers, signal.
export async function request(method, path, options = {}) {
  const { params, body, type, headers = {}, signal } = options;
  const init = { method, headers: { Accept: "application/json", ...headers }, signal, cache: "no-store" };
  if (body !== undefined) {
    init.headers["Content-Type"] = typeof body === "string" ? (type ?? "application/toml") : "application/json";
    init.body = typeof body === "string" ? body : JSON.stringify(body);
  } else if (method !== "GET") {
    init.headers["Content-Type"] = "application/json"; // no write of a browser is taken without one
  }
  let answer;
  try {
    answer = await fetch(address(path, params), init);
  } catch (cause) {
    if (cause.name === "AbortError") throw cause;
    throw new ApiError(0, "unreachable", "");
  }
  const json = /[/+]json/.test(answer.headers.get("Content-Type") ?? "");
  const data = json ? await answer.json().catch(() => null) : await answer.text();
  if (!answer.ok) {
    if (answer.status === 401 && path !== "session") lost();
    throw new ApiError(answer.status, data?.code ?? `http_${answer.status}`, data?.detail ?? data?.title ?? "", data?.problems);
  }
  return { status: answer.status, etag: answer.headers.get("ETag") ?? "", data };
}

// api is what views use; each answers the data alone and throws an ApiError.
export const api = {
  request,
  get: async (path, params, options) => (await request("GET", path, { ...options, params })).data,
  post: async (path, body, options) => (await request("POST", path, { ...options, body })).data,
  put: async (path, body, options) => (await request("PUT", path, { ...options, body })).data,
  del: async (path, params, options) => (await request("DELETE", path, { ...options, params })).data,
};
