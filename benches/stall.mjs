// How long the event loop stands still while something else is at work.

/** Milliseconds that a timer due every millisecond came late at most. */
export async function longestStall(work) {
  let longest = 0;
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 1);
    last = now;
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
