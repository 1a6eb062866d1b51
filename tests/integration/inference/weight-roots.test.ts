/** Control calls load weights and adapters from the folders of the server only, whatever path they name. */
import { cp, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { createInferenceServer, type InferenceServer } from "../../../ts/inference/index.ts";
import { useServing } from "./serving.ts";

const serving = useServing();

/** A folder with the roots, and what lies beside them. */
let place: string;
let server: InferenceServer;
let base: string;
beforeAll(async () => {
  place = join(serving().root.dir, "roots");
  await mkdir(join(place, "weights"), { recursive: true });
  await cp(serving().folder(1).dir, join(place, "weights/step_1"), { recursive: true });
  await cp(serving().folder(1).dir, join(place, "weights-of-others/step_1"), { recursive: true });
  await symlink(join(place, "weights"), join(place, "linked"));
  await symlink(join(place, "weights-of-others/step_1"), join(place, "weights/away"));
  await symlink("/", join(place, "weights/root"));
  await symlink("loop", join(place, "weights/loop"));
  await writeFile(join(place, "weights/file"), "");
  server = await createInferenceServer(serving().model, {
    modelDir: serving().folder(0).dir,
    weightRoots: [join(place, "linked"), join(place, "later")],
  });
  base = await server.listen("127.0.0.1", 0);
});
afterAll(() => server.close());

const CALLS: Readonly<Record<string, (path: string) => readonly [url: string, body: object]>> = {
  "/update_weights": (path) => ["/update_weights", { ...serving().update(1), source: { dir: path } }],
  "/load_lora_adapter": (path) => ["/load_lora_adapter", { lora_name: "a", lora_path: path }],
  "/v1/load_lora_adapter": (path) => ["/v1/load_lora_adapter", { lora_name: "a", lora_path: path }],
};

async function call(url: string, body: object, to = base): Promise<string> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(to + url, { method: "POST", headers, body: JSON.stringify(body) });
  const { error } = (await answer.json()) as { error?: { code: string; message: string } };
  return error === undefined ? `${answer.status}` : `${answer.status} ${error.code} ${error.message}`;
}

const OUTSIDE = /^403 PRL_INFERENCE_FOLDER \S+: .* is outside of the folders .*--weights-root/su;
const HOSTILE: readonly [what: string, path: (place: string) => string, answer: RegExp][] = [
  ["beside the roots", (dir) => join(dir, "weights-of-others/step_1"), OUTSIDE],
  ["that is not there", (dir) => join(dir, "nothing/step_1"), OUTSIDE],
  ["that begins like a root", (dir) => `${dir}/weights-of-others`, OUTSIDE],
  ["above a root", (dir) => dir, OUTSIDE],
  ["of the system", () => "/etc", OUTSIDE],
  ["of all files", () => "/", OUTSIDE],
  ["that leaves a root by ..", (dir) => `${dir}/weights/step_1/../../weights-of-others/step_1`, OUTSIDE],
  ["that leaves it by .. through nothing", (dir) => `${dir}/weights/no/../../weights-of-others/step_1`, OUTSIDE],
  ["that leaves it by a symbolic link", (dir) => join(dir, "weights/away"), OUTSIDE],
  ["below a link to /", (dir) => join(dir, "weights/root/etc"), OUTSIDE],
  ["below a link to /, not there", (dir) => join(dir, "weights/root/nothing/there"), OUTSIDE],
  ["in a loop of links", (dir) => join(dir, "weights/loop"), /^400 PRL_INFERENCE_REQUEST \S+: .*ELOOP/u],
  ["that is relative", () => "weights/step_1", /^400 PRL_INFERENCE_REQUEST .*absolute/u],
  ["that is empty", () => "", /^400 PRL_INFERENCE_REQUEST .*absolute/u],
  ["of another scheme", (dir) => `file://${dir}/weights/step_1`, /^400 PRL_INFERENCE_REQUEST .*absolute/u],
  ["with NUL", (dir) => `${dir}/weights/step_1\0/x`, /^400 PRL_INFERENCE_REQUEST .*NUL/u],
  [
    "of 100,000 characters",
    (dir) => `${dir}/weights${"/x".repeat(50_000)}`,
    /^400 PRL_INFERENCE_REQUEST .*4095 bytes/u,
  ],
  ["with a long name", (dir) => `${dir}/weights/${"x".repeat(300)}`, /^400 PRL_INFERENCE_REQUEST .*ENAMETOOLONG/u],
  ["of many levels", (dir) => `${dir}/weights${"/..".repeat(1_000)}/etc`, OUTSIDE],
];

describe.each(Object.keys(CALLS))("%s", (name) => {
  const load = (path: string) => call(...(CALLS[name]?.(path) ?? ["", {}]));

  it.each(HOSTILE)("refuses a path %s", async (_, path, answer) => {
    const before = serving().model.stats();
    expect(await load(path(place))).toMatch(answer);
    expect(serving().model.stats()).toMatchObject({ version: before.version, digest: before.digest });
  });

  it("says of a path inside what is wrong with it", async () => {
    for (const path of ["weights/nothing", "weights/file", "weights/file/below", "later/step_1"])
      expect(await load(join(place, path))).toMatch(/^422 PRL_WEIGHTS_\w+ /u);
  });
});

it("weights are loaded from a root, through links and .. that stay inside, and once it is there", async () => {
  const load = (path: string) =>
    call("/update_weights", { ...serving().update(1), source: { dir: join(place, path) } });
  const back = () => serving().admin.updateWeights(serving().update(0));
  const version = () => serving().model.stats().version;
  for (const path of ["linked/step_1", "weights/step_1", "weights/nothing/../step_1"]) {
    expect([await load(path), version()]).toEqual(["200", 1]);
    await back();
  }
  await rename(join(place, "weights"), join(place, "later"));
  expect([await load("later/step_1"), version()]).toEqual(["200", 1]);
  await back();
});

it("a server that names no folders loads from its model's alone", async () => {
  const modelDir = join(serving().root.dir, "plain");
  await cp(serving().folder(1).dir, modelDir, { recursive: true });
  const plain = await createInferenceServer(serving().model, { modelDir });
  const url = await plain.listen("127.0.0.1", 0);
  const update = (dir: string) => call("/update_weights", { ...serving().update(1), source: { dir } }, url);
  try {
    expect(await update(serving().folder(1).dir)).toMatch(OUTSIDE);
    expect(await update(modelDir)).toBe("200");
  } finally {
    await plain.close();
  }
});
