import type { ConfigFile } from '@portcullis/core/game-servers/egg.ts';
import { decode, type Limits, type Repertoire, writable } from './characters.ts';
import type { Edit, Edited, Editor } from './edit.ts';
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

/** The formats that hold a value as it is, and those that can write any character by an escape. */
const PLAIN: Limits = { isPlainLine: true, hasEscapes: false };
const ESCAPED: Limits = { isPlainLine: false, hasEscapes: true };

export const EDITORS: Readonly<Record<ConfigFile['parser'], Editor>> = {
  file: guarded(editFile, PLAIN),
  properties: guarded(editProperties, ESCAPED),
  ini: guarded(editIni, PLAIN),
  yaml: guarded(editYaml, ESCAPED),
  json: guarded(editJson, ESCAPED),
  xml: guarded(editXml, ESCAPED),
  toml: guarded(editToml, ESCAPED),
};

/** An editor that sees Unicode text without a byte order mark, and only values that the file can hold. */
function guarded(
  editor: (text: string, edits: readonly Edit[], repertoire: Repertoire) => Edited,
  limits: Limits,
): Editor {
  return (text, edits) => {
    const file = decode(text);
    const allowed = writable(edits, file.repertoire, limits);
    const edited = editor(file.text, allowed.edits, file.repertoire);
    const problems = [...allowed.problems, ...edited.problems];
    return { text: edited.text === file.text ? text : file.restore(edited.text), problems };
  };
}
