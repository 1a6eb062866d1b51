/**
 * `prl fleet check`: asks all hosts at once for their survey and their clock, and compares them.
 *
 * A clock's offset is the host's time minus the middle of question and answer here, of the quickest of several questions; it is right within half of that
 * round trip.
 */
import type { Host, HostsFile } from "../../config/index.ts";
import { messageOf } from "../../errors.ts";
import { askHost, type Frame, PROTOCOL, TIME } from "../../launcher/index.ts";
import { packageManifest } from "../../version.ts";
import { type Check, ok, problem, warning } from "../doctor/check.ts";

export interface HostReport {
  readonly host: string;
  readonly checks: readonly Check[];
}

/** A survey measures disks and GPUs. */
const SURVEY_MS = 300_000;
const CLOCK_QUESTIONS = 7;
/** Names of files and certificates are compared by time. */
const OFFSET_WARNING_MS = 500;
const OFFSET_PROBLEM_MS = 60_000;

const REACHED = "ssh and prl";
const CLOCK = "Clock";

/** Reports in the order of the file; a host that cannot be asked has the reason as its only check. */
export async function checkFleet(file: HostsFile): Promise<HostReport[]> {
  const reports = await Promise.all(file.host.map((host) => surveyOf(host, file)));
  return withDifferences(reports);
}

async function surveyOf(host: Host, file: HostsFile): Promise<HostReport> {
  const clock = new ClockQuestions();
  try {
    const frames = await askHost(host, file, {
      order: { do: "survey", protocol: PROTOCOL, dir: host.dir, env: host.env },
      deadlineMs: SURVEY_MS,
      reply: (frame) => clock.reply(frame),
    });
    const checks = frames.flatMap((frame): Check[] => (frame.prl === "survey" ? frame.checks : []));
    return { host: host.name, checks: [ok(REACHED, packageManifest().version), clockCheck(clock.best), ...checks] };
  } catch (error) {
    return { host: host.name, checks: [problem(REACHED, messageOf(error), "see the message; then ask again")] };
  }
}

/** Asks a host for its time again and again after its survey, one question after the other. */
class ClockQuestions {
  /** The answer with the shortest round trip. */
  best: { offsetMs: number; roundTripMs: number } | null = null;
  #asked = 0;
  #askedAt = 0;

  reply(frame: Frame): string | null | undefined {
    if (frame.prl === "time") this.#take(frame.at);
    else if (frame.prl !== "survey") return undefined;
    if (this.#asked === CLOCK_QUESTIONS) return null;
    this.#asked += 1;
    this.#askedAt = performance.now();
    return TIME;
  }

  #take(at: number): void {
    const now = performance.now();
    const roundTripMs = now - this.#askedAt;
    const middle = performance.timeOrigin + (this.#askedAt + now) / 2;
    if (this.best === null || roundTripMs < this.best.roundTripMs) this.best = { offsetMs: at - middle, roundTripMs };
  }
}

export function clockCheck(best: { offsetMs: number; roundTripMs: number } | null): Check {
  if (best === null) return warning(CLOCK, "not known", "see whether prl on the host answers");
  const { offsetMs, roundTripMs } = best;
  const detail = `${offsetMs >= 0 ? "+" : ""}${offsetMs.toFixed(1)} ms (within ${(roundTripMs / 2).toFixed(1)} ms)`;
  // A difference within the round trip is no offset.
  const sure = Math.abs(offsetMs) - roundTripMs / 2;
  const fix = "set the clock by NTP (chrony, systemd-timesyncd): logs and certificates go by it";
  if (sure > OFFSET_PROBLEM_MS) return problem(CLOCK, detail, fix);
  return sure > OFFSET_WARNING_MS ? warning(CLOCK, detail, fix) : ok(CLOCK, detail);
}

/** Marks what differs from most hosts where all should be alike. */
export function withDifferences(reports: readonly HostReport[]): HostReport[] {
  return reports.map(({ host, checks }) => ({
    host,
    checks: checks.map((check) => {
      const most = mostCommon(reports.flatMap((report) => report.checks.filter(({ name }) => name === check.name)));
      if (check.alike === undefined || most === null || check.alike === most.alike || check.status !== "ok")
        return check;
      return warning(
        check.name,
        check.detail,
        `most hosts have ${most.detail}: make them alike, or leave this one out`,
      );
    }),
  }));
}

/** A check of the value that most hosts have, the first one of several; null where no host says. */
function mostCommon(checks: readonly Check[]): Check | null {
  const counts = new Map<string, { check: Check; count: number }>();
  for (const check of checks) {
    if (check.alike === undefined) continue;
    const known = counts.get(check.alike);
    counts.set(check.alike, { check: known?.check ?? check, count: (known?.count ?? 0) + 1 });
  }
  const [most] = [...counts.values()].toSorted((a, b) => b.count - a.count);
  return most?.check ?? null;
}
