/** Sources that are placed on workers of other machines. */
import { expect, test } from "vitest";

import { EnvWorkerSet } from "../../../../ts/orchestrator/env-workers/env-worker-set.ts";

const never = new AbortController().signal;
const far = (name: string, sources: string[] | null) => {
  return { name, url: `http://${name}:1`, remote: { sources, headers: {} } };
};

async function placesOf(set: EnvWorkerSet, source: string): Promise<string[]> {
  const taken = [];
  for (let i = 0; i < 4; i++) taken.push(await set.take(source, never));
  for (const worker of taken) set.release(worker);
  return [...new Set(taken.map(({ address }) => address.name))].toSorted();
}

test("run on those alone, the others on the workers of this machine", async () => {
  const workers = [{ name: "near", url: "http://near:1" }, far("far-0", ["code"]), far("far-1", ["code"])];
  const set = new EnvWorkerSet(workers, { connections: 2, waitMs: 10 });
  expect(await placesOf(set, "code")).toEqual(["far-0", "far-1"]);
  expect(await placesOf(set, "math")).toEqual(["near"]);
  await set.close();
});

test("run on one of them when another does not answer, and wait rather than run here", async () => {
  const workers = [{ name: "near", url: "http://near:1" }, far("far-0", null), far("far-1", null)];
  const set = new EnvWorkerSet(workers, { connections: 2, waitMs: 10 });
  const first = await set.take("code", never);
  set.suspect(first);
  const second = await set.take("code", never);
  expect([first, second].map(({ address }) => address.name).toSorted()).toEqual(["far-0", "far-1"]);
  set.suspect(second);
  await expect(set.take("code", never)).rejects.toMatchObject({ code: "PRL_PROCESS_DIED" });
  await set.close();
});

test("of doubtful rollouts each has a worker that runs no other one, which is waited for", async () => {
  const addresses = ["a", "b"].map((name) => ({ name, url: `http://${name}:1` }));
  const set = new EnvWorkerSet(addresses, { connections: 8, waitMs: 10 });
  const first = await set.take("code", never, true);
  const second = await set.take("code", never, true);
  expect([first, second].map(({ address }) => address.name).toSorted()).toEqual(["a", "b"]);
  // Other rollouts do not wait.
  const plain = await set.take("code", never);
  const third = set.take("code", never, true);
  set.release(plain);
  expect(await Promise.race([third, Promise.resolve("waits")])).toBe("waits");
  set.release(second, true);
  expect((await third).address.name).toBe(second.address.name);
  await set.close();
});
