import { StreamLanguage, type StreamParser } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import type { Language } from './file-kind.ts';

/** Each language is a file of its own, loaded when a file of it is opened. */
const LOADERS: Readonly<Record<Language, () => Promise<Extension>>> = {
  yaml: async () => (await import('@codemirror/lang-yaml')).yaml(),
  json: async () => (await import('@codemirror/lang-json')).json(),
  xml: async () => (await import('@codemirror/lang-xml')).xml(),
  js: async () => (await import('@codemirror/lang-javascript')).javascript(),
  properties: async () =>
    streamed((await import('@codemirror/legacy-modes/mode/properties')).properties),
  lua: async () => streamed((await import('@codemirror/legacy-modes/mode/lua')).lua),
  toml: async () => streamed((await import('@codemirror/legacy-modes/mode/toml')).toml),
  shell: async () => streamed((await import('@codemirror/legacy-modes/mode/shell')).shell),
};

export async function loadLanguage(language: Language): Promise<Extension> {
  return LOADERS[language]();
}

function streamed<State>(parser: StreamParser<State>): Extension {
  return StreamLanguage.define(parser);
}
