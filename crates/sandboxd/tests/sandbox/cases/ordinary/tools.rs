//! Other languages and tools, where the machine has them.

use super::works;
use crate::cases::Program::Sh;
use crate::cases::{Case, exit_code, limits};

pub(crate) const CASES: &[Case] = &[
    works("C", Sh("echo '#include <stdio.h>\nint main(void) { int a, b; scanf(\"%d %d\", &a, &b); printf(\"%d\\n\", a + b); }' > a.c; gcc -O1 a.c -o a && echo 3 4 | ./a"), "7\n").needs("/usr/bin/gcc"),
    works("C with threads", Sh("echo '#include <pthread.h>\n#include <stdio.h>\nvoid *f(void *p) { *(int *)p = 5; return 0; }\nint main(void) { int x = 0; pthread_t t; pthread_create(&t, 0, f, &x); pthread_join(t, 0); printf(\"%d\\n\", x); }' > a.c; gcc a.c -o a -pthread && ./a"), "5\n").needs("/usr/bin/gcc"),
    works("C that fails to compile", Sh("echo 'int main(' > a.c; gcc a.c"), "").checked(|r| exit_code(r, 1)).needs("/usr/bin/gcc"),
    works("C with a library that it builds", Sh("echo 'int f(void) { return 9; }' > f.c; gcc -shared -fPIC f.c -o libf.so && python3 -c 'import ctypes; print(ctypes.CDLL(\"./libf.so\").f())'"), "9\n").needs("/usr/bin/gcc"),
    works("C++", Sh("echo '#include <iostream>\n#include <vector>\nint main() { std::vector<int> v{1, 2, 3}; std::cout << v.size() << std::endl; }' > a.cc; g++ a.cc -o a && ./a"), "3\n").needs("/usr/bin/g++").with(|r| limits(r, |l| { l.memory_bytes = Some(512 << 20); l.cpu_ms = Some(9000); l.wall_ms = Some(15_000); })),
    works("make", Sh("printf 'all: b\\n\\t@cat b\\nb: a\\n\\t@sed s/x/y/ a > b\\n' > Makefile; echo x > a; make -s"), "y\n").needs("/usr/bin/make"),
    works("node", Sh("node -e 'console.log([1, 2, 3].map((x) => x * 2).join())'"), "2,4,6\n").needs("/usr/bin/node").with(large),
    works("node with promises and timers", Sh("node -e 'setTimeout(() => console.log(\"timer\"), 5); Promise.resolve(1).then(console.log)'"), "1\ntimer\n").needs("/usr/bin/node").with(large),
    works("node with workers and children", Sh("node -e 'const { execSync } = require(\"child_process\"); const { Worker } = require(\"worker_threads\"); new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(5)\", { eval: true }).on(\"message\", (m) => console.log(m, execSync(\"echo sub\") + \"\"))'"), "5 sub\n").needs("/usr/bin/node").with(large),
    works("node with a server", Sh("node -e 'const s = require(\"http\").createServer((q, r) => r.end(\"served\")).listen(0, () => fetch(`http://127.0.0.1:${s.address().port}`).then((r) => r.text()).then((t) => { console.log(t); s.close(); }))'"), "served\n").needs("/usr/bin/node").with(large),
    works("perl", Sh("perl -e 'print join(\",\", sort { $b <=> $a } 1..3), \"\\n\"'"), "3,2,1\n").needs("/usr/bin/perl"),
    works("bc and jq", Sh("echo '2^64' | bc; echo '{\"a\":[1,2]}' | jq -c .a"), "18446744073709551616\n[1,2]\n").needs("/usr/bin/jq"),
    works("arrays, functions and traps of the shell", Sh("f() { local -a a=(x y z); echo ${#a[@]} ${a[@]:1}; }; trap 'echo left' EXIT; f"), "3 y z\nleft"),
    works("jobs of the shell", Sh("set -m; sleep 0.1 & wait $!; echo $?; (sleep 5 & kill $!; wait $!; echo $?) 2>/dev/null"), "0\n143"),
    works("streams of the shell", Sh("exec 5> f; echo to five >&5; exec 5>&-; cat f; echo err 2>&1 >&2 | cat; read -r a b <<< 'x y z'; echo $b"), "to five\n"),
    works("text tools", Sh("printf 'b 2\\na 1\\n' | sort | cut -d' ' -f2 | paste -sd+ | xargs expr 0 +; seq 3 | tac | head -1; echo abc | rev; printf 'a\\nb\\na\\n' | sort | uniq -c | wc -l"), "3\ncba\n2\n"),
    works("checksums and encodings", Sh("echo x | sha256sum | cut -c1-8; echo x | base64; echo x | od -An -tx1 | tr -d ' '; printf '\\xe9' | iconv -f latin1 -t utf-8"), "73cb3858\neAo=\n780a\né"),
    works("dates", Sh("date -d @0 +%Y-%m-%d; TZ=Asia/Tokyo date -d @0 +%H"), "1970-01-01\n09\n").needs("/usr/share/zoneinfo/Asia/Tokyo"),
    works("finding files", Sh("mkdir -p a/b; touch a/b/{x,y}.txt; find . -name '*.txt' | sort | xargs -n1 basename | tr '\\n' ' '; ls -la a/b | wc -l; du -s a | cut -f2; stat -c %U a"), "x.txt y.txt 5\na\n"),
    works("user and groups", Sh("id -u | grep -c '^[0-9]*$'; whoami >/dev/null 2>&1; echo ~ $USER $HOME"), "1\n/work sandbox /work"),
    works("comparison and patches", Sh("seq 3 > a; seq 2 4 > b; diff -u a b > p; patch -s a < p && cmp a b && echo patched"), "patched").needs("/usr/bin/patch"),
    works("watching a command", Sh("timeout 0.2 sleep 5; echo $?; time -p true 2>&1 | grep -c real; nice -n 5 echo nice; nohup echo nohup 2>/dev/null; env -i /bin/echo env"), "124\n"),
];

/// V8 reserves much memory and starts threads.
fn large(request: &mut prl_sandbox_proto::RunOnceRequest) {
    limits(request, |l| l.memory_bytes = Some(512 << 20));
}
