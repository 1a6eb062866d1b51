/** What a worker thread is started with. */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/**
 * The script itself; run from the sources, as tests do, a module that has it loaded as TypeScript: a thread has no loader of its own.
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
