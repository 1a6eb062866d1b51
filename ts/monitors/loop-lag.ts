/**
 * Measures the lag of this process's event loop: the time between when a timer is due and when it runs.
 *
 * A long piece of JavaScript or a full garbage collection blocks the loop and shows here.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";

const RESOLUTION_MS = 10;
const NANOSECONDS = 1e6;

export interface LoopLag {
  /** `event_loop_lag/{min,mean,median,p90,p99,max}` in seconds and the number of measurements `n`, since the last call or the start; nothing without any. */
  take(): Record<string, number>;
  stop(): void;
}

export function watchLoopLag(): LoopLag {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  // A delay is counted from one firing of the timer to the next.
  const lag = (nanoseconds: number): number => Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS) / 1000;
  return {
    take() {
      if (delays.count === 0) return {};
      const values = {
        "event_loop_lag/min": lag(delays.min),
        "event_loop_lag/mean": lag(delays.mean),
        "event_loop_lag/median": lag(delays.percentile(50)),
        "event_loop_lag/p90": lag(delays.percentile(90)),
        "event_loop_lag/p99": lag(delays.percentile(99)),
        "event_loop_lag/max": lag(delays.max),
        "event_loop_lag/n": delays.count,
      };
      delays.reset();
      return values;
    },
    stop: () => void delays.disable(),
  };
}
