/** `prl hub serve`: a hub of environments on this machine, an npm registry in the foreground. `prl hub export`: its pages as files. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

import { aborted } from "../../../async/aborted.ts";
import { readHub, startHub, writeSite } from "../../../environments/internal.ts";
import { PrlError } from "../../../errors.ts";
import { numberOption, parseOptions } from "../../arguments/args.ts";
import { RULES } from "../../arguments/option-rule.ts";
import { type Command, type CommandIo, type CommandOption, EXIT } from "../../command.ts";
import { stopExit } from "../../../stop-signal.ts";
import { readPublishers } from "./publishers.ts";

const DEFAULT_PORT = 4873;
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/u;

const OPTIONS: readonly CommandOption[] = [
  { flag: "--storage", value: "<folder>", summary: "Folder of packages, accounts and the log (./prl-hub)" },
  { flag: "--host", value: "<address>", rule: { is: "host" }, summary: "Address to listen on (127.0.0.1)" },
  {
    flag: "--port",
    value: "<n>",
    rule: RULES.port,
    summary: `Port to listen on, 0 for any free one (${DEFAULT_PORT})`,
  },
  {
    flag: "--uplink",
    value: "<url>",
    rule: { is: "url" },
    summary: "Registry that is asked for packages that this hub does not have (none)",
  },
  {
    flag: "--url",
    value: "<url>",
    rule: { is: "url" },
    summary: "export: address of the hub in the install lines (none: npm's settings of the reader decide)",
  },
  { flag: "--private", summary: "Packages are read with a token only" },
  {
    flag: "--accounts",
    value: "<who>",
    rule: { is: "one of", values: ["open", "closed"] },
    summary: "Whether prl env login makes new accounts (open on a loopback address, else closed)",
  },
  {
    flag: "--publish",
    value: "<rules>",
    summary: "Accounts that may publish, by scope: @ada=ada+bob,*=root, where * is all other packages (every account)",
  },
];

const ALL_FLAGS = OPTIONS.map(({ flag }) => flag);
const EXPORT_FLAGS = ["--storage", "--url"];
const SERVE_FLAGS = ALL_FLAGS.filter((flag) => flag !== "--url");

export const command: Command = {
  name: "hub",
  summary: "Serve a hub of environments, an npm registry with pages to look at, or write its pages into a folder",
  usage: `hub serve [--storage <folder>] [--host <address>] [--port <n>]
       prl hub export <folder> [--storage <folder>] [--url <url>]`,
  details: `serve: the registry is the optional package verdaccio: npm install verdaccio@6.
Publishing needs an account: prl env login --registry http://127.0.0.1:${DEFAULT_PORT} --user me.
--publish @ada=ada+bob,*=root: only these accounts publish, deprecate and unpublish packages of @ada, and root all others.
Beyond this machine put a server with TLS before it; it speaks plain HTTP. A browser shows the pages at the same address.
export: the same pages as files, for any web server; --url names the hub in their install lines.`,
  options: OPTIONS,
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions({ name: "hub", options: OPTIONS }, args);
  const [form, folder, ...rest] = positionals;
  const storage = resolve(io.cwd, options.get("--storage") ?? "prl-hub");
  if (form === "serve" && folder === undefined) return serve(storage, only(SERVE_FLAGS, options), io);
  if (form === "export" && folder !== undefined && rest.length === 0)
    return exportPages(
      { storage, folder: resolve(io.cwd, folder), url: only(EXPORT_FLAGS, options).get("--url") ?? null },
      io,
    );
  throw new PrlError("PRL_CLI_USAGE", "prl hub: expected serve, or export and one folder; see prl hub --help");
}

/** The options, when all of them belong to the form. */
function only(flags: readonly string[], options: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const other = [...options.keys()].find((flag) => !flags.includes(flag) && ALL_FLAGS.includes(flag));
  if (other === undefined) return options;
  throw new PrlError("PRL_CLI_USAGE", `prl hub: ${other} is not for this form, which takes ${flags.join(", ")}`);
}

async function exportPages(
  { storage, folder, url }: { storage: string; folder: string; url: string | null },
  io: CommandIo,
): Promise<number> {
  if (!existsSync(storage))
    throw new PrlError("PRL_CLI_USAGE", `prl hub export: there is no hub in ${storage} (--storage)`);
  const pages = await writeSite(folder, { index: await readHub(storage), registry: url });
  if (io.json) io.writeJson({ folder, pages });
  else io.stdout.write(`${pages} pages; the first is ${join(folder, "index.html")}\n`);
  return EXIT.done;
}

async function serve(storage: string, options: ReadonlyMap<string, string>, io: CommandIo): Promise<number> {
  const host = options.get("--host") ?? "127.0.0.1";
  const accounts = options.get("--accounts") ?? (LOOPBACK.test(host) ? "open" : "closed");
  const rules = options.get("--publish");
  const { signal } = io;
  const hub = await startHub({
    storage,
    host,
    port: numberOption(options, "--port", DEFAULT_PORT),
    uplink: options.get("--uplink") ?? null,
    isPrivate: options.has("--private"),
    isOpen: accounts === "open",
    ...(rules === undefined ? {} : { publishers: readPublishers(rules) }),
  });
  if (io.json) io.writeJson({ url: hub.url, storage });
  else io.stdout.write(`The hub is at ${hub.url}, its packages in ${storage}\n`);
  await aborted(signal);
  await hub.close();
  return signal.aborted ? stopExit(signal.reason) : EXIT.done;
}
