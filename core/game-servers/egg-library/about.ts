import { plainText } from '../console-text.ts';

/** Parts of an egg's file that people see, and that no node needs. */
export interface EggAbout {
  /** A `data:` URI of an image. Null: it has none that can be shown. */
  readonly icon: string | null;
  readonly author: string | null;
}

export const NO_ABOUT: EggAbout = { icon: null, author: null };

/** A list of many eggs carries the icon of each. */
const MAX_ICON = 100_000;
const MAX_AUTHOR = 200;
/** Images that browsers show without running anything, as the source of an `img`. */
const ICON = /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/;

/** Reads the icon and the author of an egg's file. PLCN_v3 has the icon as `image`, shipped eggs as `icon`. */
export function aboutEgg(document: unknown): EggAbout {
  const { icon, image, author } = Object(document) as Readonly<Record<string, unknown>>;
  const found = [icon, image].find(isIcon) ?? null;
  const name = typeof author === 'string' ? plainText(author).trim().slice(0, MAX_AUTHOR) : '';
  return { icon: found, author: name === '' ? null : name };
}

function isIcon(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_ICON && ICON.test(value);
}
