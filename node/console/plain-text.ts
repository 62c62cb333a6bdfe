/**
 * ECMA-48: control sequences (`ESC [ ... m`), control strings (`ESC ] ... BEL`, to the end of the line where they are
 * left open) and two-character escapes; also with the 8-bit forms of their beginnings.
 */
const ESCAPES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b[\]P^_X]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)?|\x1b[ -/]*[0-~]?/g;
/** Controls but the tab, line and paragraph separators, and what turns the direction of text around. */
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const ANY = new RegExp(CONTROLS.source);

/**
 * A line as text that is safe to show anywhere: a game's output is a stranger's, and its escape sequences would move
 * the cursor, rename the window or answer for the operator whose terminal prints them. Colours go with them.
 */
export function plainText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return ANY.test(text) ? text.replace(ESCAPES, '').replace(CONTROLS, '') : text;
}
