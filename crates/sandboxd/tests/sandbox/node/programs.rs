//! Programs whose outward behaviour must be the same on an executed and on a parked Node.

/// Name and code that runs by `node -e` and as a CommonJS file alike.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    ("print", "console.log(1)"),
    ("print nothing", ""),
    (
        "print to both",
        "console.log('out'); console.error('err'); process.stdout.write('no newline')",
    ),
    ("print much", "for (let i = 0; i < 500; i++) console.log('line', i)"),
    (
        "arguments",
        "console.log(process.argv, process.argv0, process.execArgv, process.execPath, process.title)",
    ),
    (
        "environment",
        "console.log(Object.entries(process.env)); process.env.X = 'y'; console.log(process.env.X)",
    ),
    (
        "how it was started",
        "console.log(process._eval === undefined, process._preload_modules, Object.keys(process.config), process.exitCode, \
         process.features.inspector, Object.keys(require.cache).length, process.report.getReport === undefined)",
    ),
    (
        "globals",
        "console.log(Object.getOwnPropertyNames(globalThis).sort().join(), Object.keys(process).sort().join())",
    ),
    (
        "module",
        "console.log(require.main === module, module.id, __filename, __dirname, module.paths, module.parent, module.children)",
    ),
    (
        "module caches",
        "const M = require('module'); console.log(Object.keys(M._pathCache).length < 3, M.builtinModules.length, M.globalPaths)",
    ),
    (
        "resolve",
        "try { require('./not-there') } catch (e) { console.log(e.code, e.requireStack) }",
    ),
    (
        "resolve a built-in",
        "console.log(require.resolve('fs'), require('node:os').EOL === '\\n')",
    ),
    (
        "an internal module",
        "try { require('internal/options') } catch (e) { console.log(e.message) }",
    ),
    ("an uncaught error", "function f() { throw new TypeError('here') }\nf()"),
    (
        "an uncaught error with a cause",
        "throw new Error('outer', { cause: new Error('inner') })",
    ),
    ("an uncaught value", "throw { not: 'an error' }"),
    ("an uncaught null", "throw null"),
    (
        "an error with no stack",
        "const e = new Error('x'); e.stack = undefined; throw e",
    ),
    (
        "an error in a callback",
        "setTimeout(() => { throw new Error('later') }, 1)",
    ),
    (
        "an error in a microtask",
        "queueMicrotask(() => { throw new RangeError('micro') })",
    ),
    ("a rejection", "Promise.reject(new Error('without a handler'))"),
    ("a rejection of a value", "Promise.reject(7)"),
    (
        "a rejection that is handled late",
        "const p = Promise.reject(1); setTimeout(() => p.catch(() => console.log('late')), 5)",
    ),
    (
        "a handled error",
        "process.on('uncaughtException', (e, o) => console.log(e.message, o)); setTimeout(() => console.log('on'), 5); throw new Error('x')",
    ),
    (
        "a handled rejection",
        "process.on('unhandledRejection', (e) => console.log('seen', e)); Promise.reject(3)",
    ),
    ("a syntax error", "const x = ;"),
    ("a syntax error in new code", "new Function('return (')"),
    ("a reference error", "console.log(nothingOfTheKind)"),
    (
        "a deep recursion",
        "function f() { f() } try { f() } catch (e) { console.log(e instanceof RangeError) }",
    ),
    ("a warning", "process.emitWarning('careful', { code: 'W1' })"),
    ("a deprecation", "new Buffer(1)"),
    ("stack", "console.log(new Error('s').stack)"),
    (
        "stack of callbacks",
        "setImmediate(() => console.log(new Error('s').stack))",
    ),
    ("exit with a code", "console.log('x'); process.exit(7)"),
    ("exit code set", "process.exitCode = 3"),
    (
        "exit in exit",
        "process.on('exit', (c) => { console.log('bye', c); process.exitCode = 4 })",
    ),
    (
        "before exit",
        "let n = 0; process.on('beforeExit', () => { if (n++ < 2) setTimeout(() => console.log(n), 1) })",
    ),
    ("abort", "process.abort()"),
    (
        "a signal to itself",
        "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 2000)",
    ),
    (
        "a signal that is handled",
        "process.on('SIGUSR2', () => { console.log('got it'); process.exit(0) }); process.kill(process.pid, 'SIGUSR2'); setTimeout(() => {}, 2000)",
    ),
    (
        "input read at once",
        "console.log(require('fs').readFileSync(0, 'utf8').split('\\n').map(Number))",
    ),
    (
        "input by events",
        "let s = ''; process.stdin.on('data', (d) => s += d).on('end', () => console.log(s.length, s))",
    ),
    (
        "input by lines",
        "require('readline').createInterface({ input: process.stdin }).on('line', (l) => console.log('>', l)).on('close', () => console.log('end'))",
    ),
    (
        "input by iteration",
        "(async () => { for await (const c of process.stdin) console.log(String(c)) })()",
    ),
    ("input that is not read", "console.log('never mind')"),
    (
        "input by a child",
        "require('child_process').spawnSync('cat', { stdio: 'inherit' })",
    ),
    (
        "streams",
        "console.log([0, 1, 2].map((n) => [process.stdin, process.stdout, process.stderr][n].isTTY), process.stdout.writable, process.stdout.constructor.name)",
    ),
    (
        "descriptors",
        "const fs = require('fs'); const at = fs.readdirSync('/proc/self/fd').map(Number).sort((a, b) => a - b);\n\
         console.log(at.map((n) => { try { return n + ' ' + fs.readlinkSync('/proc/self/fd/' + n).replace(/\\d+/g, '') } catch { return n + ' gone' } }));\n\
         console.log(fs.openSync('/dev/null'), fs.openSync('/dev/null'))",
    ),
    (
        "limits of the process",
        "console.log(require('fs').readFileSync('/proc/self/limits', 'utf8'))",
    ),
    (
        "rights of the process",
        "console.log(require('fs').readFileSync('/proc/self/status', 'utf8').split('\\n').filter((l) => /^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Sig(Blk|Ign|Cgt)|Umask|Threads|NStgid|NSsid)/.test(l)).map((l) => l.replace(/1879\\d+/g, 'uid')))",
    ),
    (
        "files",
        "const fs = require('fs'); fs.writeFileSync('a/../b.txt'.slice(5), 'text'); fs.mkdirSync('d/e', { recursive: true }); console.log(fs.readdirSync('.').filter((n) => !n.startsWith('main')), fs.readFileSync('b.txt', 'utf8'), process.cwd())",
    ),
    (
        "files by promises",
        "require('fs/promises').writeFile('/tmp/x', 'y').then(() => require('fs/promises').readFile('/tmp/x', 'utf8')).then(console.log)",
    ),
    (
        "our own file",
        "try { require('fs').appendFileSync('/.parked.cjs', 'x') } catch (e) { console.log(e.code) }",
    ),
    (
        "where it may not write",
        "for (const p of ['/usr/x', '/x', '/etc/passwd']) try { require('fs').writeFileSync(p, '') } catch (e) { console.log(p, e.code) }",
    ),
    (
        "timers",
        "setTimeout(() => console.log('b'), 60); setTimeout(() => console.log('a'), 1); process.nextTick(() => console.log('t')); Promise.resolve().then(() => console.log('p'))",
    ),
    (
        "a timer keeps its time",
        "const t = Date.now(); setTimeout(() => console.log(Date.now() - t >= 595), 600); setTimeout(() => console.log('sooner'), 50)",
    ),
    (
        "an interval",
        "let n = 0; const i = setInterval(() => { console.log(n); if (++n === 3) clearInterval(i) }, 2)",
    ),
    (
        "what is active",
        "console.log(process.getActiveResourcesInfo(), process._getActiveHandles().length)",
    ),
    (
        "no listeners",
        "console.log(process.eventNames(), process.listenerCount('exit'))",
    ),
    (
        "async context",
        "const { AsyncLocalStorage } = require('async_hooks'); const s = new AsyncLocalStorage(); s.run(5, () => setTimeout(() => console.log(s.getStore()), 1))",
    ),
    (
        "async ids",
        "console.log(require('async_hooks').executionAsyncId(), require('async_hooks').triggerAsyncId())",
    ),
    (
        "a worker",
        "const { Worker } = require('worker_threads'); new Worker('const w = require(\"worker_threads\"); w.parentPort.postMessage([w.workerData, process.argv, process.execArgv, process._preload_modules, process._eval === undefined, Object.keys(require.cache)])', { eval: true, workerData: 3 }).on('message', (m) => console.log(m)).on('exit', (c) => console.log('exit', c))",
    ),
    (
        "a worker with options",
        "const { Worker } = require('worker_threads'); new Worker('console.log(process.execArgv, process._preload_modules)', { eval: true, execArgv: ['--no-warnings'], argv: ['q'] })",
    ),
    (
        "a worker that fails",
        "const { Worker } = require('worker_threads'); new Worker('throw new Error(\"inside\")', { eval: true }).on('error', (e) => console.log(e.message))",
    ),
    (
        "environment data",
        "const w = require('worker_threads'); w.setEnvironmentData('k', 1); new w.Worker('console.log(require(\"worker_threads\").getEnvironmentData(\"k\"))', { eval: true })",
    ),
    (
        "a child",
        "console.log(require('child_process').execSync('echo $A_NUMBER; pwd; ulimit -n').toString())",
    ),
    (
        "a child that is this Node",
        "const c = require('child_process'); console.log(c.execFileSync(process.execPath, ['-p', '[process.argv.length, process.execArgv, process.env.A_NUMBER]']).toString())",
    ),
    (
        "a fork",
        "const c = require('child_process'); require('fs').writeFileSync('/tmp/child.js', 'process.send([process.argv.slice(2), process.execArgv, process._preload_modules]); process.disconnect()'); c.fork('/tmp/child.js', ['z']).on('message', (m) => console.log(m)).on('exit', (code) => console.log('exit', code))",
    ),
    (
        "a cluster",
        "const c = require('cluster'); require('fs').writeFileSync('/tmp/w.js', 'process.send(process.argv.slice(2)); process.disconnect()'); c.setupPrimary({ exec: '/tmp/w.js', args: ['q'] }); c.fork().on('message', (m) => console.log(m)).on('exit', (code) => console.log(code))",
    ),
    (
        "a child's output",
        "const { spawn } = require('child_process'); const p = spawn('sh', ['-c', 'cat; echo e >&2']); p.stdout.on('data', (d) => console.log('o', String(d))); p.stderr.on('data', (d) => console.log('e', String(d))); p.stdin.end('in')",
    ),
    (
        "a server",
        "const s = require('http').createServer((q, r) => r.end('served')).listen(0, '127.0.0.1', () => fetch(`http://127.0.0.1:${s.address().port}`).then((r) => r.text()).then((t) => { console.log(t); s.close() }))",
    ),
    (
        "a socket",
        "const s = require('net').createServer((c) => c.end('hi')).listen('/tmp/s.sock', () => require('net').connect('/tmp/s.sock').on('data', (d) => console.log(String(d))).on('close', () => s.close()))",
    ),
    (
        "a name that is not there",
        "require('dns').lookup('no.such.host.invalid', (e) => console.log(e.code))",
    ),
    (
        "import",
        "import('node:path').then((m) => console.log(m.default.sep, typeof m.join))",
    ),
    (
        "import of code",
        "import('data:text/javascript,export default 5').then((m) => console.log(m.default))",
    ),
    (
        "import of a missing file",
        "import('./nothing.mjs').catch((e) => console.log(e.code, e.message))",
    ),
    (
        "import of a written file",
        "require('fs').writeFileSync('m.mjs', 'export const x = await Promise.resolve(8)'); import('./m.mjs').then((m) => console.log(m.x))",
    ),
    (
        "require of a written file",
        "require('fs').writeFileSync('c.js', 'exports.y = [module.parent?.filename, __filename, require.main?.filename]'); console.log(require('./c.js').y)",
    ),
    (
        "require of JSON",
        "require('fs').writeFileSync('j.json', '{\"a\":1}'); console.log(require('./j.json').a)",
    ),
    (
        "a package",
        "const fs = require('fs'); fs.mkdirSync('node_modules/pkg', { recursive: true }); fs.writeFileSync('node_modules/pkg/package.json', '{\"main\":\"m.js\",\"type\":\"commonjs\"}'); fs.writeFileSync('node_modules/pkg/m.js', 'module.exports = 9'); console.log(require('pkg'))",
    ),
    (
        "crypto",
        "const c = require('crypto'); console.log(c.createHash('sha256').update('x').digest('hex'), c.randomBytes(4).length, typeof crypto.subtle)",
    ),
    (
        "compression",
        "const z = require('zlib'); console.log(z.gunzipSync(z.gzipSync('abc')).toString())",
    ),
    (
        "code in a context",
        "const vm = require('vm'); console.log(vm.runInNewContext('a + 1', { a: 1 }), vm.runInThisContext('typeof require'))",
    ),
    (
        "a heap statistic",
        "console.log(require('v8').getHeapStatistics().heap_size_limit > 0, process.memoryUsage().rss > 0)",
    ),
    (
        "numbers and dates",
        "console.log(0.1 + 0.2, (1234.5).toLocaleString(), new Date(0).toISOString(), new Date(0).toString(), Intl.DateTimeFormat().resolvedOptions())",
    ),
    (
        "unicode",
        "console.log('\u{e4}\u{1f600}', [...'\u{1f600}'].length, 'a'.localeCompare('b'), '\u{df}'.toUpperCase())",
    ),
    (
        "inspection",
        "console.log({ a: [1, { b: { c: { d: 1 } } }], m: new Map([[1, 2]]), f() {}, [Symbol('s')]: 1 }, util_of(process))\nfunction util_of(p) { return require('util').inspect(p.versions).length > 10 }",
    ),
    (
        "a table",
        "console.table([{ a: 1 }, { a: 2 }]); console.group('g'); console.log('in'); console.groupEnd(); console.count()",
    ),
    (
        "events",
        "const E = require('events'); const e = new E(); e.once('x', console.log); e.emit('x', 1); e.emit('error', new Error('unheard'))",
    ),
    (
        "a stream",
        "const { Readable, pipeline, Transform } = require('stream'); pipeline(Readable.from(['a', 'b']), new Transform({ transform(c, _, n) { n(null, String(c).toUpperCase()) } }), process.stdout, () => {})",
    ),
    (
        "web streams",
        "new Response('body').text().then(console.log); console.log(new URL('/a?b', 'http://h').href, structuredClone({ a: 1 }), atob('YQ=='))",
    ),
    (
        "an abort",
        "const c = new AbortController(); c.signal.addEventListener('abort', () => console.log(c.signal.reason.name)); c.abort()",
    ),
    ("an assertion", "require('assert').deepStrictEqual({ a: 1 }, { a: 2 })"),
    (
        "a test",
        "const t = require('node:test'); t('fine', () => {}); console.log(typeof t)",
    ),
    (
        "a finalizer",
        "new FinalizationRegistry(() => {}).register({}, 1); console.log(new WeakRef({}).deref() !== undefined)",
    ),
    (
        "a long loop",
        "let x = 0; for (let i = 0; i < 3e7; i++) x = (x * 31 + i) | 0; console.log(x)",
    ),
    (
        "a large array",
        "console.log(new Array(1e6).fill(0).map((_, i) => i).reduce((a, b) => a + b))",
    ),
    (
        "wasm",
        "WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then((m) => console.log(Object.keys(m)))",
    ),
    (
        "shared memory",
        "const a = new Int32Array(new SharedArrayBuffer(4)); console.log(Atomics.add(a, 0, 5), Atomics.wait(a, 0, 5, 10))",
    ),
    (
        "regular expressions",
        "console.log(RegExp.$1, 'abc'.replace(/(b)/, '[$1]'), RegExp.$1)",
    ),
    (
        "strict by choice",
        "'use strict'; try { undeclared = 1 } catch (e) { console.log(e.message) }",
    ),
    (
        "return of this",
        "console.log(this === globalThis, this === module.exports, typeof exports, arguments === undefined)",
    ),
];

/// Name and code of an ECMAScript module.
pub(crate) const MODULES: &[(&str, &str)] = &[
    (
        "print",
        "console.log(1, import.meta.url, import.meta.filename, typeof require, this, process.argv)",
    ),
    ("await", "const x = await Promise.resolve(5); console.log(x)"),
    ("an await that never ends", "await new Promise(() => {})"),
    (
        "an await and a timer",
        "await new Promise((r) => setTimeout(r, 10)); console.log('after')",
    ),
    (
        "import",
        "import fs, { readFileSync } from 'node:fs'; import { join } from 'path'; console.log(fs.readFileSync === readFileSync, join('a', 'b'))",
    ),
    (
        "import of a neighbour",
        "import { two, where } from './lib/two.mjs'; console.log(two, where)",
    ),
    (
        "import of CommonJS",
        "import c from './lib/three.cjs'; console.log(c.three, c.main)",
    ),
    ("import of what is not there", "import { x } from './nothing.mjs'"),
    ("import of no such name", "import { nope } from './lib/two.mjs'"),
    ("an error", "console.log('before'); throw new Error('thrown')"),
    ("a rejection", "Promise.reject(new Error('unhandled'))"),
    ("a syntax error", "let x = ;"),
    ("exit", "process.exitCode = 6"),
    (
        "a worker",
        "import { Worker, isMainThread } from 'node:worker_threads'; if (isMainThread) new Worker(new URL(import.meta.url)).on('exit', (c) => console.log('exit', c)); else console.log('inside', process.execArgv)",
    ),
    (
        "require made",
        "import { createRequire } from 'module'; console.log(createRequire(import.meta.url)('./lib/three.cjs').three)",
    ),
    ("input", "for await (const c of process.stdin) console.log(String(c))"),
    (
        "resolve",
        "console.log(import.meta.resolve('./x.js'), import.meta.dirname)",
    ),
];
