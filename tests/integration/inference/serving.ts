/** One server over the tiny model, with clients of both kinds, for the tests of a file. */
import { afterAll, afterEach, beforeAll } from "vitest";

import { createInferenceServer, type InferenceServer } from "../../../ts/inference/index.ts";
import { InferenceAdmin } from "../../../ts/inference-client/index.ts";
import { loadModel, type EngineStats, type Model } from "../../../ts/native/index.ts";
import { InferenceClient } from "../../../ts/inference-client/index.ts";
import { MAX_MODEL_LEN, publishVersion, scratch, type WeightsFolder } from "./tiny-model.ts";

export const PROMPT = [104, 101, 108, 108, 111];
/** Tokens that fill the context: long enough to be still running when the next call arrives. */
export const LONG = MAX_MODEL_LEN - PROMPT.length;

export class Serving {
  readonly root: Awaited<ReturnType<typeof scratch>>;
  readonly versions: readonly WeightsFolder[];
  readonly model: Model;
  readonly server: InferenceServer;
  readonly url: string;
  readonly client: InferenceClient;
  readonly admin: InferenceAdmin;

  constructor(parts: Pick<Serving, "root" | "versions" | "model" | "server" | "url">) {
    this.root = parts.root;
    this.versions = parts.versions;
    this.model = parts.model;
    this.server = parts.server;
    this.url = parts.url;
    this.client = new InferenceClient({ url: parts.url, model: "tiny" });
    this.admin = new InferenceAdmin({ url: parts.url });
  }

  static async start(wrapped: (model: Model) => Model): Promise<Serving> {
    const root = await scratch();
    const first = await publishVersion(root.dir, 0);
    const versions = [first, await publishVersion(root.dir, 1)];
    const model = await loadModel(first.dir, { threads: 2, version: 0, kvCacheBytes: 8 * 1024 * 1024 });
    const server = await createInferenceServer(wrapped(model), {
      modelDir: first.dir,
      modelNames: ["tiny"],
      weightRoots: [root.dir],
    });
    const url = await server.listen("127.0.0.1", 0);
    return new Serving({ root, versions, model, server, url });
  }

  async stop(): Promise<void> {
    await this.client.close();
    await this.admin.close();
    await this.server.close();
    await this.model.close();
    await this.root.remove();
  }

  folder(version: number): WeightsFolder {
    const found = this.versions[version];
    if (found === undefined) throw new Error(`no version ${version}`);
    return found;
  }

  /** The body of `/update_weights` for a version. */
  update(version: number) {
    const { dir, digest } = this.folder(version);
    return { version, digest, source: { dir } };
  }

  async post(path: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Resolves once the engine's counters are as wanted. */
  async untilStats(wanted: (stats: EngineStats) => boolean): Promise<void> {
    const deadline = Date.now() + 20_000;
    while (!wanted(this.model.stats())) {
      if (Date.now() > deadline) throw new Error(`the engine never got there: ${JSON.stringify(this.model.stats())}`);
      await new Promise((done) => setTimeout(done, 2));
    }
  }
}

/** A server for all tests of the file, of the model as `wrapped` gives it; each test begins unpaused with version 0. */
export function useServing(wrapped: (model: Model) => Model = (model) => model): () => Serving {
  let serving: Serving | undefined;
  const get = (): Serving => {
    if (serving === undefined) throw new Error("the server did not start");
    return serving;
  };
  beforeAll(async () => {
    serving = await Serving.start(wrapped);
    await serving.admin.updateWeights(serving.update(0));
  });
  afterEach(async () => {
    await get().admin.resume();
    await get().admin.updateWeights(get().update(0));
  });
  afterAll(() => serving?.stop());
  return get;
}
