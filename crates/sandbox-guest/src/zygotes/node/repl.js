// The interpreter behind `Evaluate` for Node: Node's own REPL without its terminal. Each message on descriptor 3 is the
// name of an evaluation and its code. The answer has the same name, this process's pid, how the evaluation ended, its
// value and its error.
"use strict";
const { read, writeSync, closeSync } = require("fs");
const { Readable, Writable } = require("stream");
const { inspect } = require("util");

const CONTROL = 3;
const MOST = 1 << 16;
const own = process.pid;
const input = new Readable({ read() {} });
const output = new Writable({ write: (_text, _encoding, done) => done() });
const server = require("repl").start({ prompt: "", input, output, terminal: false, useGlobal: true });
const buffer = Buffer.alloc(1 << 18);
let count = 0;
// Ends the current evaluation.
let settle = null;

// Receives what code throws, at once or in a callback.
function caught(thrown) {
  if (settle === null) process.stderr.write(`Uncaught ${withoutOurFrames(thrown, "<repl-")}\n`);
  else settle(thrown);
}
server._domain?.removeAllListeners("error").on("error", caught);
process.on("uncaughtException", caught);

function say(evaluation, how, value, error) {
  const cut = (text) => Buffer.from(text.replaceAll("\0", "")).subarray(0, MOST);
  const separator = Buffer.alloc(1);
  const start = Buffer.from(`${evaluation}\0${own}\0${how}\0`);
  writeSync(CONTROL, Buffer.concat([start, cut(value), separator, cut(error)]));
}

// The error without the frames that are not the program's.
function withoutOurFrames(error, name) {
  const stack = inspect(error).split("\n");
  const last = stack.findLastIndex((line) => line.includes(name));
  return stack.filter((line, index) => index <= last || !/^ +at /.test(line)).join("\n");
}

// `outcome`: the thrown value, or `undefined` and the result.
function ended([thrown, value], name, evaluation) {
  if (thrown === undefined) {
    if (value !== undefined) server.last = value;
    return say(evaluation, "ended", value === undefined ? "" : inspect(value), "");
  }
  // An incomplete statement is an error here, because no more code follows.
  const error = thrown.name === "Recoverable" || "err" in Object(thrown) ? (thrown.err ?? thrown) : thrown;
  process.stderr.write(`Uncaught ${withoutOurFrames(error, name)}\n`);
  const line = error instanceof Error ? `${error.name}: ${error.message}` : `Uncaught ${inspect(error)}`;
  return say(evaluation, "raised", "", line);
}

function next() {
  read(CONTROL, buffer, 0, buffer.length, null, (failure, length) => {
    if (failure !== null || length === 0) {
      closeSync(CONTROL);
      return process.exit(0);
    }
    const name = `<repl-${++count}>`;
    const end = buffer.indexOf(0);
    const evaluation = buffer.toString("utf8", 0, end);
    const code = buffer.toString("utf8", end + 1, length);
    settle = (...outcome) => {
      settle = null;
      ended(outcome, name, evaluation);
      next();
    };
    const current = settle;
    return server.eval(`${code}\n`, server.context, name, (thrown, value) => {
      if (settle === current) settle(...(thrown === null ? [undefined, value] : [thrown]));
    });
  });
}
next();
