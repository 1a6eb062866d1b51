/**
 * The terminal's view of a live run, as lines: its progress, the reward, the policy's metrics, speed and
 * staleness. It is a function of the state and knows neither time nor terminal.
 */
import { styleText } from "node:util";

import type { Download } from "./download-view.ts";
import { formatBytes, formatCount, formatNumber, formatSeconds } from "./number-format.ts";
import { stepCount } from "./plain-progress.ts";
import type { RunPhase, SftStep } from "../history/run-event.ts";
import type { EvaluationReport, RlStep } from "../history/run-history.ts";
import type { RunLoad } from "../history/run-load.ts";
import { bar, condensed, sparkline } from "../plots/sparkline.ts";

/** The state that the block shows. */
export interface LiveState {
  title: string;
  phase: RunPhase;
  /** Null: until interrupted. */
  maxSteps: number | null;
  steps: readonly RlStep[];
  /** Step of the supervised stage that is under way. */
  sft: readonly SftStep[];
  evaluations: readonly EvaluationReport[];
  /** Within the step that goes on; null: nothing is known yet. */
  load: RunLoad | null;
  /** The download of a model that the run needs; null: none. */
  download: Download | null;
  /** Processes of the run that were started again. */
  restarts: number;
  /** Seconds since the run began. */
  elapsed: number;
  /** Number of the drawing, for animations; -1: the run is over. */
  frame: number;
}

type Style = Parameters<typeof styleText>[0];
type Part = readonly [text: string, style?: Style];
type Line = readonly [label: string, ...parts: Part[]];

const LABEL_COLUMNS = 8;
const MAX_BAR_COLUMNS = 44;
const NUMBER_COLUMNS = 9;
/** Columns beside a bar or a curve: a number before it, a few words behind it. */
const BESIDE_COLUMNS = 38;
const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/** Number of recent steps whose mean time predicts the next ones. */
const RECENT = 10;

/** The block's lines, none wider than `columns` (escape sequences apart). */
export function liveBlock(state: LiveState, columns: number, colour: boolean): string[] {
  const paint = (text: string, style?: Style): string =>
    colour && style !== undefined ? styleText(style, text, { validateStream: false }) : text;
  const width = Math.max(10, Math.min(MAX_BAR_COLUMNS, columns - LABEL_COLUMNS - NUMBER_COLUMNS - BESIDE_COLUMNS));
  return linesOf(state, width).map(([label, ...parts]) => {
    let left = columns - LABEL_COLUMNS;
    let line = paint(label.padEnd(LABEL_COLUMNS).slice(0, columns), "dim");
    for (const [text, style] of parts) {
      if (left <= 0) break;
      const shown = Array.from(text).slice(0, left).join("");
      left -= Array.from(shown).length;
      line += paint(shown, style);
    }
    return line;
  });
}

function linesOf(state: LiveState, width: number): Line[] {
  const last = state.steps.at(-1);
  const supervised = state.sft.at(-1);
  if (supervised !== undefined && last === undefined) return supervisedLines(state, supervised, width);
  return last === undefined
    ? [titleLine(state, "RL"), ...downloadLines(state, width), ...loadLines(state, width)]
    : reinforcedLines(state, last, width);
}

function titleLine({ title, phase, elapsed, frame }: LiveState, kind: string): Line {
  const spinner = frame < 0 ? "" : `${SPINNER[frame % SPINNER.length] ?? ""} `;
  return [kind, [title, "bold"], [`  ${spinner}${phase}`, "cyan"], [`  ${formatSeconds(elapsed)}`, "dim"]];
}

function progressLine(done: number, maxSteps: number | null, secondsPerStep: number | undefined, width: number): Line {
  const left = maxSteps === null || secondsPerStep === undefined ? null : (maxSteps - done) * secondsPerStep;
  return [
    "Step",
    [`${stepCount(done, maxSteps)} `.padStart(NUMBER_COLUMNS + 1)],
    [maxSteps === null ? "" : bar(done / maxSteps, width), "green"],
    [`  ${formatSeconds(secondsPerStep)}/step`],
    [left === null || left === 0 ? "" : `  ${formatSeconds(left)} to go`, "dim"],
  ];
}

function downloadLines({ download }: LiveState, width: number): Line[] {
  if (download === null) return [];
  const { model, done, total } = download;
  const size = ` of ${formatBytes(total)}  `;
  return [
    [
      "Model",
      [formatBytes(done).padStart(NUMBER_COLUMNS)],
      [" "],
      [bar(done / total, width), "blue"],
      [size],
      [model, "dim"],
    ],
  ];
}

function number(value: number | undefined): Part {
  return [formatNumber(value).padStart(NUMBER_COLUMNS), "bold"];
}

function curve(values: readonly (number | undefined)[], width: number, style: Style): Part {
  return [
    ` ${sparkline(
      condensed(
        values.map((value) => value ?? NaN),
        width,
      ),
      width,
    ).padEnd(width)}`,
    style,
  ];
}

function supervisedLines(state: LiveState, last: SftStep, width: number): Line[] {
  const losses = state.sft.map(({ loss }) => loss);
  const validated = state.sft.map(({ valLoss }) => valLoss).filter((loss) => loss !== undefined);
  const recent = state.sft.slice(-RECENT).flatMap(({ seconds }) => (seconds === undefined ? [] : [seconds]));
  return [
    titleLine(state, "SFT"),
    progressLine(last.step, last.maxSteps, mean(recent), width),
    ["Loss", number(last.loss), curve(losses, width, "yellow")],
    ...(validated.length === 0
      ? []
      : [["Val", number(validated.at(-1)), curve(validated, width, "magenta"), bestOf(validated, Math.min)] as const]),
    ["Speed", [`${formatCount(last.tokensPerSecond)} tokens/s`], [`  lr ${formatNumber(last.learningRate, 6)}`, "dim"]],
    ...evaluationLines(state.evaluations),
  ];
}

function reinforcedLines(state: LiveState, last: RlStep, width: number): Line[] {
  const { steps } = state;
  const rewards = steps.map(({ reward }) => reward);
  const known = rewards.filter((reward) => reward !== undefined);
  const seconds = steps.slice(-RECENT).flatMap((step) => step.seconds ?? []);
  return [
    titleLine(state, "RL"),
    progressLine(last.step, state.maxSteps, mean(seconds), width),
    ["Reward", number(last.reward), curve(rewards, width, "yellow"), bestOf(known, Math.max)],
    ...sourceLines(steps, width),
    ...evaluationLines(state.evaluations),
    ["Policy", [policyText(last)]],
    ["Speed", [`${formatCount(last.tokensPerSecond)} tokens/s`], [waitText(steps), "dim"]],
    ["Async", [asyncText(last)], [droppedText(last), "dim"], [restartText(state.restarts), "red"]],
    ...loadLines(state, width),
  ];
}

/** One curve per source, where there are several: the mean over them hides which one learns. */
function sourceLines(steps: readonly RlStep[], width: number): Line[] {
  return Object.entries(steps.at(-1)?.rewards ?? {}).map(([source, reward]) => {
    const rewards = steps.map((step) => step.rewards[source]);
    return ["", number(reward), curve(rewards, width, "yellow"), [`  ${source}`, "dim"]];
  });
}

/** A run may have more steps than a call has arguments. */
function bestOf(values: readonly number[], better: (a: number, b: number) => number): Part {
  if (values.length === 0) return [""];
  return [`  best ${formatNumber(values.reduce((a, b) => better(a, b)))}`, "dim"];
}

/** Each source from its first evaluation to its last. */
function evaluationLines(evaluations: readonly EvaluationReport[]): Line[] {
  const sources = [...new Set(evaluations.map(({ source }) => source))];
  if (sources.length === 0) return [];
  const parts = sources.flatMap((source): Part[] => {
    const rewards = evaluations.filter((report) => report.source === source).map(({ reward }) => reward);
    const [first, last] = [formatNumber(rewards[0]), formatNumber(rewards.at(-1))];
    return [[`${source} `, "dim"], [rewards.length > 1 ? `${first} → ${last}   ` : `${first}   `]];
  });
  return [["Held out", ["  "], ...parts]];
}

function policyText({ loss, entropy, mismatchKl, gradNorm }: RlStep): string {
  const gradient = gradNorm === undefined ? "" : `  Grad norm ${formatNumber(gradNorm, 2)}`;
  return `Loss ${formatNumber(loss)}  Entropy ${formatNumber(entropy)}  Mismatch KL ${formatNumber(mismatchKl)}${gradient}`;
}

/** Says whether the run waits for sampling or for training. */
function waitText(steps: readonly RlStep[]): string {
  const recent = steps.slice(-RECENT);
  const waited = mean(recent.flatMap(({ metrics }) => metrics.trainer["time/wait_for_batch"] ?? []));
  const whole = mean(recent.flatMap(({ seconds }) => seconds ?? []));
  if (waited === undefined || whole === undefined || whole === 0) return "";
  return `  the trainer waits ${Math.round((100 * waited) / whole)} % of the time`;
}

function asyncText({ step, staleness, maxStaleness }: RlStep): string {
  const most = maxStaleness === undefined ? "" : ` (max ${formatNumber(maxStaleness, 0)})`;
  return `Policy v${step}  Staleness ${formatNumber(staleness, 2)}${most}`;
}

function droppedText({ metrics: { orchestrator } }: RlStep): string {
  const dropped = (orchestrator["off_policy/dropped_groups"] ?? 0) + (orchestrator["dispatcher/errored_groups"] ?? 0);
  return dropped === 0 ? "" : `  ${formatCount(dropped)} dropped`;
}

/** The state of the next batch and of the rollouts for it; empty when the run is over. */
function loadLines({ load, frame, maxSteps }: LiveState, width: number): Line[] {
  if (load === null || frame < 0) return [];
  const { step, version, batch, engines } = load;
  const behind = step - 1 - version;
  const counts = [
    `${formatCount(load.rollouts_in_flight)} rollouts under way`,
    `${formatCount(load.groups_queued)} groups queued`,
    ...(load.evaluating === 0 ? [] : [`${formatCount(load.evaluating)} of evaluations`]),
    ...(behind <= 0 ? [] : [`${behind} ${behind === 1 ? "batch" : "batches"} with the trainer`]),
  ];
  const share = Math.round(100 * (engines?.kv_usage ?? 0));
  const next: Line = [
    "Next",
    [`${formatCount(batch.ready)} `.padStart(NUMBER_COLUMNS + 1)],
    [bar(batch.ready / batch.size, width), "blue"],
    [`  of ${formatCount(batch.size)} ${batch.unit} for step ${step}`, "dim"],
  ];
  return [
    ...(maxSteps !== null && step > maxSteps ? [] : [next]),
    ["Load", [counts.join("  ")]],
    ...(engines === null
      ? []
      : [["Engines", [`${engines.running} running  ${engines.waiting} waiting  KV cache ${share} %`]] as const]),
  ];
}

function restartText(restarts: number): string {
  return restarts === 0 ? "" : `  ${restarts} ${restarts === 1 ? "restart" : "restarts"}`;
}

function mean(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}
