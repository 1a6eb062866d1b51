/** What a chaos found, by kind of fault: as data for `--json`, and as a table of text. */
import { renderTable } from "../../monitors/index.ts";
import type { Choice } from "./catalogue.ts";
import type { Injection } from "./round.ts";
import type { ChaosResult } from "./run-chaos.ts";

export interface FaultReport {
  fault: string;
  injections: number;
  /** Injections after which the launcher ended and the run was resumed. */
  resumed: number;
  /** Median of the milliseconds from an injection to the trainer's next step, resumes included; null where there was none. */
  median_lost_ms: number | null;
}

export interface ChaosReport {
  seed: number;
  injections: number;
  rounds: number;
  /** Starts of the launcher, resumes included. */
  starts: number;
  /** As `FaultReport.median_lost_ms`, over the injections of all kinds. */
  median_lost_ms: number | null;
  faults: FaultReport[];
  left_out: { fault: string; reason: string }[];
  violations: readonly string[];
}

export function reportOf(seed: number, { faults, leftOut }: Choice, { rounds, violations }: ChaosResult): ChaosReport {
  const all = rounds.flatMap(({ injections }) => injections);
  return {
    seed,
    injections: all.length,
    rounds: rounds.length,
    starts: rounds.reduce((sum, { starts }) => sum + starts, 0),
    median_lost_ms: medianLost(all),
    faults: faults.map(({ name }) => {
      const own = all.filter(({ fault }) => fault === name);
      const resumed = own.filter((injection) => injection.resumed).length;
      return { fault: name, injections: own.length, resumed, median_lost_ms: medianLost(own) };
    }),
    left_out: leftOut.map(({ fault, reason }) => ({ fault: fault.name, reason })),
    violations,
  };
}

/** Lines for the terminal. */
export function reportLines(report: ChaosReport): string[] {
  const rows = report.faults.map(({ fault, injections, resumed, median_lost_ms: lost }) => [
    fault,
    String(injections),
    String(resumed),
    seconds(lost),
  ]);
  rows.push(["all", String(report.injections), String(resumedOf(report.faults)), seconds(report.median_lost_ms)]);
  const held = report.violations.length === 0;
  return [
    ...renderTable(["fault", "injections", "resumed", "next step after"], rows),
    "",
    ...report.left_out.map(({ fault, reason }) => `left out: ${fault}: ${reason}`),
    ...report.violations.map((text) => `VIOLATION: ${text}`),
    `${report.injections} injections in ${report.rounds} runs (${report.starts} starts), seed ${report.seed}: ${
      held ? "every promise was kept" : "a promise was broken"
    }`,
  ];
}

function resumedOf(faults: readonly FaultReport[]): number {
  return faults.reduce((sum, { resumed }) => sum + resumed, 0);
}

function seconds(ms: number | null): string {
  return ms === null ? "-" : `${(ms / 1000).toFixed(1)} s`;
}

function medianLost(injections: readonly Injection[]): number | null {
  const sorted = injections.flatMap(({ lostMs }) => lostMs ?? []).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}
