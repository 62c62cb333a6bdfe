import type { ConfigFile, ConfigReplacement } from '@portcullis/core/game-servers/egg.ts';

const ATTRIBUTE = /^\[([A-Za-z_][\w-]*)='(.*)'\]$/s;

/**
 * Moves the attribute of an egg's XML value `[attribute='text']` to the match, `Root.Child/@attribute`, before templates
 * are rendered: a variable with such a value is text.
 */
export function withXmlAttributes(files: readonly ConfigFile[]): readonly ConfigFile[] {
  return files.map((file) =>
    file.parser === 'xml' ? { ...file, replacements: file.replacements.map(moved) } : file,
  );
}

function moved(replacement: ConfigReplacement): ConfigReplacement {
  const { match, value } = replacement;
  const [, name, text] = ATTRIBUTE.exec(String(value)) ?? [];
  if (name === undefined || text === undefined) return replacement;
  return { ...replacement, match: `${match}/@${name}`, value: text };
}
