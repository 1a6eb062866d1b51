/** Scores by the policy itself, whose engines come and go. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import type { ReceivedEpisode, RunRequest } from "../../../../ts/environments/internal.ts";
import { PrlError } from "../../../../ts/errors.ts";
import { ReferenceScores } from "../../../../ts/orchestrator/batch/reference-scores.ts";
import type { EngineLease } from "../../../../ts/orchestrator/engines/engine-fleet.ts";
import { scored } from "../simulation.ts";

const MODEL = fileURLToPath(new URL("../../../../configs/reverse-text/model", import.meta.url));
const { signal } = new AbortController();
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function served(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Gives each token of a prompt the log-probability -0.5. */
const answers: RequestListener = (request, response) => {
  let body = "";
  request.on("data", (piece: Buffer) => (body += piece.toString()));
  request.on("end", () => {
    const { token_ids: ids } = JSON.parse(body) as { token_ids: number[] };
    const entries = ids.map((id, t) => (t === 0 ? null : { [id]: { logprob: -0.5 } }));
    response.end(JSON.stringify({ prompt_logprobs: entries }));
  });
};

/** A place on an engine; `lose` takes the engine out of service. */
function place(url: string, isInService = true) {
  const abort = new AbortController();
  let lost: PrlError | null = null;
  const lose = () => {
    lost = new PrlError("PRL_INFERENCE_UNREACHABLE", `${url} is out of service`);
    abort.abort(lost);
  };
  const lease: EngineLease = {
    url,
    model: undefined,
    signal: abort.signal,
    get lost() {
      return lost;
    },
    suspect: async () => isInService,
    release: () => undefined,
  };
  return { lease, lose };
}

function rollout(trainable = true): ReceivedEpisode {
  const request = { episode_id: "e", env: "b", group_id: "g", run: { type: "train", step: 1 } } as RunRequest;
  const own = scored({ ...request, task: { key: "k", hash: "", data: { hint: "abc" } } }, 1, 3, 3);
  const [trace] = own.episode.traces;
  const nodes = [
    { parent: null, message: { role: "user" as const, content: "x" }, sampled: false, tokens: 1 },
    { parent: 0, message: { role: "assistant" as const, content: "yz" }, sampled: true, tokens: 2 },
  ];
  const traces = trace === undefined ? [] : [{ ...trace, nodes, trainable, asked: { is_text: true } }];
  const task = { key: "k", hash: "", data: { hint: "abc" } };
  return { ...own, episode: { ...own.episode, task, traces } };
}

/** The rollout with its score, and how many engines were asked. */
async function scoreWith(leases: readonly EngineLease[], trainable = true) {
  const { orchestrator } = rlConfigSchema.parse({
    model: { name: "m" },
    orchestrator: {
      batch_size: 2,
      group_size: 2,
      algo: { type: "opsd", demo_key: "hint" },
      train: { source: [{ name: "b", env: { id: "reverse-text" } }] },
    },
  });
  let taken = 0;
  const take = async () => {
    const lease = leases[taken++];
    if (lease === undefined) throw new Error("no engine is left");
    return lease;
  };
  const scores = new ReferenceScores({
    sources: orchestrator.train.source,
    engines: { take },
    modelName: "m",
    modelDir: MODEL,
  });
  const [result] = await scores.score("b", [rollout(trainable)], signal);
  await scores.close();
  const samples = result?.samples ?? null;
  return { episode: result?.episode, taken, reference: samples === null ? null : scores.of(samples, 0) };
}

test("a score whose engine leaves service is asked of another engine", async () => {
  const silent = place(await served(() => silent.lose()));
  const { episode, taken, reference } = await scoreWith([silent.lease, place(await served(answers)).lease]);
  expect(episode).toMatchObject({ ok: true, errors: [] });
  expect(taken).toBe(2);
  expect([...(reference ?? [])]).toEqual([0, -0.5, -0.5]);
});

test("a score that does not reach its engine is asked of another one when the engine is out of service", async () => {
  const unreached = "http://127.0.0.1:1";
  const well = place(await served(answers)).lease;
  expect(await scoreWith([place(unreached, false).lease, well])).toMatchObject({ episode: { ok: true }, taken: 2 });
  const refused = await scoreWith([place(unreached).lease, well]);
  expect(refused).toMatchObject({
    episode: { ok: false, errors: [{ code: "PRL_INFERENCE_UNREACHABLE" }] },
    taken: 1,
  });
});

test("engines that are lost again and again make the rollout an errored one", async () => {
  const leases: EngineLease[] = [];
  for (let i = 0; i < 20; i++) {
    const silent = place(await served(() => silent.lose()));
    leases.push(silent.lease);
  }
  const { episode, taken } = await scoreWith(leases);
  expect(episode).toMatchObject({ ok: false, errors: [{ code: "PRL_INFERENCE_UNREACHABLE" }] });
  expect(taken).toBe(11);
});

test("a trace that does not train is not scored", async () => {
  expect(await scoreWith([], false)).toMatchObject({ episode: { ok: true, errors: [] }, taken: 0, reference: null });
});
