/**
 * Every function that native/src exports turns a panic into an error; a panic across the border would end the process. And promises share one type
 * of future, without which the addon takes nearly twice as long to compile.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const NATIVE = resolve(import.meta.dirname, "../../../native");
/** `#[napi(...)]`, then other attributes and comments, then the function; a struct or an impl does not match. */
const EXPORT = /#\[napi(?:\(([^\]]*)\))?\]\s*(?:#\[[^\]]*\]\s*|\/\/[^\n]*\n\s*)*pub (?:async )?fn (\w+)/g;

const files = readdirSync(join(NATIVE, "src"), { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".rs"),
);
const readSource = (file: string) => readFileSync(join(NATIVE, "src", file), "utf8");
const exports = files.flatMap((file) =>
  [...readSource(file).matchAll(EXPORT)].map(([, options = "", name = ""]) => ({
    name: `${file}: ${name}`,
    caught: options.split(",").some((option) => option.trim() === "catch_unwind"),
  })),
);

test("every exported function, method, constructor and getter catches panics", () => {
  expect(exports.filter(({ caught }) => !caught).map(({ name }) => name)).toEqual([]);
});

test("the search above finds as many exports as index.d.ts declares", () => {
  const declarations = readFileSync(join(NATIVE, "index.d.ts"), "utf8");
  const functions = declarations.match(/^export declare function /gm) ?? [];
  const bodies = [...declarations.matchAll(/^export declare class \w+ \{\n([\s\S]*?)^\}/gm)].map(
    ([, body = ""]) => body,
  );
  const members = bodies.flatMap((body) => body.match(/^ {2}(?:static |get )?\w+\(/gm) ?? []);
  expect(exports).toHaveLength(functions.length + members.length);
});

test("every promise is made by native/src/runtime.rs, so that its code is compiled once", () => {
  const makers = files.filter((file) => /spawn_future|pub async fn /.test(readSource(file)));
  expect(makers).toEqual(["runtime.rs"]);
});

test("only methods that never wait for the engine's thread run on that of JavaScript", () => {
  const declarations = readFileSync(join(NATIVE, "index.d.ts"), "utf8");
  const body = /^export declare class NativeEngine \{\n([\s\S]*?)^\}/m.exec(declarations)?.[1] ?? "";
  const methods = [...body.matchAll(/^ {2}(?:static )?(\w+)\(.*\): (.*)$/gm)];
  expect(methods.length).toBeGreaterThan(15);
  const atOnce = methods.filter(([, , result = ""]) => !result.startsWith("Promise<")).map(([, name]) => name);
  expect(new Set(atOnce)).toEqual(new Set(["abort", "info", "resume", "stats", "submit", "unloadAdapter"]));
});
