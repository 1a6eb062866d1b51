/**
 * CPU time of this process, all threads, by what it was used for: by the orchestrator's code, or by the simulation around it.
 *
 * Reading the time is a system call, so it is read only where one of them hands over to the other.
 */

const MICRO = 1e6;

export class CpuAccount {
  #orchestratorSeconds = 0;
  #read = cpuSeconds();

  /** CPU seconds of the orchestrator since the beginning. */
  get orchestrator(): number {
    return this.#orchestratorSeconds;
  }

  /** Charges the time since the last reading to the simulation, or to work that is not counted. */
  simulated(): void {
    this.#read = cpuSeconds();
  }

  /** Charges the time since the last reading to the orchestrator. */
  orchestrated(): void {
    const now = cpuSeconds();
    this.#orchestratorSeconds += now - this.#read;
    this.#read = now;
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / MICRO;
}
