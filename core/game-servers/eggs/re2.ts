import { RE2JS } from 're2js';
import type { PatternCompiler } from './rules.ts';

const MAX_PATTERN = 1024;
/** PHP's flags that RE2 has too; `u` is always on, `D` and `A` only narrow and are not minded. */
const FLAGS: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
  u: 0,
  D: 0,
};

/**
 * RE2: time linear in the text, whatever an egg's author writes. Wings has the same engine, so what works there works
 * here; look-around and back references work in neither.
 */
export const compilePattern: PatternCompiler = (pattern, flags) => {
  if (pattern.length > MAX_PATTERN) return null;
  let bits = 0;
  for (const flag of flags) {
    const bit = FLAGS[flag];
    if (bit === undefined) return null;
    bits |= bit;
  }
  try {
    const compiled = RE2JS.compile(pattern, bits);
    return (text) => compiled.matcher(text).find();
  } catch {
    return null;
  }
};
