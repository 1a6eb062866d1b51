/**
 * The quality gate of an environment that is under development: replies that a policy finds instead of the skill must earn little. It is the catalogue's gate, as far as
 * an environment that is not made of rows can be asked.
 *
 * Bounds are shares of what gold replies earn, because an environment may pay for a part of an answer. What cannot be tried is a row that says so.
 */
import type { ConfiguredEnvironment } from "../model/configured-environment.ts";
import { Inspection } from "../validation/inspection.ts";
import type { ValidateOptions } from "../validation/report.ts";
import {
  CANDIDATES,
  constants,
  ECHO,
  EMPTY,
  GUESSES,
  HOSTILE,
  INJECTED,
  MALFORMED,
  type Strategy,
} from "./gate-replies.ts";
import type { Attempt, CheckFailure, CheckRow } from "./gate-report.ts";
import { readSamples, type Sample, type Samples } from "./gate-samples.ts";
import { Standing, type Standings } from "./standing.ts";

export const GATE_CHECKS = [
  "full marks",
  "near misses",
  "empty",
  "malformed",
  "injected",
  "constant",
  "candidates",
  "echo",
  "guess",
  "answer in prompt",
  "large",
  "speed",
] as const;
export type GateCheck = (typeof GATE_CHECKS)[number];

/** Bounds of most strategies, as shares of what gold replies earn. */
const MOST_EARNED = 0.2;
const MOST_FULL = 0.05;
/** Most different gold answers that are tried as constants. */
const CONSTANTS = 20;
const MORE_CONSTANTS = ["0", "1", "2", "3", "10", "-1", "yes", "no", "A", "B"];
const DEVIATIONS = 3;
const LEAST_LEAK_LENGTH = 4;
const EPSILON = 1e-9;
/** Generated for the rate, at most, within this time. */
const TIMED_TASKS = 2000;
const TIMING_MS = 2_000;

/** The most that a strategy may earn on average, and the share of tasks on which it may earn all. */
interface Most {
  readonly earned: number;
  readonly full: number;
}

export interface GateOptions extends Required<Pick<ValidateOptions, "tasks" | "seed" | "deadlineMs" | "signal">> {
  /** Weight of each reward of the environment. */
  readonly weights: Readonly<Record<string, number>>;
  /** Called before anything of the environment runs. */
  readonly begins: (attempt: Attempt) => void;
}

/** The rows in the order of `GATE_CHECKS`; each is given as soon as it is known. */
export async function* runGate(environment: ConfiguredEnvironment, options: GateOptions): AsyncGenerator<CheckRow> {
  const gate = new Gate(environment, options);
  const found = await readSamples(gate.inspection, environment, options.tasks);
  const { samples } = found;
  yield gate.fullMarks(found);
  yield gate.nearMisses(found);
  yield await gate.strategies("empty", found, EMPTY);
  // A part of a gold reply may earn a part of its reward.
  yield await gate.strategies("malformed", found, MALFORMED, { earned: 1, full: MOST_FULL });
  yield await gate.strategies("injected", found, INJECTED);
  yield await gate.constant(found);
  yield await gate.strategies("candidates", found, CANDIDATES);
  yield await gate.strategies("echo", found, ECHO);
  yield await gate.strategies("guess", found, GUESSES, { earned: MOST_EARNED, full: MOST_EARNED });
  yield gate.leak(found);
  yield await gate.strategies("large", { ...found, samples: samples.slice(-1) }, HOSTILE);
  yield await gate.speed();
}

class Gate {
  readonly inspection: Inspection<GateCheck>;
  readonly #environment: ConfiguredEnvironment;
  readonly #options: GateOptions;
  readonly #times: number[] = [];

  constructor(environment: ConfiguredEnvironment, options: GateOptions) {
    const { tasks, seed, deadlineMs, signal, begins } = options;
    this.#environment = environment;
    this.#options = options;
    this.inspection = new Inspection<GateCheck>(environment, { tasks, seed, deadlineMs, signal }, begins);
  }

  /** Gold replies earn all that the weights of the rewards give. */
  fullMarks({ samples, read, missing }: Samples): CheckRow {
    if (samples.length === 0) return this.#row("full marks", "not checked", missing ?? "there are no tasks");
    if (this.#environment.agents.length > 1)
      return this.#row("full marks", "not checked", "it has several agents, and a reward may be for one of them only");
    const weights = Object.values(this.#options.weights).filter((weight) => weight > 0);
    const whole = weights.reduce((sum, weight) => sum + weight, 0);
    for (const { task, gold } of samples) {
      if (gold.reward < whole - EPSILON)
        this.inspection.fail(
          "full marks",
          "train",
          task.key,
          `the best reply of validate() earns ${gold.reward} of ${whole}`,
        );
    }
    const part =
      samples.length === read ? "" : `; ${read - samples.length} others have no gold reply: ${missing ?? ""}`;
    return this.#row("full marks", "passed", `${whole} on ${samples.length} tasks${part}`);
  }

  /** Wrong answers are the author's: which answers are wrong cannot be known from outside. */
  nearMisses({ samples, missing }: Samples): CheckRow {
    if (samples.length === 0) return this.#row("near misses", "not checked", missing ?? "there are no tasks");
    const least = Math.min(...samples.map(({ wrong }) => wrong));
    if (least > 0)
      return this.#row("near misses", "passed", `${least} or more wrong replies of validate() earn less than gold`);
    return this.#row(
      "near misses",
      "not checked",
      "its validate() scores no wrong reply: let it try answers that are nearly right",
    );
  }

  async strategies(
    check: GateCheck,
    { samples, missing }: Samples,
    strategies: readonly Strategy[],
    most: Most = { earned: MOST_EARNED, full: MOST_FULL },
  ): Promise<CheckRow> {
    if (samples.length === 0) return this.#row(check, "not checked", missing ?? "there are no tasks");
    const standings = await this.#try(check, samples, strategies);
    if (standings.size === 0) return this.#row(check, "not checked", this.#unfit(check, samples));
    return this.#judge(check, standings, most);
  }

  /** One answer for all tasks may be right as often as a guess among the answers that there are, and three standard deviations more. */
  async constant({ samples, missing }: Samples): Promise<CheckRow> {
    if (samples.length === 0) return this.#row("constant", "not checked", missing ?? "there are no tasks");
    const standings = await this.#try("constant", samples, constants(samples, CONSTANTS, MORE_CONSTANTS));
    const answers = Math.max(2, new Set(samples.map(({ answer }) => answer)).size);
    const chance = 1 / answers;
    const most = chance + DEVIATIONS * Math.sqrt((chance * (1 - chance)) / samples.length);
    const allowed = Math.max(MOST_EARNED, most);
    const row = this.#judge("constant", standings, { earned: allowed, full: allowed });
    const best = Math.max(0, ...[...standings.values()].map(({ earned }) => earned));
    const explained = best > MOST_EARNED ? `; a guess among ${answers} answers explains up to ${most.toFixed(2)}` : "";
    return { ...row, what: `${row.what}${explained}` };
  }

  leak({ samples, missing }: Samples): CheckRow {
    const asked = samples.filter(({ prompt, answer }) => prompt !== null && answer.length >= LEAST_LEAK_LENGTH);
    if (asked.length === 0) {
      const short = `no answer of ${LEAST_LEAK_LENGTH} characters or more beside a prompt`;
      return this.#row(
        "answer in prompt",
        "not checked",
        samples.length === 0 ? (missing ?? "there are no tasks") : short,
      );
    }
    const leaking = asked.filter(({ prompt, answer }) => prompt?.includes(answer) === true);
    if (leaking.length > MOST_FULL * asked.length) {
      const [first] = leaking;
      const message = `the answer stands in the prompt of ${leaking.length} of ${asked.length} tasks: ${shown(first?.answer ?? "")}`;
      this.inspection.fail("answer in prompt", "train", first?.task.key ?? null, message);
    }
    return this.#row("answer in prompt", "passed", `${leaking.length} of ${asked.length} tasks`);
  }

  /** Rates of this machine, which decide nothing. */
  async speed(): Promise<CheckRow> {
    const begun = performance.now();
    let count = 0;
    await this.inspection.attempt("speed", "train", null, async () => {
      const source = this.#environment.tasks("train", this.#options.seed);
      for (let after: string | null = null; count < TIMED_TASKS && performance.now() - begun < TIMING_MS;) {
        const { tasks, next } = await source.page(after, 10);
        count += tasks.length;
        after = next;
        if (next === null) break;
      }
    });
    const rate = (1000 * count) / Math.max(1e-3, performance.now() - begun);
    const sorted = this.#times.toSorted((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(share * sorted.length)] ?? 0).toPrecision(2);
    const scoring =
      sorted.length === 0 ? "" : `; scoring p50 ${at(0.5)} ms, p99 ${at(0.99)} ms of ${sorted.length} replies`;
    return this.#row("speed", "stated", `${Math.round(rate)} tasks/s generated${scoring}`);
  }

  async #try(check: GateCheck, samples: readonly Sample[], strategies: readonly Strategy[]): Promise<Standings> {
    const standings: Standings = new Map();
    for (const sample of samples) {
      const others = samples.filter((other) => other !== sample);
      const known = new Map<string, number | null>();
      for (const { name, text } of strategies) {
        const given = text(sample, others);
        if (given === null) continue;
        if (!known.has(given)) known.set(given, await this.#score(check, sample, given));
        const reward = known.get(given) ?? null;
        if (reward === null) continue;
        const standing = standings.get(name) ?? new Standing(name);
        standings.set(name, standing);
        standing.add(reward, sample.gold.reward, { task: sample.task.key, reply: given });
      }
    }
    return standings;
  }

  async #score(check: GateCheck, { task, reply }: Sample, text: string): Promise<number | null> {
    const begun = performance.now();
    const reward = await this.inspection.score(check, "train", task, reply(text));
    this.#times.push(performance.now() - begun);
    return reward;
  }

  #judge(check: GateCheck, standings: Standings, most: Most): CheckRow {
    const ordered = [...standings.values()].toSorted((a, b) => b.full - a.full || b.earned - a.earned);
    for (const standing of ordered) {
      const isPaid = standing.earned > most.earned + EPSILON;
      if (!isPaid && standing.full <= most.full + EPSILON) continue;
      const { task, reply } = standing.example;
      const bound = isPaid
        ? `at most ${most.earned.toFixed(2)}`
        : `all on at most ${Math.round(100 * most.full)} % of tasks`;
      const message = `${standing.text} (allowed is ${bound}), such as ${shown(reply)}`;
      this.inspection.fail(check, "train", task, message);
    }
    const [worst] = ordered.toSorted((a, b) => b.earned - a.earned);
    return this.#row(check, "passed", worst === undefined ? "nothing was scored" : `at most ${worst.text}`);
  }

  #unfit(check: GateCheck, samples: readonly Sample[]): string {
    if (samples.every(({ prompt }) => prompt === null)) return "its rows have no `prompt`";
    return check === "guess" ? "its prompts have no numbers" : "its answers have no form that could be used";
  }

  /** The row of a check: failed where a failure was noted meanwhile, such as a verifier that throws. */
  #row(check: GateCheck, status: CheckRow["status"], what: string): CheckRow {
    const failures = this.inspection.failures
      .filter((failure) => failure.check === check)
      .map(({ split, task, message }): CheckFailure => ({ split, task, message }));
    return { part: "gate", check, status: failures.length === 0 ? status : "failed", what, failures };
  }
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}
