// The service over HTTP: requests with the token, and live streams that reconnect by themselves.

const KEY = "odca-token";
const SILENCE = 40_000; // a live stream says something every 15 seconds
const FIRST_WAIT = 1000;
const LONGEST_WAIT = 15_000;

let token = sessionStorage.getItem(KEY) ?? "";

export function hasToken() {
  return token !== "";
}

export function setToken(value) {
  token = value;
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

/** An answer that is no success; `status` 0: there was no answer. */
export class Refused extends Error {
  constructor(status, type, detail) {
    super(detail);
    this.status = status;
    this.type = type;
  }
}

async function refusal(response) {
  try {
    const { type = "", detail, title } = await response.json();
    return new Refused(response.status, String(type).replace("urn:odca:", ""), String(detail || title || response.statusText));
  } catch {
    return new Refused(response.status, "", `The service answered ${response.status} ${response.statusText}`.trim());
  }
}

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refused(0, "unreachable", "The service does not answer.");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

export async function get(path, signal) {
  return (await ask(path, { signal })).json();
}

export async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return (await ask(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/** The path of a model; names are validated by the service, but the address bar is not. */
export function modelPath(model, rest = "") {
  return `v1/models/${encodeURIComponent(model)}${rest}`;
}

/** Yields [event, data] of a stream of server-sent events; `heard` is called for every piece that arrives. */
async function* messages(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    text = (text + value).replaceAll("\r\n", "\n");
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      let event = "message";
      const data = [];
      for (const line of block.split("\n")) {
        if (line.startsWith("event:")) event = line.slice(6).trim();
        else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      }
      if (data.length) yield [event, JSON.parse(data.join("\n"))];
    }
  }
}

/** Whether asking again would not help. */
function isFinal(status) {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/**
 * Follows a live stream until `close()`: after a break it waits, longer each time, and begins again.
 * `on.message(event, data)`, `on.state("connecting" | "live" | "waiting", seconds, reason)`, and `on.refused(error)`, after which it
 * is closed: asking again would not help.
 */
export function follow(path, on) {
  let closed = false;
  let wait = FIRST_WAIT;
  let wake = () => {};
  let control = new AbortController();

  async function once() {
    control = new AbortController();
    let timer;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => control.abort(), SILENCE);
    };
    heard();
    try {
      const response = await ask(path, { signal: control.signal, headers: { Accept: "text/event-stream" } });
      for await (const [event, data] of messages(response.body, heard)) {
        if (closed) return "";
        wait = FIRST_WAIT;
        on.state("live", 0, "");
        if (event === "end") return data.reason;
        on.message(event, data);
      }
      return "";
    } finally {
      clearTimeout(timer);
    }
  }

  async function run() {
    while (!closed) {
      let reason = "";
      try {
        reason = await once();
      } catch (error) {
        if (!closed && error instanceof Refused && isFinal(error.status)) {
          closed = true;
          on.refused(error);
        }
      }
      if (closed) return;
      if (reason === "deleted") {
        closed = true;
        on.refused(new Refused(404, "no-model", "The model was deleted."));
        return;
      }
      on.state("waiting", wait / 1000, reason);
      await new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, wait * (0.8 + 0.4 * Math.random()));
      });
      wait = Math.min(2 * wait, LONGEST_WAIT);
      if (!closed) on.state("connecting", 0, "");
    }
  }

  const again = () => wake();
  addEventListener("online", again);
  on.state("connecting", 0, "");
  run();
  return {
    retry: again,
    close() {
      closed = true;
      removeEventListener("online", again);
      control.abort();
      wake();
    },
  };
}
