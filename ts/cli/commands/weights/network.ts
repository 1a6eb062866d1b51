/** Shared by `prl weights serve | relay | pull`. */
import { aborted, onAbort } from "../../../async/aborted.ts";
import { PrlError } from "../../../errors.ts";
import { openWeightNode, type WeightNode } from "../../../native/index.ts";
import { readTls, transportToken } from "../../../transports/index.ts";
import { numberOption, showText, type PlainArguments } from "../../arguments/args.ts";
import { EXIT, type CommandIo } from "../../command.ts";
import { expectedBy } from "../../arguments/option-rule.ts";
import { stopExit } from "../../../stop-signal.ts";

export const DEFAULT_LISTEN = "127.0.0.1:0";
const DEFAULT_TIMEOUT_S = 600;

/** The addresses of `--from`. */
export function sourcesOf({ options }: PlainArguments): string[] {
  const sources = (options.get("--from") ?? "").split(",").filter((address) => address !== "");
  const wrong = sources.length === 0 ? "nothing" : sources.find((address) => expectedBy({ is: "host:port" }, address));
  if (wrong !== undefined) {
    throw new PrlError("PRL_CLI_USAGE", `--from: expected host:port, or several with commas, got ${showText(wrong)}`);
  }
  return sources;
}

/** The only positional argument. */
export function onlyFolder({ positionals }: PlainArguments, what: string): string {
  const [dir, ...rest] = positionals;
  if (dir === undefined || rest.length > 0) throw new PrlError("PRL_CLI_USAGE", `expected one folder: ${what}`);
  return dir;
}

/** Patience with a publisher that is asked alone, while others may have what it is asked for. */
const ASK_MS = 10_000;

/**
 * Opens a node over `root` while `work` runs; a signal to stop ends it and is not a failure. `brief` is for questions that should not take the whole
 * patience.
 */
export async function withNode(
  root: string,
  { options }: PlainArguments,
  io: CommandIo,
  work: (node: WeightNode, signal: AbortSignal, brief: WeightNode) => Promise<void>,
): Promise<number> {
  const { signal } = io;
  const patienceMs = 1000 * numberOption(options, "--timeout-s", DEFAULT_TIMEOUT_S);
  const file = (flag: string) => options.get(flag) ?? null;
  const tls = readTls({
    tls_cert: file("--tls-cert"),
    tls_key: file("--tls-key"),
    tls_ca: file("--tls-ca"),
    tls_client_ca: file("--tls-client-ca"),
    tls_server_name: file("--tls-server-name"),
  });
  const token = transportToken(io.env);
  const node = openWeightNode(root, { token, patienceMs, tls });
  const brief = openWeightNode(root, { token, patienceMs: Math.min(patienceMs, ASK_MS), tls });
  const close = () => Promise.all([node.close(), brief.close()]);
  const release = onAbort(signal, () => void close());
  try {
    await work(node, signal, brief);
    if (!signal.aborted) return EXIT.done;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    release();
    await close();
  }
  return stopExit(signal.reason);
}

/** Prints where a node listens. */
export function announce(io: CommandIo, address: string, root: string): void {
  if (io.json) io.writeJson({ address, root });
  else io.stdout.write(`serving ${root} at ${address}\n`);
}

/** Resolves when the signal is aborted, and keeps the event loop alive, which sockets on the Rust side do not. */
export async function serveUntilAborted(signal: AbortSignal): Promise<void> {
  const alive = setInterval(() => {}, 1 << 30);
  await aborted(signal);
  clearInterval(alive);
}
