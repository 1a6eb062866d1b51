/**
 * Module hooks for user code: TypeScript on every Node, and `prl-lm` from anywhere.
 *
 * It runs on Node's hooks thread; `import-user-module.ts` registers it before the first user module. It imports nothing of ours: the
 * data that it needs come as arguments. Modules keep their own URL, so `import.meta.url`, relative imports and the packages of the
 * user's `node_modules` work as they do without hooks.
 */
import { readFile } from "node:fs/promises";
import type { InitializeHook, LoadHook, ResolveHook } from "node:module";
import { fileURLToPath } from "node:url";

export interface HookData {
  /** URL of the TypeScript transformer's module. */
  readonly transformer: string;
  /** URL by public specifier: `prl-lm`, `prl-lm/environments`, ... */
  readonly exports: Readonly<Record<string, string>>;
  /** URL prefix of our own sources, which the loader that started prl loads. */
  readonly prlSources: string;
}

interface Transformer {
  transformSync(
    file: string,
    source: string,
    options: { lang: "ts"; sourceType: "module"; target: string; sourcemap: boolean },
  ): { code: string; map?: unknown; errors: { message: string; codeframe: string | null }[] };
}

let data: HookData | undefined;
let transformer: Transformer | undefined;

export const initialize: InitializeHook<HookData> = (given) => {
  data = given;
};

export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  const own = data?.exports[specifier];
  if (own !== undefined) return nextResolve(own, context);
  try {
    return await nextResolve(specifier, context);
  } catch (error) {
    // TypeScript sources may name a neighbour by the name it will have once compiled.
    const isRelative = /^\.{1,2}\//.test(specifier) && /\.m?js$/.test(specifier);
    if (!isRelative || context.parentURL === undefined || !isTypeScript(context.parentURL)) throw error;
    try {
      return await nextResolve(specifier.replace(/js$/, "ts"), context);
    } catch {
      throw error; // The first message names the user's own specifier.
    }
  }
};

export const load: LoadHook = async (url, context, nextLoad) => {
  if (data === undefined || !isTypeScript(url) || url.startsWith(data.prlSources)) return nextLoad(url, context);
  const file = fileURLToPath(url);
  const source = await readFile(file, "utf8");
  transformer ??= (await import(data.transformer)) as Transformer;
  const result = transformer.transformSync(file, source, {
    lang: "ts",
    sourceType: "module",
    target: "es2022",
    sourcemap: true,
  });
  const problem = result.errors[0];
  if (problem !== undefined) throw new SyntaxError(`${file}: ${problem.message}\n${problem.codeframe ?? ""}`);
  const map = Buffer.from(JSON.stringify(result.map)).toString("base64");
  const code = `${result.code}\n//# sourceMappingURL=data:application/json;base64,${map}\n`;
  return { format: "module", source: code, shortCircuit: true };
};

function isTypeScript(url: string): boolean {
  return url.startsWith("file:") && /\.m?ts([?#]|$)/.test(url);
}
