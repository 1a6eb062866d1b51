/**
 * Programs that call a function of untrusted code inside a sandbox and write its return value.
 *
 * The arguments and a random word come by standard input; the answer is one line that begins with the word. The expected value is not
 * there, so the code gains nothing by attacking its harness: it can only write an answer, and a second answer spoils the first.
 */

/**
 * Common modules are imported, as on the sites where these tasks come from. Texts that tuples, dictionaries and others are tagged with:
 * `call-value.ts`.
 */
const PYTHON = `import json, os, sys, types

PRELUDE = """
import bisect, collections, copy, datetime, functools, heapq, itertools, json, math, operator, random, re, string, sys
from typing import *
from collections import *
from itertools import *
from functools import *
from heapq import *
from bisect import *
from math import *
from builtins import *
"""


def encode(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return json.dumps(value)
    if isinstance(value, tuple):
        return '{"t":[' + ",".join(map(encode, value)) + "]}"
    if isinstance(value, list):
        return "[" + ",".join(map(encode, value)) + "]"
    if isinstance(value, dict):
        pairs = ["[" + encode(key) + "," + encode(item) + "]" for key, item in value.items()]
        return '{"d":[' + ",".join(pairs) + "]}"
    return '{"o":' + json.dumps(repr(value)) + "}"


def main():
    request = json.loads(sys.stdin.buffer.read())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    leave, write, out = os._exit, os.write, os.dup(1)
    sys.setrecursionlimit(50000)
    getattr(sys, "set_int_max_str_digits", int)(0)
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    space = module.__dict__
    exec(PRELUDE, space)
    with open("main.py", encoding="utf-8") as file:
        source = file.read()
    exec(compile(source, "main.py", "exec"), space)
    name = request["name"]
    solution = space.get("Solution")
    if solution is not None and hasattr(solution, name):
        function = getattr(solution(), name)
    elif name in space:
        function = space[name]
    else:
        raise NameError("the code defines no function " + name)
    answer = encode(function(*request["arguments"]))
    sys.stdout.flush()
    frame = ("\\n" + request["word"] + " " + answer + "\\n").encode("utf-8", "surrogatepass")
    while frame:
        frame = frame[write(out, frame):]
    leave(0)


main()
`;

const JAVASCRIPT = `"use strict";
const fs = require("node:fs");
const vm = require("node:vm");
const { writeSync } = fs;
const exit = process.exit.bind(process);
const { stringify } = JSON;

function encode(value) {
  if (value === null || value === undefined) return "null";
  if (typeof value === "bigint" || typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return stringify(value);
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && Symbol.iterator in value)) {
    return "[" + Array.from(value, encode).join(",") + "]";
  }
  const prototype = Object.getPrototypeOf(value);
  if (typeof value === "object" && (value instanceof Map || prototype === null || prototype === Object.prototype)) {
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    return '{"d":[' + entries.map(([key, item]) => "[" + encode(key) + "," + encode(item) + "]").join(",") + "]}";
  }
  return '{"o":' + stringify(String(value)) + "}";
}

async function find(name) {
  const source = fs.readFileSync("main.js", "utf8");
  const isModule = /^\\s*(?:import\\b|export\\b)/m.test(source);
  if (isModule) {
    fs.writeFileSync("main.mjs", source);
    const space = await import(process.cwd() + "/main.mjs");
    return space[name] ?? space.default?.[name] ?? space.default;
  }
  Object.assign(globalThis, { require, module: { exports: {} } });
  globalThis.exports = globalThis.module.exports;
  vm.runInThisContext(source, { filename: "main.js" });
  const method = vm.runInThisContext(
    "typeof Solution === 'function' && typeof Solution.prototype?." + name + " === 'function' ? new Solution() : null",
  );
  if (method !== null) return method[name].bind(method);
  return vm.runInThisContext("typeof " + name + " === 'function' ? " + name + " : null") ?? globalThis.module.exports[name];
}

async function main() {
  const request = JSON.parse(fs.readFileSync(0, "utf8"));
  const work = await find(request.name);
  if (typeof work !== "function") throw new ReferenceError("the code defines no function " + request.name);
  const frame = Buffer.from("\\n" + request.word + " " + encode(await work(...request.arguments)) + "\\n");
  for (let at = 0; at < frame.length; ) at += writeSync(1, frame, at);
  exit(0);
}

main().catch((error) => {
  process.stderr.write(String(error?.stack ?? error) + "\\n");
  exit(1);
});
`;

/** The harness's file beside the code, and how to start it. */
export const HARNESSES = {
  python: { file: "call_harness.py", source: PYTHON, program: ["python3", "call_harness.py"] },
  javascript: { file: "call-harness.cjs", source: JAVASCRIPT, program: ["node", "call-harness.cjs"] },
} as const;
