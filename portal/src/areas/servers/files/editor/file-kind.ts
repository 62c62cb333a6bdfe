/** How a file is shown at first. */
export type FileKind = 'text' | 'image' | 'log';

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  svg: 'image/svg+xml',
};

export function fileKind(name: string): FileKind {
  if (imageType(name) !== null) return 'image';
  return /\.log(?:\.\d+)?$/i.test(name) ? 'log' : 'text';
}

export function imageType(name: string): string | null {
  return IMAGE_TYPES[endingOf(name)] ?? null;
}

/** The names of the languages that have colours. */
export type Language = 'yaml' | 'json' | 'xml' | 'js' | 'properties' | 'lua' | 'toml' | 'shell';

const BY_ENDING: Readonly<Record<string, Language>> = {
  yml: 'yaml',
  yaml: 'yaml',
  json: 'json',
  json5: 'json',
  mcmeta: 'json',
  webmanifest: 'json',
  xml: 'xml',
  html: 'xml',
  js: 'js',
  mjs: 'js',
  cjs: 'js',
  ts: 'js',
  properties: 'properties',
  ini: 'properties',
  cfg: 'properties',
  conf: 'properties',
  config: 'properties',
  env: 'properties',
  lua: 'lua',
  toml: 'toml',
  sh: 'shell',
  bash: 'shell',
};

/** Null: plain text. */
export function languageOf(name: string): Language | null {
  return BY_ENDING[endingOf(name)] ?? null;
}

function endingOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1).toLowerCase();
}
