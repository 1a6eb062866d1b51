/** Hands orders to the module that breaks a process from inside (`hook.ts`): a file in a folder of this round, and SIGUSR2. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { signalProcess } from "../processes.ts";
import type { InsideOrder } from "./hook.ts";

export class InsideOrders {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(): Promise<InsideOrders> {
    return new InsideOrders(await mkdtemp(join(tmpdir(), "prl-chaos-orders-")));
  }

  /** What a process needs in its environment to obey. */
  variables(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
    const fromSources = import.meta.url.endsWith(".ts");
    const compiled = new URL("./hook.js", import.meta.url);
    const hook = fromSources ? new URL("./hook.ts", import.meta.url) : compiled;
    const tsx = fromSources ? [`--import=${pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href}`] : [];
    const options = [env["NODE_OPTIONS"] ?? "", ...tsx, `--import=${hook.href}`];
    return { NODE_OPTIONS: options.join(" ").trim(), CHAOS_ORDERS: this.#folder };
  }

  /** Gives a process an order; false when it is gone. */
  async give(pid: number, order: InsideOrder): Promise<boolean> {
    await writeFile(join(this.#folder, `${pid}.json`), JSON.stringify(order));
    return signalProcess(pid, "SIGUSR2");
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
