/** The embedded server evaluated as any other endpoint is. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

import { type EvalSummary } from "../../../ts/launcher/evaluations.ts";
import { type Episode, loadEnvironment } from "../../../ts/environments/index.ts";
import { loadTokenizer } from "../../../ts/renderers/index.ts";
import { prl } from "../../unit/cli/run.ts";
import { useServing } from "../inference/serving.ts";
import { EOS } from "../inference/tiny-model.ts";

const serving = useServing();

async function evaluate(args: readonly string[]): Promise<{ summary: EvalSummary; episodes: Episode[] }> {
  const { root, url } = serving();
  const ran = await prl(["eval", ...args, "-m", "tiny", "-b", `${url}/v1`, "--json", "--run.name", "run"], root.dir);
  expect(ran.stderr).not.toContain("PRL_");
  const summary = JSON.parse(ran.stdout) as EvalSummary;
  const lines = (await readFile(join(summary.run_dir, "traces.jsonl"), "utf8")).trimEnd().split("\n");
  await rm(summary.run_dir, { recursive: true });
  return { summary, episodes: lines.map((line) => JSON.parse(line) as Episode) };
}

describe("prl eval of the embedded server", () => {
  it("sends text prompts as they are: the replies are those of the generate endpoint", async () => {
    const { summary, episodes } = await evaluate(["reverse-text", "-n", "6", "-r", "2", "-t", "12"]);
    expect(summary.evaluations).toMatchObject([{ scored: 12, errors: 0, examples: 6 }]);
    const tokenizer = await loadTokenizer(serving().folder(0).dir);
    const environment = (await loadEnvironment("reverse-text")).configure();
    const { tasks } = await environment.tasks("eval", 0).page(null, 6);
    expect(new Set(episodes.map(({ task }) => task.key))).toEqual(new Set(tasks.map(({ key }) => key)));
    const prompt = (tasks[0]?.data as { prompt: string } | undefined)?.prompt ?? "";
    const same = await serving().client.generate({
      tokenIds: tokenizer.encode(prompt),
      sampling: { temperature: 0, maxTokens: 12, stopTokenIds: [259, EOS] },
    });
    const greedy = await evaluate(["reverse-text", "-n", "6", "-t", "12", "-T", "0"]);
    const found = greedy.episodes.find(({ task }) => (task.data as { prompt: string }).prompt === prompt);
    expect(found?.traces[0]?.nodes.at(-1)?.message.content).toBe(
      tokenizer.decode(same.tokenIds, { skipSpecialTokens: true }),
    );
    expect(found?.traces[0]?.usage.completion_tokens).toBe(same.tokenIds.length);
  });

  it("says the same for the same seed, whatever ran beside it", async () => {
    const texts = ({ episodes }: { episodes: Episode[] }) =>
      Object.fromEntries(episodes.map(({ id, traces }) => [id, traces[0]?.nodes.at(-1)?.message.content]));
    const args = ["reverse-text", "-n", "4", "-r", "2", "-t", "8", "--api", "chat"];
    const one = texts(await evaluate([...args, "-c", "1"]));
    expect(texts(await evaluate([...args, "-c", "8"]))).toEqual(one);
    expect(texts(await evaluate([...args, "--seed", "5"]))).not.toEqual(one);
  });
});
