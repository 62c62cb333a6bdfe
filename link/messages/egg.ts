import { filterType } from './policy.ts';
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
  array,
  boolean,
  finite,
  integer,
  kinds,
  matching,
  nullable,
  object,
  oneOf,
  type Schema,
  text,
  union,
  withDefault,
} from './schema.ts';

const line = text(1_024);
/** At most a day: longer waits are mistakes. */
const waitMs = integer(0, 86_400_000);

const image = object<EggImage>({ label: line, reference: line, local: boolean });
export const donePattern = object<DonePattern>({
  kind: oneOf('text', 'regex'),
  pattern: text(16_384),
});

export const stopInstruction = union<StopInstruction>(
  kinds({
    command: { command: text(2_048) },
    signal: { signal: oneOf('SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP', 'SIGABRT', 'SIGKILL') },
  }),
);

export const stopTimes = object<StopTimes>({ termAfterMs: waitMs, killAfterMs: waitMs });

const replacementValue: Schema<string | number | boolean> = (value, at) => {
  if (typeof value === 'boolean') return value;
  return typeof value === 'number' ? finite(value, at) : text(65_536)(value, at);
};

const configFile = object<ConfigFile>({
  path: line,
  parser: oneOf('file', 'properties', 'ini', 'yaml', 'json', 'xml', 'toml'),
  replacements: array(
    object({ match: text(16_384), ifValue: nullable(text(65_536)), value: replacementValue }),
    10_000,
  ),
});

const variable = object<EggVariable>({
  name: line,
  /** Earlier versions of control send none of these three, and nodes make no use of them. */
  description: withDefault(text(65_536), ''),
  env: matching(/^[^\0=]{1,191}$/, 'the name of an environment variable'),
  defaultValue: text(16_384),
  rules: array(text(4_096), 1_000),
  viewable: withDefault(boolean, false),
  editable: withDefault(boolean, false),
});

/** Generous limits: `parseEgg` decides what an egg may contain; these only bound a message. */
export const egg = object<Egg>({
  name: line,
  description: text(65_536),
  images: array(image, 1_000),
  startup: nullable(text(65_536)),
  launch: oneOf('image', 'startup'),
  done: array(donePattern, 1_000),
  stop: stopInstruction,
  stopTimes,
  configFiles: array(configFile, 1_000),
  install: nullable(object({ image, entrypoint: line, script: text(1024 * 1024) })),
  variables: array(variable, 1_000),
  capabilities: array(matching(/^[A-Z][A-Z0-9_]{0,63}$/, 'a capability'), 64),
  protocols: array(oneOf('tcp', 'udp'), 2),
  filters: array(filterType, 64),
  /** Earlier versions of control do not send it. */
  fileDenylist: withDefault(array(text(1_024), 256), []),
});
