/** CPU time of this process, all threads, by what it was used for: by the orchestrator's code, or by the simulation around it. */

const MICRO = 1e6;

export class CpuAccount {
  #orchestratorSeconds = 0;
  #simulationSeconds = 0;

  /** Seconds since the beginning. */
  get orchestrator(): number {
    return this.#orchestratorSeconds;
  }

  get simulation(): number {
    return this.#simulationSeconds;
  }

  async ofOrchestrator(work: () => Promise<void>): Promise<void> {
    const before = cpuSeconds();
    await work();
    this.#orchestratorSeconds += cpuSeconds() - before;
  }

  ofSimulation<Result>(work: () => Result): Result {
    const before = cpuSeconds();
    const result = work();
    this.#simulationSeconds += cpuSeconds() - before;
    return result;
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / MICRO;
}
