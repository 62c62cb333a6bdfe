import type {
  ConfigFile,
  DonePattern,
  Egg,
  EggImage,
  EggVariable,
  StopInstruction,
  StopTimes,
} from '@portcullis/core/game-servers/egg.ts';
import {
  amount,
  byKind,
  flag,
  integer,
  list,
  matching,
  nullable,
  object,
  oneOf,
  type Shape,
  text,
} from './shape.ts';

/** SHA-256 of an egg's canonical JSON, in hexadecimal. */
export const digest = matching(/^[0-9a-f]{64}$/, 'a digest');

const line = text(1_024);
/** A day: longer waits are mistakes. */
const waitMs = integer(0, 86_400_000);

const image = object<EggImage>({ label: line, reference: line, local: flag });
export const donePattern = object<DonePattern>({
  kind: oneOf('text', 'regex'),
  pattern: text(16_384),
});

export const stopInstruction = byKind<StopInstruction>({
  command: object({ kind: oneOf('command'), command: text(2_048) }),
  signal: object({
    kind: oneOf('signal'),
    signal: oneOf('SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP', 'SIGABRT', 'SIGKILL'),
  }),
});

export const stopTimes = object<StopTimes>({ termAfterMs: waitMs, killAfterMs: waitMs });

const replacementValue: Shape<string | number | boolean> = (value, at) => {
  if (typeof value === 'boolean') return value;
  return typeof value === 'number' ? amount(value, at) : text(65_536)(value, at);
};

const configFile = object<ConfigFile>({
  path: line,
  parser: oneOf('file', 'properties', 'ini', 'yaml', 'json', 'xml'),
  replacements: list(
    object({ match: text(16_384), ifValue: nullable(text(65_536)), value: replacementValue }),
    10_000,
  ),
});

const variable = object<EggVariable>({
  name: line,
  env: matching(/^[^\0=]{1,191}$/, 'a name of the environment'),
  defaultValue: text(16_384),
  rules: list(text(4_096), 1_000),
});

/** Generous: what an egg may say is decided where one is taken in (`parseEgg`), here only what can be carried. */
export const egg = object<Egg>({
  name: line,
  description: text(65_536),
  images: list(image, 1_000),
  startup: nullable(text(65_536)),
  launch: oneOf('image', 'startup'),
  done: list(donePattern, 1_000),
  stop: stopInstruction,
  stopTimes,
  configFiles: list(configFile, 1_000),
  install: nullable(object({ image, entrypoint: line, script: text(1024 * 1024) })),
  variables: list(variable, 1_000),
  capabilities: list(matching(/^[A-Z][A-Z0-9_]{0,63}$/, 'a capability'), 64),
  protocols: list(oneOf('tcp', 'udp'), 2),
});
