/** The table of configs/README.md that leads from prime-rl's keys to ours names keys that there are. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeKeys } from "../../../ts/config/index.ts";
import { COMMAND_NAMES } from "../../../ts/cli/dispatch.ts";

const readme = await readFile(join(import.meta.dirname, "../../../configs/README.md"), "utf8");
const table = readme.slice(readme.indexOf("## Coming from prime-rl"));
const rows = [...table.matchAll(/^\| (.+?) \| (.+?) \|$/gm)].map((row) => ({
  there: row[1] ?? "",
  here: row[2] ?? "",
}));
const spans = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map((span) => span[1] ?? "");

test("every key on our side is one of a config, every command one of prl", () => {
  const keys = new Set((["rl", "sft", "eval"] as const).flatMap((kind) => describeKeys(kind).map(({ key }) => key)));
  // Of a source, whatever its place in the list.
  const ofSources = (name: string): boolean => keys.has(`orchestrator.train.source.<i>.${name}`);
  const written = rows.flatMap(({ here }) => spans(here));
  const named = written.filter((span) => /^[a-z_]+(\.[a-z_]+)+$/.test(span) && !/\.(jsonl|toml)$/.test(span));
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((name) => !keys.has(name) && !ofSources(name))).toEqual([]);
  const commands = written.flatMap((span) => /^prl ([a-z-]+)/.exec(span)?.[1] ?? []);
  expect(commands.filter((name) => !COMMAND_NAMES.includes(name))).toEqual([]);
});

/** Commands and blocks of prime-rl 0.8 (its configuration reference); a block's keys stand in its row. */
const THERE =
  "rl sft trainer orchestrator inference env-server evals slurm run.name resume.step client.base_url log.level env_vars vlm tokenizer metrics_server heartbeat rollout_transport weight_broadcast loss optim scheduler ckpt.interval model.ac model.lora trainer.data.fake enable_router_replay memory_profiler_path concurrency tasks_per_minute batch_size token_batch_size group_size max_off_policy_steps curriculum.sampler train.filter_zero_advantages renderer server.host router vllm.model kv_cache_offload deployment val.interval eval dry_run clean";

test("a cell is short; a longer text is two rows, or stands beside the table", () => {
  const cells = [...readme.matchAll(/^\|.+\|$/gm)].flatMap(([row]) => row.split("|").map((cell) => cell.trim()));
  expect(cells.length).toBeGreaterThan(150);
  expect(cells.filter((cell) => cell.length > 115 && !/^-+$/.test(cell))).toEqual([]);
});

test("every command and block of prime-rl has a row", () => {
  const there = rows.flatMap((row) => spans(row.there)).join(" ");
  expect(THERE.split(" ").filter((name) => !there.includes(name))).toEqual([]);
});
