/** What a run shows of itself: the lifeline of its processes, metrics and events, progress, plots, tables. */
export { atomicWriteFile, atomicWriteJson } from "./atomic-write.ts";
export { HEARTBEAT_INTERVAL_MS, joinRun, LIFELINE_FD, readyFilePath } from "./lifeline.ts";
export type { JoinRunOptions, ReadyFile, ReadyInfo, RunMember } from "./lifeline.ts";
export { EVENTS_FILE, METRICS_FILE, openMetrics } from "./metrics.ts";
export type { Metrics, MetricsLine, MetricValues } from "./metrics.ts";
export { LiveProgress, liveBlock } from "./live-progress.ts";
export type { LiveState, LiveTerminal } from "./live-progress.ts";
export { MetricsTail } from "./metrics-tail.ts";
export { formatBytes, formatCount, formatNumber, formatSeconds } from "./number-format.ts";
export { evaluationLine, PlainProgress, plainLine, sftLine, stepLine } from "./plain-progress.ts";
export type { ProgressView } from "./plain-progress.ts";
export { rewardPlot } from "./plot.ts";
export type { PlotPoint, RewardPlot } from "./plot.ts";
export type { RunEvent, RunPhase, SftStep } from "./run-event.ts";
export { RunHistory } from "./run-history.ts";
export type { EvaluationReport, RlStep } from "./run-history.ts";
export { bar, sparkline } from "./sparkline.ts";
export { renderTable } from "./table.ts";
