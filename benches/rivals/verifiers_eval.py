"""verifiers (>= 0.2): one single-turn evaluation against an endpoint that answers at once, in its best case: the agent is a request from this
very process instead of a program. Prints rollouts per second of wall and of CPU, and how late timers of 5 ms were.

verifiers_eval.py <base url> <in flight>
"""

import asyncio, json, os, sys, tempfile, time

URL, IN_FLIGHT = sys.argv[1], int(sys.argv[2])
ROLLOUTS = 512
os.environ.update(OPENAI_API_KEY="none", HF_HUB_OFFLINE="1", VF_LOG_LEVEL="ERROR", OMP_NUM_THREADS="1")

PLUGIN = '''
from difflib import SequenceMatcher
import httpx
import verifiers.v1 as vf
from verifiers.v1.runtimes import ProgramResult

class Row(vf.TaskData):
    answer: str = ""

class Reverse(vf.Task[Row]):
    @vf.reward
    async def similarity(self, trace) -> float:
        return SequenceMatcher(None, trace.last_reply or "", self.data.answer).ratio()

class Rows(vf.Taskset[Reverse, vf.TasksetConfig]):
    def load(self):
        for number in range(%d):
            yield Reverse(Row(prompt=f"reverse {number}: a string", answer="gnirts a"), self.config.task)

class RequestConfig(vf.HarnessConfig):
    pass

clients = {}

class Request(vf.Harness[RequestConfig]):
    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, tool_interception_url=None):
        import asyncio
        loop = asyncio.get_running_loop()
        if loop not in clients:
            none = httpx.Limits(max_connections=None, max_keepalive_connections=None)
            clients[loop] = httpx.AsyncClient(limits=none, timeout=600)
        _, prompt = self.resolve_prompt(data)
        body = {"model": ctx.model, "messages": [{"role": "user", "content": prompt}]}
        headers = {"authorization": f"Bearer {secret}"}
        answer = await clients[loop].post(endpoint.rstrip("/") + "/chat/completions", json=body, headers=headers)
        answer.raise_for_status()
        return ProgramResult(0, "", "")

__all__ = ["Rows", "Request"]
'''


async def evaluate(rollouts):
    from verifiers.v1.cli.eval.runner import run_eval
    from verifiers.v1.configs.cli.eval import EvalConfig

    config = {
        "env": {"taskset": {"id": "prl_bench_rows"}, "agent": {"runtime": {"type": "subprocess"}, "harness": {"id": "prl_bench_rows"}}},
        "model": "mock",
        "client": {"type": "eval", "base_url": URL, "api_key_var": "OPENAI_API_KEY"},
        "max_concurrent": IN_FLIGHT,
        "select": {"limit": rollouts},
        "push": False,
        "rich": None,
        "output_dir": tempfile.mkdtemp(),
    }
    episodes = await run_eval(EvalConfig.model_validate(config))
    traces = [trace for episode in episodes for trace in episode.traces]
    failed = [trace for trace in traces if trace.errors]
    assert len(traces) == rollouts and not failed, failed[:1]


async def late_timers(late):
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.005)
        late.append((time.perf_counter() - before - 0.005) * 1000)


async def main():
    await evaluate(32)
    late = []
    timers = asyncio.create_task(late_timers(late))
    wall, cpu = time.perf_counter(), time.process_time()
    await evaluate(ROLLOUTS)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    timers.cancel()
    late.sort()
    return {
        "perSecond": ROLLOUTS / wall,
        "perCpuSecond": ROLLOUTS / cpu,
        "lagP50Ms": late[len(late) // 2],
        "lagP99Ms": late[int(len(late) * 0.99)],
        "lagMaxMs": late[-1],
    }


folder = tempfile.mkdtemp()
with open(os.path.join(folder, "prl_bench_rows.py"), "w") as file:
    file.write(PLUGIN % ROLLOUTS)
sys.path.insert(0, folder)
print(json.dumps(asyncio.run(main())))
