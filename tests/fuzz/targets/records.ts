/** Files and messages between prl's processes, hosts and versions: what a disk, a crash or another version may have damaged. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { readEpisode } from "../../../ts/evals/read-episode.ts";
import { decodeEpisode, encodeEpisode } from "../../../ts/environments/episode/episode-frame.ts";
import type { Episode } from "../../../ts/environments/index.ts";
import { manifestOf, packageIn } from "../../../ts/environments/packages/environment-package.ts";
import { readLock } from "../../../ts/environments/packages/environments-lock.ts";
import { packagePage } from "../../../ts/environments/packages/hub/page/package-page.ts";
import { readPackageRecord } from "../../../ts/environments/packages/hub/package-record.ts";
import { fetchedPackages, installedTree } from "../../../ts/environments/packages/installed-tree.ts";
import { packageNeeds } from "../../../ts/environments/packages/needs.ts";
import { tokenFor } from "../../../ts/environments/packages/npmrc.ts";
import { runRequestSchema, scoreGroupRequestSchema } from "../../../ts/environments/worker/protocol.ts";
import { readFailureNote } from "../../../ts/failure-note.ts";
import { lockHolder } from "../../../ts/files/run-lock.ts";
import { frameSchema, linesOf, orderSchema, readFrame } from "../../../ts/launcher/ssh/host-protocol.ts";
import { HeartbeatReader } from "../../../ts/monitors/heartbeat.ts";
import { readLoad } from "../../../ts/monitors/history/load-file.ts";
import { RunFeed } from "../../../ts/monitors/history/run-feed.ts";
import { readRunLoad } from "../../../ts/monitors/history/run-load.ts";
import { MetricsTail } from "../../../ts/monitors/metrics/metrics-tail.ts";
import { readReadyFile } from "../../../ts/monitors/ready-file.ts";
import { readSnapshot } from "../../../ts/orchestrator/checkpoint/snapshot.ts";
import { readOrchestratorState } from "../../../ts/orchestrator/checkpoint/resume.ts";
import { findCheckpoint, newestWholeHalf } from "../../../ts/transports/checkpoints.ts";
import { readGpuTurn } from "../../../ts/transports/gpu-turn.ts";
import { eachOf, holds, type Target, textOf } from "../engine/target.ts";
import { fileOf, folderOf } from "./place.ts";

const folder = folderOf("records");
for (const inner of [
  "run",
  "step_3/trainer",
  "step_3/orchestrator",
  "state",
  "package",
  "project/node_modules/a",
  "hub/owner",
])
  mkdirSync(join(folder, inner), { recursive: true });
const JSON_WORDS = ['"', ":", ",", "{", "}", "[", "]", "null", "true", "-1", "1e999", "\n", '"__proto__":', "\\ud800"];

const EPISODE = {
  id: "e-1",
  env: { id: "reverse-text", name: "a" },
  task: { key: "0", hash: "596b8e5dff6e80a0", data: { answer: "b" } },
  group: { id: "g-1" },
  run: { type: "train", step: 3 },
  ok: true,
  errors: [],
  traces: [
    {
      id: "t-0",
      agent: "agent",
      trainable: true,
      nodes: [
        { parent: null, message: { role: "user", content: "a" }, sampled: false },
        { parent: 0, message: { role: "assistant", content: "b" }, sampled: true },
      ],
      rewards: { similarity: { score: 0.5, weight: 1 } },
      reward: 0.5,
      metrics: { exact_match: 0 },
      stop_condition: "agent_completed",
      is_completed: true,
      is_truncated: false,
      usage: { prompt_tokens: 2, completion_tokens: 1 },
      timing: { start: 1.5, generation_ms: 2, scoring_ms: 0.25, total_ms: 2.25 },
      policy: { start: 4, end: 4 },
    },
  ],
} as unknown as Episode;
const COLUMNS = {
  tokenIds: Uint32Array.of(1, 2, 3),
  mask: Uint8Array.of(0, 0, 1),
  logprobs: Float32Array.of(0, 0, -1),
  versionSpans: Uint32Array.of(2, 4),
  branchOffsets: Uint32Array.of(0, 3),
};

async function* pieces(input: Uint8Array): AsyncGenerator<Buffer> {
  for (let at = 0; at < input.length; at += 7) yield Buffer.from(input.subarray(at, at + 7));
}

const RUN_REQUEST =
  '{"env":"a","episode_id":"e","task":{"key":"0","split":"train"},"group":"g","seed":1,"deadline_ms":1000,"sampling":{"temperature":1,"max_completion_tokens":8,"top_p":1,"top_k":-1},"step":1,"type":"train","engine":"http://127.0.0.1:1"}';

export const RECORD_TARGETS: readonly Target[] = [
  {
    name: "episode-frame",
    starts: [encodeEpisode({ episode: EPISODE, columns: [COLUMNS] })],
    words: [
      ...JSON_WORDS,
      '"nodes":[',
      '"parent":',
      '"errors":[',
      '"dtype":"U32"',
      '"shape":[',
      '"data_offsets":[',
      "\0\0\0\0",
    ],
    mostBytes: 16_384,
    read(input) {
      const { episode, samples } = decodeEpisode(input);
      samples?.columns();
      JSON.stringify(episode);
    },
  },
  {
    name: "traces-lines",
    starts: [JSON.stringify({ ...EPISODE, advantage: 1, advantages: [1] })],
    words: [...JSON_WORDS, '"traces":[', '"nodes":[', '"parent":', '"errors":['],
    read(input) {
      for (const line of textOf(input).split("\n")) readEpisode(line);
    },
  },
  {
    name: "metrics-file",
    starts: [
      '{"component":"orchestrator","step":1,"attempt":1,"reward/mean":0.5,"time/step":2}\n{"component":"trainer","step":1,"attempt":1,"loss/mean":1}\n{"component":"sft","step":2,"attempt":1,"loss/mean":1}\n{"component":"trai',
    ],
    words: [
      ...JSON_WORDS,
      '{"component":"orchestrator","step":2,"attempt":1,',
      '"eval/a/avg@1":1',
      '"attempt":',
      '"step":',
      '"time":',
      '"policy_version":',
      '"reward/mean":',
    ],
    async read(input) {
      const tail = new MetricsTail(fileOf(folder, "metrics.jsonl", input));
      const feed = new RunFeed({ maxSteps: 3, sftSteps: 2, onEvent: (event) => JSON.stringify(event) });
      for await (const line of tail.poll()) feed.take(line);
      holds(tail.malformed <= input.length, "more lines are malformed than there are");
    },
  },
  {
    name: "run-files",
    starts: [
      '{"pid":1,"ready_at":"2026-01-01T00:00:00Z","url":"http://127.0.0.1:1","isa":"avx2","dtype":"float32","version":3}',
      '{"pid":1,"code":"PRL_IO","message":"no room"}',
      '{"pid":1,"started":"1","held":true}',
      '{"turn":"trainer","attempt":1,"step":1,"since":1}',
      '{"rollouts":3,"workers":{"env-worker-0":2},"evaluating":0,"engines":null}',
    ],
    words: [...JSON_WORDS, '"pid":', '"code":', '"turn":"servers"', '"workers":{', '"engines":{'],
    read(input) {
      for (const name of ["trainer-0", "failure-trainer-0", "lock-1", "gpu-turn", "load", "now"])
        fileOf(folder, `run/${name}.json`, input);
      return eachOf(
        () => readReadyFile(folder, "trainer", 0),
        () => readFailureNote({ runDir: folder, component: "trainer", index: 0 }),
        () => lockHolder(folder),
        () => readGpuTurn(folder),
        () => readLoad(folder),
        () => readRunLoad(folder),
      );
    },
  },
  {
    name: "checkpoint-files",
    starts: [
      '{"format":"prl.checkpoint.1","step":3,"run":"r","attempt":1,"halves":{"trainer":[{"file":"half.json","bytes":2,"digest":"a"}],"orchestrator":[]}}',
      '{"step":3,"run":"r","attempt":1,"files":[{"file":"a","bytes":0,"digest":"b"}]}',
      '{"format":"prl.snapshot.1","run":"r","attempt":1,"version":3,"line":{},"state":{},"ahead":[]}',
    ],
    words: [
      ...JSON_WORDS,
      '"format":',
      '"halves":{',
      '"files":[',
      '"file":"../../a"',
      '"digest":',
      '"state":{',
      '"ahead":[',
    ],
    read(input) {
      for (const name of ["manifest.json", "trainer/half.json", "orchestrator/half.json", "orchestrator/state.json"])
        fileOf(folder, `step_3/${name}`, input);
      fileOf(folder, "orchestrator.json", input);
      return eachOf(
        () => findCheckpoint(folder, "r"),
        () => newestWholeHalf({ root: folder, run: "r", attempt: 1 }, "trainer", { after: 0, upTo: 9 }),
        () => readOrchestratorState(join(folder, "step_3")),
        () => readSnapshot({ runDir: folder, run: "r", attempt: 1 }),
      );
    },
  },
  {
    name: "host-lines",
    starts: [
      '{"prl":"hello","protocol":3,"version":"0.1.0"}\n{"prl":"log","text":"a"}\n{"prl":"end","code":0,"signal":null,"note":null}\nbanner\n',
      '{"do":"share","protocol":3,"act":"look","path":"/a"}\n',
      "1500 decode\n\n20000 train\n",
    ],
    words: [
      ...JSON_WORDS,
      '{"prl":"beat"}\n',
      '{"prl":"lines","file":"a","text":"b"}\n',
      '{"do":"survey",',
      '"protocol":3',
      "9999999 x\n",
    ],
    async read(input) {
      const heartbeats = new HeartbeatReader();
      for await (const line of linesOf(pieces(input))) {
        const frame = readFrame(line);
        if (frame !== null) holds(frameSchema.safeParse(frame).success, "a frame is read and is none");
        heartbeats.push(`${line}\n`);
        holds((heartbeats.standstill?.ms ?? 0) >= 0, "a standstill lasts less than no time");
        if (line.startsWith("{")) orderSchema.safeParse(frame);
      }
    },
  },
  {
    name: "worker-requests",
    starts: [RUN_REQUEST, '{"env":"a","episodes":[],"deadline_ms":1000}'],
    words: [...JSON_WORDS, '"task":{', '"sampling":{', '"seed":', '"episodes":['],
    read(input) {
      let body: unknown;
      try {
        body = JSON.parse(textOf(input));
      } catch {
        return;
      }
      runRequestSchema.safeParse(body);
      scoreGroupRequestSchema.safeParse(body);
    },
  },
  {
    name: "environment-packages",
    starts: [
      '{"name":"@owner/a","version":"1.0.0","type":"module","keywords":["prl-environment"],"exports":"./index.js","prl":{"environment":"./index.js","api":1,"needs":{"sandbox":"any","network":["a.b"]}},"dependencies":{"zod":"4"}}',
      '{"format":1,"environments":{"a":{"version":"1.0.0","integrity":null,"content":"x","dependencies":{}}}}',
      '{"packages":{"node_modules/a":{"version":"1.0.0","integrity":"sha512-x","resolved":"https://r/a.tgz","dependencies":{"b":"1"}},"node_modules/b":{"version":"1","dependencies":{"a":"1"}}}}',
      "//registry.example/:_authToken=abc\n@owner:registry=https://registry.example/\n; comment\n",
    ],
    words: [
      ...JSON_WORDS,
      '"prl":{',
      '"needs":{',
      '"packages":{',
      '"node_modules/a/node_modules/b":{',
      '"dependencies":{',
      ":_authToken=",
      "${HOME}",
      "//",
    ],
    mostBytes: 8192,
    read(input) {
      for (const name of [
        "package/package.json",
        "project/environments.lock",
        "project/node_modules/.package-lock.json",
        "project/package.json",
        "npmrc",
      ])
        fileOf(folder, name, input);
      return eachOf(
        () => packageNeeds(manifestOf(packageIn(join(folder, "package")).dir)),
        () => readLock(join(folder, "project")),
        () => installedTree(join(folder, "project"), join(folder, "project/node_modules/a"), "a"),
        () => fetchedPackages(join(folder, "project")),
        () => tokenFor("https://registry.example/", { npm_config_userconfig: join(folder, "npmrc") }),
      );
    },
  },
  {
    name: "hub-pages",
    starts: [
      '{"name":"owner","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"description":"d","keywords":["prl-environment"],"license":"MIT","prl":{"environment":"./a.js","needs":{}},"dist":{"integrity":"sha512-x"}}},"time":{"1.0.0":"2026-01-31T00:00:00Z"},"readme":"# A\\n\\n[link](https://a.b) `code` <b>\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n"}',
    ],
    words: [
      ...JSON_WORDS,
      '"readme":"',
      "[a](javascript:b)",
      "<script>",
      "![a](data:image/png;base64,x)",
      "| a |\\n",
      "```\\n",
      "> ",
      "1. ",
      "**",
      "_",
      "www.a.b",
      "<https://a>",
      "[a]: b\\n",
      "&amp;",
      '"prl":{"report":{"rows":[]}}',
    ],
    mostBytes: 16_384,
    async read(input) {
      fileOf(folder, "hub/owner/package.json", input);
      const found = await readPackageRecord(join(folder, "hub"), "owner");
      if (found === null) return;
      const page = await packagePage(found, null);
      // The page has one script, which its own policy allows.
      const scripts = page.match(/<script|href="javascript:/giu) ?? [];
      holds(scripts.length <= 1, `the page has what a package wrote as ${scripts.at(-1) ?? ""}`);
    },
  },
];
