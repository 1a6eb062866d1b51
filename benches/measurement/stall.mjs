// How long the event loop stands still while something else is at work.
import { readFileSync } from "node:fs";

/** Milliseconds that a timer due every millisecond came late at most. */
export async function longestStall(work) {
  return (await longestStalls(work)).late;
}

/**
 * The same, and `own`: without the time in which this thread could have run but had no core, as Linux counts it. What is left is the
 * process's own doing, however busy the machine is: JavaScript, native calls, locks and faults. Elsewhere both are equal.
 */
export async function longestStalls(work) {
  const longest = { late: 0, own: 0 };
  let last = performance.now();
  let waited = waitedMs();
  const look = () => {
    const [now, waitedNow] = [performance.now(), waitedMs()];
    const late = Math.max(0, now - last - 1);
    longest.late = Math.max(longest.late, late);
    longest.own = Math.max(longest.own, late - (waitedNow - waited));
    [last, waited] = [now, waitedNow];
  };
  const timer = setInterval(look, 1);
  try {
    await work();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

/** Milliseconds that this thread has waited for a core so far. */
function waitedMs() {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
