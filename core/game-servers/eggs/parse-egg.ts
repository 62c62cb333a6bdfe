import { failed, type Parsed, parsed } from '../../net/parsed.ts';
import type { DonePattern, Egg, EggImage, EggVariable, InstallScript } from '../egg.ts';
import { parseConfigFiles } from './parse-config-files.ts';
import { parseExtension } from './parse-extension.ts';
import { EggMistake, type Fields, isBlank, isFields, Reader, shown } from './reader.ts';
import { reviewEgg } from '../egg-library/review.ts';
import { parseRules, type PatternCompiler } from './rules.ts';
import { parseStop } from './stop.ts';
import { isReserved, isVariableName } from './variables.ts';

export interface ImportedEgg {
  readonly egg: Egg;
  /** Sentences about content that is changed, omitted, or without the effect that the author intended. */
  readonly notes: readonly string[];
}

/** The community's formats: https://github.com/pterodactyl/panel and https://github.com/pelican-dev/panel. */
const VERSIONS = ['PTDL_v1', 'PTDL_v2', 'PLCN_v1', 'PLCN_v2', 'PLCN_v3'] as const;

/** PLCN_v3 carries its icon as a data URI. */
const MAX_FILE = 4 * 1024 * 1024;
/** The maximum size of the parsed egg as JSON, which is sent to nodes. */
const MAX_EGG = 1024 * 1024;
const MAX_TEXT = 16_384;
const MAX_SCRIPT = 262_144;
const MAX_NAME = 191;

/**
 * Parses an egg file of any version, as JSON text or already parsed. The versions have nearly the same fields: they
 * differ in the position of the images and the startup, and in whether `config.*` are objects or JSON strings, which
 * exporters mix. So every position is accepted for every version. `compile` checks regular expressions; without it they
 * are not checked.
 */
export function parseEgg(
  source: unknown,
  compile: PatternCompiler | null = null,
): Parsed<ImportedEgg> {
  const reader = new Reader();
  try {
    const egg = readEgg(reader, documentOf(reader, source));
    const size = JSON.stringify(egg).length;
    if (size > MAX_EGG) {
      reader.refuse(
        'the egg',
        `has ${size} characters besides its icon; at most ${MAX_EGG} are taken`,
      );
    }
    for (const note of reviewEgg(egg, compile)) reader.note(note);
    return parsed({ egg, notes: reader.allNotes() });
  } catch (error) {
    if (error instanceof EggMistake) return failed(error.message);
    throw error;
  }
}

function documentOf(reader: Reader, source: unknown): Fields {
  if (typeof source !== 'string') return reader.object(source, 'the egg');
  if (source.length > MAX_FILE) {
    reader.refuse('the egg', `has ${source.length} characters; at most ${MAX_FILE} are taken`);
  }
  return reader.object(parseJson(reader, source.replace(/^\ufeff/, ''), 'the egg'), 'the egg');
}

function parseJson(reader: Reader, text: string, location: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const why = error instanceof Error ? error.message.replaceAll(/[^\x20-\x7e]/g, '?') : '';
    return reader.refuse(location, `is not JSON: ${why}`);
  }
}

function readEgg(reader: Reader, fields: Fields): Egg {
  const version = readVersion(reader, fields);
  const config = readConfig(reader, fields);
  const part = (name: string): unknown => embedded(reader, config[name], `config.${name}`);
  const startup = readStartup(reader, fields);
  const extension = parseExtension(reader, fields['portcullis']);
  return {
    name: readName(reader, fields),
    description: isBlank(fields['description'])
      ? ''
      : reader.text(fields['description'], 'description', MAX_TEXT).trim(),
    images: readImages(reader, fields, version),
    startup,
    launch: readLaunch(reader, extension.launch, startup),
    done: readDone(reader, part('startup')),
    stop: readStop(reader, config['stop']),
    stopTimes: extension.stopTimes,
    configFiles: parseConfigFiles(reader, part('files')),
    install: readInstall(reader, fields),
    variables: readVariables(reader, fields['variables']),
    capabilities: extension.capabilities,
    protocols: extension.protocols,
    filters: extension.filters,
    fileDenylist: readDenylist(reader, fields['file_denylist']),
  };
}

/** A list, or in files of old exporters its lines as one text. */
function readDenylist(reader: Reader, value: unknown): readonly string[] {
  if (isBlank(value)) return [];
  const lines = Array.isArray(value)
    ? reader
        .list(value, 'file_denylist', 256)
        .map((line, index) => reader.text(line, `file_denylist[${index}]`, 1024))
    : reader.text(value, 'file_denylist', MAX_TEXT).split('\n').slice(0, 256);
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

function readVersion(reader: Reader, fields: Fields): (typeof VERSIONS)[number] {
  const stated = isFields(fields['meta']) ? fields['meta']['version'] : undefined;
  const known = VERSIONS.find((version) => version === stated);
  if (known !== undefined) return known;
  const all = VERSIONS.join(', ');
  if (typeof stated !== 'string') {
    return reader.refuse('meta.version', `is missing, so this may be no egg; known are ${all}`);
  }
  return reader.refuse('meta.version', `${shown(stated)} is not known; known are ${all}`);
}

function readName(reader: Reader, fields: Fields): string {
  const name = reader.text(fields['name'], 'name', MAX_NAME).trim();
  return name === '' ? reader.refuse('name', 'is empty') : name;
}

function readConfig(reader: Reader, fields: Fields): Fields {
  return isBlank(fields['config']) ? {} : reader.object(fields['config'], 'config');
}

/** PTDL has JSON in strings, newer exporters write objects, and some write both. */
function embedded(reader: Reader, value: unknown, location: string): unknown {
  if (typeof value !== 'string' || value.trim() === '') return value;
  return parseJson(reader, reader.text(value, location, MAX_SCRIPT), location);
}

function readImages(
  reader: Reader,
  fields: Fields,
  version: (typeof VERSIONS)[number],
): readonly EggImage[] {
  const images = imageEntries(reader, fields, version).map(([label, value, location]) => ({
    label: reader.text(label, location, 512).trim(),
    ...readReference(reader, value, location),
  }));
  if (images.length === 0) reader.refuse('docker_images', 'names no image');
  return images;
}

type ImageEntry = readonly [label: string, value: unknown, location: string];

function imageEntries(
  reader: Reader,
  fields: Fields,
  version: (typeof VERSIONS)[number],
): readonly ImageEntry[] {
  const listed = (value: unknown, location: string): ImageEntry[] =>
    reader
      .list(value, location, 64)
      .map((one, index) => [labelOf(one), one, `${location}[${index}]`]);
  const images = fields['docker_images'];
  if (!isBlank(images)) {
    if (Array.isArray(images)) return listed(images, 'docker_images');
    return reader
      .entries(images, 'docker_images', 64)
      .map(([label, value]) => [label, value, `docker_images.${label.slice(0, 60)}`]);
  }
  if (!isBlank(fields['images'])) return listed(fields['images'], 'images');
  // PLCN_v3 has an icon of this name.
  if (version !== 'PLCN_v3' && !isBlank(fields['image'])) {
    return [[labelOf(fields['image']), fields['image'], 'image']];
  }
  return [];
}

/** An image without a label is its own. What is no text is refused as an image. */
function labelOf(image: unknown): string {
  return typeof image === 'string' ? image : '';
}

function readReference(
  reader: Reader,
  value: unknown,
  location: string,
): { readonly reference: string; readonly local: boolean } {
  const text = reader.text(value, location, 512).trim();
  const local = text.startsWith('~');
  const reference = local ? text.slice(1) : text;
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9._/:@-]*[A-Za-z0-9])?$/.test(reference)) {
    reader.refuse(
      location,
      `${shown(text)} is no image, such as ghcr.io/pelican-eggs/yolks:java_21`,
    );
  }
  return { reference, local };
}

function readStartup(reader: Reader, fields: Fields): string | null {
  const commands = fields['startup_commands'];
  const own = isBlank(commands)
    ? [['startup', fields['startup']] as const]
    : reader
        .entries(commands, 'startup_commands', 64)
        .map(([label, value]) => [`startup_commands.${label.slice(0, 60)}`, value] as const);
  const first = own.find(([, value]) => !isBlank(value));
  if (first === undefined) return null;
  if (own.length > 1)
    reader.note(`of ${own.length} startup commands the first is used: ${first[0]}`);
  return reader.text(first[1], first[0], MAX_TEXT).trim();
}

function readLaunch(reader: Reader, launch: Egg['launch'], startup: string | null): Egg['launch'] {
  if (launch === 'startup' && startup === null) {
    reader.refuse('portcullis.launch', 'is "startup", but the egg has no startup');
  }
  return launch;
}

function readDone(reader: Reader, startup: unknown): readonly DonePattern[] {
  const done = isFields(startup) ? startup['done'] : undefined;
  if (isBlank(done)) return [];
  const location = 'config.startup.done';
  const patterns = Array.isArray(done) ? reader.list(done, location, 64) : [done];
  const read = patterns
    .map((pattern, index) => reader.scalarText(pattern, `${location}[${index}]`, 1024))
    // An empty one would match any first line.
    .filter((pattern) => pattern !== '' && pattern !== 'regex:');
  if (read.length < patterns.length) reader.note(`${location}: an empty pattern is left out`);
  return read.map((pattern) =>
    pattern.startsWith('regex:')
      ? { kind: 'regex', pattern: pattern.slice('regex:'.length) }
      : { kind: 'text', pattern },
  );
}

function readStop(reader: Reader, value: unknown): Egg['stop'] {
  const text = isBlank(value) ? '' : reader.text(value, 'config.stop', MAX_TEXT);
  const stop = parseStop(text);
  if (!stop.ok) return reader.refuse('config.stop', stop.reason);
  if (stop.value.note !== null) reader.note(`config.stop ${stop.value.note}`);
  return stop.value.stop;
}

function readInstall(reader: Reader, fields: Fields): InstallScript | null {
  if (isBlank(fields['scripts'])) return null;
  const scripts = reader.object(fields['scripts'], 'scripts');
  if (isBlank(scripts['installation'])) return null;
  const location = 'scripts.installation';
  const installation = reader.object(scripts['installation'], location);
  if (isBlank(installation['script'])) return null;
  const container = readReference(reader, installation['container'], `${location}.container`);
  const entrypoint = isBlank(installation['entrypoint'])
    ? 'bash'
    : reader.text(installation['entrypoint'], `${location}.entrypoint`, 255).trim();
  return {
    image: { label: container.reference, ...container },
    entrypoint,
    // Scripts written in browsers have carriage returns, which shells do not accept.
    script: reader
      .text(installation['script'], `${location}.script`, MAX_SCRIPT)
      .replaceAll('\r\n', '\n'),
  };
}

function readVariables(reader: Reader, value: unknown): readonly EggVariable[] {
  if (isBlank(value)) return [];
  const read = new Map<string, EggVariable>();
  for (const [index, entry] of reader.list(value, 'variables', 256).entries()) {
    const location = `variables[${index}]`;
    const variable = readVariable(reader, reader.object(entry, location), location);
    if (isReserved(variable.env)) {
      reader.note(
        `${location}: ${variable.env} is set for every server, this variable is not used`,
      );
      continue;
    }
    if (read.has(variable.env)) reader.note(`${location}: ${variable.env} again, this one counts`);
    read.set(variable.env, variable);
  }
  return [...read.values()];
}

function readVariable(reader: Reader, fields: Fields, location: string): EggVariable {
  const env = reader.text(fields['env_variable'], `${location}.env_variable`, 191).trim();
  if (!isVariableName(env)) {
    reader.refuse(
      `${location}.env_variable`,
      `${shown(env)}: write letters, digits and underscores`,
    );
  }
  const name = isBlank(fields['name']) ? env : reader.text(fields['name'], `${location}.name`, 512);
  const given = fields['default_value'];
  return {
    name: name.trim(),
    description: isBlank(fields['description'])
      ? ''
      : reader.text(fields['description'], `${location}.description`, MAX_TEXT).trim(),
    env,
    defaultValue: isBlank(given)
      ? ''
      : reader.scalarText(given, `${location}.default_value`, MAX_TEXT),
    rules: readRules(reader, fields['rules'], `${location}.rules`),
    viewable: readFlag(reader, fields['user_viewable'], `${location}.user_viewable`),
    editable: readFlag(reader, fields['user_editable'], `${location}.user_editable`),
  };
}

/** A boolean, which old exporters write as 0 or 1. What is absent is not allowed. */
function readFlag(reader: Reader, value: unknown, location: string): boolean {
  if (isBlank(value)) return false;
  const text = reader.scalarText(value, location, 16);
  if (text === 'true' || text === '1') return true;
  return text === 'false' || text === '0'
    ? false
    : reader.refuse(location, `${shown(text)}: write true or false`);
}

function readRules(reader: Reader, value: unknown, location: string): readonly string[] {
  if (isBlank(value)) return [];
  if (!Array.isArray(value)) return parseRules(reader.text(value, location, 4096));
  return reader
    .list(value, location, 64)
    .map((rule, index) => reader.text(rule, `${location}[${index}]`, 4096).trim())
    .filter((rule) => rule !== '');
}
