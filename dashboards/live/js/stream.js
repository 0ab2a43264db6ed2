// The live stream: a snapshot once a second by server-sent events. It comes back by itself after whatever cut it, and
// always says how old the data are.

import { address, api } from "./api.js";

const OLD = 3000; // ms without anything new
const DEAD = 10000; // ms on an open connection without anything new: a half-open one, so it is opened again
const WAITS = [500, 1000, 2000, 3000]; // ms before the tries after a refusal

// stream calls onSnapshot(snapshot) for each, and onState({ state, ageS }) when that changes: state is connecting,
// connected, old or disconnected; ageS is whole seconds since something new came, null before the first.
export function stream({ onSnapshot, onState }) {
  let source = null;
  let retry = 0;
  let timer = 0;
  let opened = 0; // when the connection was last opened or tried
  let fresh = null; // when the last new snapshot came
  let newest = ""; // its time
  let said = "";

  function open() {
    clearTimeout(timer);
    source?.close();
    opened = performance.now();
    source = new EventSource(address("stream"));
    source.addEventListener("snapshot", (event) => {
      let snapshot;
      try {
        snapshot = JSON.parse(event.data);
      } catch {
        return; // cut short; the next one is due in a second
      }
      retry = 0;
      if (snapshot.time !== newest) {
        newest = snapshot.time;
        fresh = performance.now();
      }
      tell();
      onSnapshot(snapshot);
    });
    source.addEventListener("open", tell);
    source.addEventListener("error", () => {
      // The browser itself tries again after a cut, but gives up for good after an answer that is no stream.
      if (source.readyState === EventSource.CLOSED) {
        clearTimeout(timer);
        timer = setTimeout(open, WAITS[Math.min(retry++, WAITS.length - 1)]);
        api.get("session").catch((e) => e.status === 401 && location.reload());
      }
      tell();
    });
  }

  function tell() {
    const now = performance.now();
    const age = fresh === null ? null : now - fresh;
    const on = source.readyState === EventSource.OPEN;
    let state = "connected";
    if (!on) state = fresh === null && now - opened < OLD ? "connecting" : "disconnected";
    else if (age === null) state = "connecting";
    else if (age > OLD) state = "old";
    const ageS = age === null ? null : Math.floor(age / 1000);
    const key = state === "connected" ? state : `${state} ${ageS}`;
    if (key === said) return;
    said = key;
    onState({ state, ageS });
  }

  function watch() {
    const now = performance.now();
    if (source.readyState === EventSource.OPEN && now - Math.max(opened, fresh ?? 0) > DEAD) open();
    tell();
  }

  const watching = setInterval(watch, 500);
  // A computer that slept, or a network that came back, need not wait for the next try.
  const hurry = () => source.readyState !== EventSource.OPEN && open();
  addEventListener("online", hurry);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && hurry());
  open();
  return {
    close() {
      clearInterval(watching);
      clearTimeout(timer);
      removeEventListener("online", hurry);
      source.close();
    },
  };
}
