/**
 * Turns on the event loop for work that comes in bursts: a millisecond's worth of them per round of the loop, so that timers and other
 * connections are served in between. Without it, a thousand answers that arrive together are a thousand rollouts scored in one go.
 */
const LONGEST_MS = 1;

const waiting: (() => void)[] = [];
let head = 0;
let roundBegan = 0;

/** Resolves first come first served, in this round of the loop or a later one, never at once. */
export function fairTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length - head === 1) setImmediate(round);
  });
}

function round(): void {
  roundBegan = performance.now();
  next();
}

function next(): void {
  const resolve = waiting[head++];
  resolve?.();
  if (head === waiting.length) {
    waiting.length = 0;
    head = 0;
  } else if (performance.now() - roundBegan > LONGEST_MS) setImmediate(round);
  // Comes after what the resolved one does at once.
  else queueMicrotask(next);
}
