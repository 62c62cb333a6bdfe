import type { ConfigFile } from '@portcullis/core/game-servers/egg.ts';
import type { Editor } from './edit.ts';
import { editIni } from './ini.ts';
import { editJson } from './json.ts';
import { editProperties } from './properties.ts';
import { editToml } from './toml.ts';
import { editXml } from './xml.ts';
import { editYaml } from './yaml.ts';
import { linesOf, textOf } from './lines.ts';

/**
 * The parser `file`: replaces every line that starts with the match by the value. The longest of several matches
 * counts, so `name` does not replace `name_long`. Missing lines are not added, as with Wings.
 */
export const editFile: Editor = (text, edits) => {
  const problems = edits
    .filter(({ ifValue }) => ifValue !== null)
    .map(({ match }) => `"${match}": lines have no value to ask for, so this is left out.`);
  const usable = edits
    .filter(({ ifValue }) => ifValue === null)
    .toSorted((a, b) => b.match.length - a.match.length);
  const lines = linesOf(text).map((line) => {
    const edit = usable.find(({ match }) => line.text.startsWith(match));
    return edit === undefined ? line : { text: String(edit.value), end: line.end };
  });
  return { text: textOf(lines), problems };
};

export const EDITORS: Readonly<Record<ConfigFile['parser'], Editor>> = {
  file: editFile,
  properties: editProperties,
  ini: editIni,
  yaml: editYaml,
  json: editJson,
  xml: editXml,
  toml: editToml,
};
