/**
 * How late the event loop of this process is: the time between when a timer is due and when it runs.
 *
 * Whatever keeps the loop from turning, a long piece of JavaScript or a full collection of garbage, shows here.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";

const RESOLUTION_MS = 10;
const NANOSECONDS = 1e6;

export interface LoopLag {
  /** Since the last call, or the start (milliseconds). */
  take(): { "loop_lag/p99_ms": number; "loop_lag/max_ms": number };
  stop(): void;
}

export function watchLoopLag(): LoopLag {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  // A delay is counted from one firing of the timer to the next.
  const lag = (nanoseconds: number): number => Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS);
  return {
    take() {
      const [p99, max] = delays.count === 0 ? [0, 0] : [lag(delays.percentile(99)), lag(delays.max)];
      delays.reset();
      return { "loop_lag/p99_ms": p99, "loop_lag/max_ms": max };
    },
    stop: () => void delays.disable(),
  };
}
