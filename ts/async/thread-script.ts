/** Gives the script of a worker thread. */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/**
 * Returns the script itself, or, when prl runs from its sources as in tests, a module that loads it as TypeScript, because a thread has
 * no loader.
 * @param script URL of the compiled script, `./worker.js` beside its caller.
 */
export function threadScript(script: URL): URL {
  if (!import.meta.url.endsWith(".ts")) return script;
  const required = createRequire(import.meta.url).resolve("tsx/esm/api");
  const loader = pathToFileURL(required.replace(/\.cjs$/u, ".mjs")).href;
  const source = script.href.replace(/\.js$/u, ".ts");
  const code = `import { register } from "${loader}"; register(); await import("${source}");`;
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}
