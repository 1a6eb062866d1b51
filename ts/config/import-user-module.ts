/**
 * The one loader of user code by path: environments, advantages, losses, filters.
 *
 * `./my.ts#name` is a file and an export (without `#name`: the default export). JavaScript and TypeScript, with relative imports of
 * either, on every Node we support; `prl-lm` and `prl-lm/...` mean the running package wherever the user's folder is.
 */
import { existsSync, readFileSync, statSync, writeSync } from "node:fs";
import { createRequire, register } from "node:module";
import { extname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { PrlError } from "../errors.ts";
import { fileKind } from "../files/regular-file.ts";
import { nearest } from "./keys/suggest.ts";
import type { HookData } from "./user-module-hooks.ts";

const EXTENSIONS = [".ts", ".mts", ".js", ".mjs", ".cjs"];

const STDERR_FD = 2;
/** Exit code of a command with a wrong config, or a wrong file that the config names. */
const USAGE_EXIT = 2;

let ready: Promise<void> | undefined;

/**
 * Loads a module of the user and returns the requested export.
 *
 * @param reference path, relative to `baseDir` unless absolute, with an optional `#export`
 * @throws PrlError PRL_USER_MODULE: no such file, not loadable (the cause says why), no such export (the message lists the existing ones)
 */
export async function importUserModule(reference: string, baseDir: string = process.cwd()): Promise<unknown> {
  const { file, exportName } = splitReference(reference);
  const path = resolve(baseDir, file);
  checkFile(reference, path);
  await (ready ??= prepare());
  let loaded: Record<string, unknown>;
  const onExit = (): void => reportExit(path);
  process.on("exit", onExit);
  try {
    loaded = (await import(/* @vite-ignore */ pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (cause) {
    throw new PrlError(
      "PRL_USER_MODULE",
      `${reference}: the module ${path} could not be loaded; mend what its cause says`,
      { cause },
    );
  } finally {
    process.off("exit", onExit);
  }
  if (loaded[exportName] !== undefined) return loaded[exportName];
  const names = Object.keys(loaded).sort();
  const near = nearest(exportName, names);
  const there = names.length === 0 ? "it exports nothing" : `it exports ${names.join(", ")}`;
  const advice = near === null ? "add the export or name another with #name" : `did you mean #${near}?`;
  const what = exportName === "default" ? "no default export" : `no export "${exportName}"`;
  throw new PrlError("PRL_USER_MODULE", `${reference}: the module ${path} has ${what}; ${there}; ${advice}`);
}

/** A module that calls process.exit(0) when it is imported, or waits for nothing, must not make a command look done. */
function reportExit(path: string): void {
  const message = `the process ended while it imported ${path}: a module must not end it, or wait at its top level for nothing`;
  writeSync(STDERR_FD, `prl: [PRL_USER_MODULE] ${message}\n`);
  process.exitCode = USAGE_EXIT;
}

function splitReference(reference: string): { file: string; exportName: string } {
  const match = /^(.+)#([^#/\\]+)$/.exec(reference);
  return match === null
    ? { file: reference, exportName: "default" }
    : { file: match[1] ?? "", exportName: match[2] ?? "" };
}

function checkFile(reference: string, path: string): void {
  if (!existsSync(path)) {
    const other = EXTENSIONS.map((extension) => path.replace(/\.[cm]?[jt]s$/, "") + extension).find((name) =>
      existsSync(name),
    );
    const advice =
      other === undefined ? "check the path; it is relative to the file that names it" : `did you mean ${other}?`;
    throw new PrlError("PRL_USER_MODULE", `${reference}: no such file ${path}; ${advice}`);
  }
  const kind = fileKind(statSync(path));
  if (kind !== "file") {
    const advice = kind === "folder" ? "name the module in it" : "name a file";
    throw new PrlError("PRL_USER_MODULE", `${reference}: ${path} is a ${kind}; ${advice}`);
  }
  if (EXTENSIONS.includes(extname(path))) return;
  throw new PrlError("PRL_USER_MODULE", `${reference}: ${path} is no module; use one of ${EXTENSIONS.join(", ")}`);
}

/** Registers the module hooks; once per process. */
async function prepare(): Promise<void> {
  process.setSourceMapsEnabled(true);
  const root = new URL("../../", import.meta.url);
  const running = new URL("../", import.meta.url);
  const isSource = import.meta.url.endsWith(".ts");
  const data: HookData = {
    transformer: pathToFileURL(createRequire(import.meta.url).resolve("oxc-transform")).href,
    exports: packageExports(root, running),
    prlSources: new URL("ts/", root).href,
  };
  const compiled = new URL("./user-module-hooks.js", import.meta.url);
  register(isSource ? await asJavaScript(new URL("./user-module-hooks.ts", import.meta.url)) : compiled, { data });
}

/**
 * URL of each public entry of this package in the folder that runs: `bundle/`, `dist/` or `ts/`. User code has to get the modules that run,
 * because an error or a class of another copy is not the same one.
 */
function packageExports(root: URL, running: URL): Record<string, string> {
  const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
    name: string;
    exports: Record<string, string | { default: string }>;
  };
  const urls: Record<string, string> = {};
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    const built = typeof target === "string" ? target : target.default;
    const [, module] = /^\.\/dist\/(.*)\.js$/.exec(built) ?? [];
    const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
    const url = module === undefined ? new URL(built, root) : new URL(`${module}${extension}`, running);
    urls[subpath.replace(/^\./, manifest.name)] = url.href;
  }
  return urls;
}

/** When prl runs from TypeScript sources, the hooks thread gets compiled code, because it starts without a loader. */
async function asJavaScript(url: URL): Promise<string> {
  const { transformSync } = await import("oxc-transform");
  const file = fileURLToPath(url);
  const { code } = transformSync(file, readFileSync(file, "utf8"), {
    lang: "ts",
    sourceType: "module",
    target: "es2022",
  });
  return `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;
}
