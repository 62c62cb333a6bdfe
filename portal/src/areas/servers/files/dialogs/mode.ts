import type { Entry } from '../actions.ts';

/** The classes of a mode, the highest digit first, and the bits of a digit. */
export const CLASSES = ['owner', 'group', 'others'] as const;
export const RIGHTS = ['read', 'write', 'execute'] as const;
export type ModeClass = (typeof CLASSES)[number];
export type ModeRight = (typeof RIGHTS)[number];

const TYPED = /^0?[0-7]{3}$/;
const ALL = 0o777;
const LETTERS = CLASSES.flatMap(() => ['r', 'w', 'x']);

/** The modes of several entries as one: `kept` are the bits that stay what they are in each. */
export interface ModeDraft {
  /** The digits as they are typed; '' while bits are kept. */
  readonly octal: string;
  readonly bits: number;
  readonly kept: number;
}

/** The change of one entry, with the mode that it had. */
export interface ModeChange {
  readonly path: string;
  readonly mode: string;
  readonly before: string;
}

/** Permissions of a mode as the service shows it; set-user-id and the like are none of them. */
function permissionsOf({ mode }: Pick<Entry, 'mode'>): number {
  return Number.parseInt(mode, 8) & ALL;
}

export function bitOf(group: ModeClass, right: ModeRight): number {
  return 0o400 >> (CLASSES.indexOf(group) * RIGHTS.length + RIGHTS.indexOf(right));
}

/** Three digits, as `chmod` has them. */
export function octalOf(bits: number): string {
  return bits.toString(8).padStart(3, '0');
}

/** The mode in letters, as `ls` shows it: `rw-r--r--`. */
export function lettersOf(entry: Pick<Entry, 'mode'>): string {
  const bits = permissionsOf(entry);
  return LETTERS.map((letter, at) => (bits & (0o400 >> at) ? letter : '-')).join('');
}

export function modeDraft(entries: readonly Pick<Entry, 'mode'>[]): ModeDraft {
  const modes = entries.map(permissionsOf);
  const every = modes.reduce((all, mode) => all & mode, ALL);
  const some = modes.reduce((all, mode) => all | mode, 0);
  return draftOf(every, some & ~every);
}

/** The draft after digits were typed: only three that are a mode change the boxes. */
export function typeOctal(draft: ModeDraft, octal: string): ModeDraft {
  if (!isOctal(octal)) return { ...draft, octal };
  return { octal, bits: Number.parseInt(octal, 8), kept: 0 };
}

export function checkBit({ bits, kept }: ModeDraft, bit: number, isSet: boolean): ModeDraft {
  return draftOf(isSet ? bits | bit : bits & ~bit, kept & ~bit);
}

export function isOctal(octal: string): boolean {
  return TYPED.test(octal);
}

/** The changes that a draft asks for: entries that have the mode already are left out. */
export function modeChanges(
  entries: readonly Pick<Entry, 'path' | 'mode'>[],
  { bits, kept }: ModeDraft,
): readonly ModeChange[] {
  return entries.flatMap((entry) => {
    const before = permissionsOf(entry);
    const mode = (before & kept) | (bits & ~kept);
    return mode === before
      ? []
      : [{ path: entry.path, mode: octalOf(mode), before: octalOf(before) }];
  });
}

function draftOf(bits: number, kept: number): ModeDraft {
  return { octal: kept === 0 ? octalOf(bits) : '', bits, kept };
}
