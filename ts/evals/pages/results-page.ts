/** The results of an evaluation as one HTML file that can be sent: the table, details, and the rollouts with the least and the most reward. */
import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";

import { conversationsHtml, type ShownConversation } from "../../environments/internal.ts";
import { type Episode, rewardOf } from "../../environments/records.ts";
import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { textLines } from "../../files/text-lines.ts";
import { html, type Html } from "../../html.ts";
import { formatNumber } from "../../monitors/index.ts";
import { readEpisode } from "../read-episode.ts";
import type { EvaluationReport } from "../report.ts";
import { details, resultRows } from "../result-table.ts";
import { resultsText, table } from "./frame.ts";

/** Rollouts that are shown of each end of the rewards. */
const SHOWN = 3;
const LONGEST_TEXT = 4_000;
const MOST_MESSAGES = 40;

interface Sample {
  readonly reward: number;
  readonly episode: Episode;
}

/** Rollouts of one evaluation, at most `SHOWN` of each end. */
interface Ends {
  readonly least: Sample[];
  readonly most: Sample[];
}

/**
 * The page of a run directory of `prl eval`.
 *
 * @throws PrlError `PRL_RUN_UNKNOWN` for a folder without the files of a finished evaluation
 */
export async function resultsPage(runDir: string): Promise<string> {
  const reports = await readReports(runDir);
  const samples = await readEnds(runDir);
  const { header, rows } = resultRows(reports);
  const body = html`<h1>${basename(runDir)}</h1>
    ${table(header, rows)} ${reports.map((one) => evaluationHtml(one, samples.get(one.name)))}`;
  return resultsText(basename(runDir), body);
}

function evaluationHtml(report: EvaluationReport, ends: Ends = { least: [], most: [] }): Html {
  const [, , ...lines] = details(report);
  const shown = new Set([...ends.most, ...ends.least]);
  return html`<h2>${report.name}</h2>
    <pre>${lines.map((line) => line.trim()).join("\n")}</pre>
    ${[...shown].map(sampleHtml)}`;
}

function sampleHtml({ reward, episode }: Sample): Html {
  const conversations = episode.traces.map(({ agent, nodes }): ShownConversation => ({
    agent,
    messages: nodes.slice(0, MOST_MESSAGES).map(({ message: { role, content, tool_calls: calls } }) => ({
      role,
      content: cut(content),
      calls: (calls ?? []).map(({ function: { name, arguments: given } }) => cut(`${name} ${given}`)),
    })),
  }));
  return html`<details>
    <summary>task ${episode.task.key}: reward ${formatNumber(reward)}</summary>
    ${conversationsHtml(conversations)}
  </details>`;
}

async function readReports(runDir: string): Promise<EvaluationReport[]> {
  const path = join(runDir, "summary.json");
  const text = await ifThere(readFile(path, "utf8"), path);
  const { evaluations } = (text === null ? {} : JSON.parse(text)) as { evaluations?: EvaluationReport[] };
  if (evaluations !== undefined) return evaluations;
  throw new PrlError("PRL_RUN_UNKNOWN", `${runDir} is no finished run of prl eval: ${path} has no evaluations`);
}

async function readEnds(runDir: string): Promise<ReadonlyMap<string, Ends>> {
  const path = join(runDir, "traces.jsonl");
  const found = new Map<string, Ends>();
  if ((await ifThere(stat(path), path)) === null) return found;
  for await (const line of textLines(path)) {
    const episode = readEpisode(line);
    const reward = episode === null ? Number.NaN : rewardOf(episode);
    if (episode === null || Number.isNaN(reward)) continue;
    const ends = found.get(episode.env.name) ?? { least: [], most: [] };
    found.set(episode.env.name, ends);
    const sample = { reward, episode };
    keep(ends.most, sample, (a, b) => b.reward - a.reward);
    keep(ends.least, sample, (a, b) => a.reward - b.reward);
  }
  return found;
}

/** The first of equal ones stays. */
function keep(list: Sample[], sample: Sample, order: (a: Sample, b: Sample) => number): void {
  const place = list.findIndex((other) => order(sample, other) < 0);
  list.splice(place < 0 ? list.length : place, 0, sample);
  list.splice(SHOWN);
}

function cut(text: string): string {
  return text.length > LONGEST_TEXT
    ? `${text.slice(0, LONGEST_TEXT)}... (${text.length - LONGEST_TEXT} more characters)`
    : text;
}
