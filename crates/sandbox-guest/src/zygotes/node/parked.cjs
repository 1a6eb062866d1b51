// The script of a Node that starts before its program is known. It is preloaded (`--require`) into an interpreter whose
// own command line names no existing program. It waits for a program on its link, puts it in that place and returns.
// The interpreter's own entry point then runs the program, so that the program, its errors and its end look as they do
// when it is executed. The script knows nothing of the sandbox. When it cannot run a program it says so, and the
// command is executed instead.
"use strict";
const { isMainThread } = require("node:worker_threads");

// Threads inherit the interpreter's options, and with them this file.
if (isMainThread) wait();
else tidy(require("node:worker_threads").getEnvironmentData(__filename));

function wait() {
  const fs = require("node:fs");
  const link = Number(process.argv.at(-1));
  const say = (...fields) => fs.writeSync(link, fields.join("\0"));
  const options = optionsOf();
  const place = options["--eval"] ? undefined : process.argv[1];
  loadWhatProgramsUse();
  say("ready", process.pid);

  const order = Buffer.allocUnsafe(256 << 10);
  const text = order.toString("utf8", 0, fs.readSync(link, order));
  // The link is closed: no program will come.
  if (text === "") process.exit(0);
  const [, , , directory, count, ...strings] = text.split("\0");
  const [, ...command] = strings.slice(0, Number(count));
  try {
    process.chdir(directory);
    setEnvironment(strings.slice(Number(count)));
    if (place === undefined) evaluate(options, command);
    else runFile(place, command);
  } catch (error) {
    say("executing", error.message);
    // Init ends this process from outside.
    fs.readSync(link, order);
    process.exit(0);
  }
  options["--require"] = [];
  say("started", process.pid);
  fs.closeSync(link);
}

/** `node -e code ...arguments` */
function evaluate(options, [, code, ...rest]) {
  options["--eval"] = code;
  process.argv.splice(1, Infinity, ...rest);
  const exec = ["-e", code];
  tidy({ exec, code });
  // Threads of the program read there what they inherit.
  require("node:worker_threads").setEnvironmentData(__filename, { exec, code });
}

/** `node file ...arguments` */
function runFile(place, [file, ...rest]) {
  const Module = require("node:module");
  const path = require("node:path").resolve(file);
  const found = Module._findPath(path, null, true);
  if (!found) throw new Error(`there is no ${path}`);
  // The entry point looks up this path.
  Object.defineProperty(Module._pathCache, `${place}\0`, { value: found, configurable: true });
  process.argv.splice(1, Infinity, path, ...rest);
  tidy({ exec: [] });
}

/** Removes what this file and the command line of the parked interpreter left for programs to see. */
function tidy({ exec = [], code } = {}) {
  process.execArgv.splice(0, Infinity, ...exec);
  show("_preload_modules", []);
  if (code !== undefined) show("_eval", code);
  delete require.cache[__filename];
  const { _pathCache } = require("node:module");
  for (const path of Object.keys(_pathCache)) if (_pathCache[path] === __filename) delete _pathCache[path];
}

function show(name, value) {
  const property = Object.getOwnPropertyDescriptor(process, name);
  if (property) Object.defineProperty(process, name, { ...property, value });
}

function setEnvironment(entries) {
  const now = Object.entries(process.env).map(([name, value]) => `${name}=${value}`);
  if (now.length === entries.length && now.every((entry, at) => entry === entries[at])) return;
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const entry of entries) {
    const end = entry.indexOf("=");
    process.env[entry.slice(0, end)] = entry.slice(end + 1);
  }
}

/**
 * Loads built-in modules that most programs need: for their output, and by name. They are in no cache that programs
 * see, and loading them does nothing else (`assert`, in contrast, opens a standard stream).
 */
function loadWhatProgramsUse() {
  for (const name of ["net", "stream", "tty", "util", "events", "path", "url", "readline", "child_process"])
    require(`node:${name}`);
}

/**
 * The interpreter's record of its options, which it reads when it starts its program. It is two closures behind a
 * public function. The debugger's view of closures leads there, and changes nothing.
 */
function optionsOf() {
  const { Session } = require("node:inspector");
  const session = new Session();
  session.connect();
  const ask = (method, parameters) => {
    let answer;
    session.post(method, parameters, (error, result) => {
      if (error) throw new Error(`${method}: ${error.message}`);
      answer = result;
    });
    return answer;
  };
  const inside = (objectId) => ask("Runtime.getProperties", { objectId, ownProperties: true });
  const closedOver = (objectId, name) => {
    const scopes = inside(objectId).internalProperties.find((one) => one.name === "[[Scopes]]").value.objectId;
    for (const { value } of inside(scopes).result) {
      if (!value?.description?.startsWith("Closure")) continue;
      const found = inside(value.objectId).result.find((one) => one.name === name);
      if (found) return found.value.objectId;
    }
    throw new Error(`this Node has no ${name} there`);
  };
  // The global by which this code and the debugger hand values to each other.
  globalThis.between = require("node:module")._load;
  const load = ask("Runtime.evaluate", { expression: "between" }).result.objectId;
  const options = closedOver(closedOver(load, "getOptionValue"), "optionsDict");
  ask("Runtime.callFunctionOn", { objectId: options, functionDeclaration: "function () { between = this; }" });
  session.disconnect();
  const found = globalThis.between;
  delete globalThis.between;
  return found;
}
