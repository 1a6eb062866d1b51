/**
 * Verification toolbox for rewards: no model, no network; programs run in sandboxes that are given. Public as `prl-lm/environments/verify`.
 */
export { extractAnswer, type ExtractAnswerOptions } from "./extract-answer.ts";
export { verifyMath, type MathVerdict, type VerifyMathOptions } from "./math/verify-math.ts";
export { extractCode } from "./extract-code.ts";
export { sequenceRatio } from "./sequence-ratio.ts";
export { stripThinking, type StripThinkingOptions } from "./strip-thinking.ts";
export { stripWhitespace } from "./strip-whitespace.ts";
export { compareLines, compareStdout, type CompareStdoutOptions } from "./compare-stdout.ts";
export {
  gradeProgram,
  type GradeProgramOptions,
  type ProgramGrade,
  programReward,
  type ProgramTest,
  type ProgramTestResult,
  type ProgramVerdict,
} from "./program/grade-program.ts";
export type { ProgramLanguage } from "./program/languages.ts";
export { judgeChoice } from "./judge-choice.ts";
export { lastAssistantText, thinkFormatReward } from "./messages.ts";
export { pytestOutcomes, type PytestOutcome } from "./pytest-outcomes.ts";
export { editDistance, rougeL, type RougeL } from "./text-distance.ts";
export { xmlParser, type XmlField, type XmlParser, type XmlParserOptions } from "./xml-parser.ts";
export { checkInstruction, INSTRUCTION_IDS, type InstructionVerdict } from "./instructions/check-instruction.ts";
export type { InstructionArguments } from "./instructions/arguments.ts";
export {
  balanceEquation,
  checkBalance,
  convertUnit,
  parseFormula,
  parseQuantity,
  roundToFigures,
  significantFigures,
  verifyEquation,
  verifyFormula,
  verifyQuantity,
} from "./science/index.ts";
export type {
  BalancedEquation,
  BalanceVerdict,
  EquationVerdict,
  Formula,
  Quantity,
  QuantityVerdict,
  SignificantFigures,
  VerifyQuantityOptions,
} from "./science/index.ts";
export type { MeasuredNumber } from "./science/measured-number.ts";
export type { Unit } from "./science/unit.ts";
export type { Dimension } from "./science/dimension.ts";
export { exactMatch, numericMatch, type ExactMatchOptions, type NumericMatchOptions } from "./match/exact.ts";
export { matchJsonSchema, matchPattern } from "./match/in-thread.ts";
export type { MatchPatternOptions, PatternVerdict, SchemaVerdict } from "./match/in-thread.ts";
export type { JsonProblem } from "./match/json-schema.ts";
export { bleu, type BleuOptions } from "./match/bleu.ts";
export { embeddingScorer, type EmbeddingScorer, type EmbeddingScorerOptions } from "./scorers/embedding-scorer.ts";
export {
  rewardModelScorer,
  type RewardModelScorer,
  type RewardModelScorerOptions,
} from "./scorers/reward-model-scorer.ts";
export type { OnnxModelOptions } from "./scorers/onnx-model.ts";
