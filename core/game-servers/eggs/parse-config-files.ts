import type { ConfigFile, ConfigReplacement } from '../egg.ts';
import { isBlank, isFields, type Reader, shown } from './reader.ts';

const MAX_FILES = 64;
const MAX_REPLACEMENTS = 512;
const MAX_VALUE = 16_384;
const MAX_DEPTH = 16;
const PARSERS: Readonly<Record<string, ConfigFile['parser']>> = {
  file: 'file',
  properties: 'properties',
  ini: 'ini',
  yaml: 'yaml',
  yml: 'yaml',
  json: 'json',
  xml: 'xml',
  toml: 'toml',
};

/** `config.files`: by path, what to find in the file and what to put there. */
export function parseConfigFiles(reader: Reader, value: unknown): readonly ConfigFile[] {
  if (isBlank(value)) return [];
  return reader.entries(value, 'config.files', MAX_FILES).flatMap(([path, entry]) => {
    const location = `config.files[${shown(path)}]`;
    if (!isFields(entry) || isBlank(entry['find'])) {
      reader.note(`${location} says nothing to find, it is left out`);
      return [];
    }
    const name = reader.text(entry['parser'], `${location}.parser`, 64).trim().toLowerCase();
    const parser = Object.hasOwn(PARSERS, name) ? PARSERS[name] : undefined;
    if (parser === undefined) {
      reader.note(`${location}: there is no parser ${shown(name)}, the file is left alone`);
      return [];
    }
    const replacements = parseFind(reader, entry['find'], `${location}.find`);
    return [{ path: parsePath(reader, path, location), parser, replacements }];
  });
}

/** Relative to the server's folder in the form `a/b.yml`. Panels treat a leading slash as the folder itself. */
function parsePath(reader: Reader, path: string, location: string): string {
  const parts = reader.text(path, location, 512).trim().split('/');
  const kept = parts.filter((part) => part !== '' && part !== '.');
  if (kept.length === 0 || kept.length > MAX_DEPTH) reader.refuse(location, 'is no path of a file');
  if (kept.includes('..')) reader.refuse(location, "leads out of the server's folder");
  if (kept.some((part) => part.length > 255 || /\p{Cc}/u.test(part))) {
    reader.refuse(location, 'is no path of a file');
  }
  return kept.join('/');
}

/**
 *     "find": { "key": value }                     always
 *     "find": { "key": { "was": value } }          only where the value now is `was`, or matches `regex:...`
 */
function parseFind(reader: Reader, value: unknown, location: string): readonly ConfigReplacement[] {
  const found = reader
    .entries(value, location, MAX_REPLACEMENTS)
    .flatMap(([match, replacement]) => {
      const own = `${location}[${shown(match)}]`;
      reader.text(match, own, 1024);
      if (!isFields(replacement)) return replacementOf(reader, match, null, replacement, own);
      return reader
        .entries(replacement, own, MAX_REPLACEMENTS)
        .flatMap(([ifValue, inner]) => replacementOf(reader, match, ifValue, inner, own));
    });
  if (found.length > MAX_REPLACEMENTS) {
    reader.refuse(location, `has ${found.length} entries; at most ${MAX_REPLACEMENTS} are taken`);
  }
  return found;
}

function replacementOf(
  reader: Reader,
  match: string,
  ifValue: string | null,
  value: unknown,
  location: string,
): readonly ConfigReplacement[] {
  if (match === '') {
    reader.note(`${location} matches nothing, it is left out`);
    return [];
  }
  if (typeof value === 'number' || typeof value === 'boolean') return [{ match, ifValue, value }];
  if (typeof value === 'string') {
    return [{ match, ifValue, value: reader.text(value, location, MAX_VALUE) }];
  }
  reader.note(`${location} is neither text nor a number nor true or false, it is left out`);
  return [];
}
